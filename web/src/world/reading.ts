// Validates what the socket sends: a field of the wrong type is treated as missing. Pure.
import type { Direction, Layout, LiveAgent, LiveState, Tile, Walk, WorldUser } from "./wire.ts";

const max_text_length = 8000;
const max_tiles = 256;  // in each direction; the daemon allows 64

export const text = (value: unknown): string => (typeof value === "string" ? value.slice(0, max_text_length) : "");
export const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : []);
export const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

export function readTile(value: unknown): Tile | null {
  const tile = value as Partial<Tile> | null;
  return tile && typeof tile === "object" && isNumber(tile.x) && isNumber(tile.y) ? { x: tile.x, y: tile.y } : null;
}

/// Null for an invalid walk, or one of less than two tiles.
export function readWalk(value: unknown): Walk | null {
  const walk = value as (Partial<Walk> & { t0?: string }) | null;
  if (!walk || typeof walk !== "object" || !Array.isArray(walk.path)) return null;
  const path = walk.path.map(readTile).filter((tile): tile is Tile => tile !== null);
  const t0_ms = isNumber(walk.t0_ms) ? walk.t0_ms : Date.parse(walk.t0 ?? "");
  if (path.length < 2 || !Number.isFinite(t0_ms) || !isNumber(walk.speed) || walk.speed <= 0) return null;
  return { path, t0_ms, speed: walk.speed };
}

const states: readonly LiveState[] = ["idle", "listening", "thinking", "speaking"];
export const readState = (value: unknown): LiveState => states.find((state) => state === value) ?? "idle";

export function readAgent(value: unknown): LiveAgent | null {
  const agent = value as LiveAgent | null;
  if (!agent || typeof agent.agent_id !== "string") return null;
  const walk = readWalk(agent.walk);
  // While an agent walks, its position is the destination; the walk tells where it is now.
  return { ...agent, name: text(agent.name) || agent.agent_id, state: readState(agent.state), position: walk?.path.at(-1) ?? readTile(agent.position), walk };
}

const directions: readonly string[] = ["down", "left", "right", "up"];
export const readDirection = (value: unknown): Direction | null => (typeof value === "string" && directions.includes(value) ? value as Direction : null);

export function readUser(value: unknown): WorldUser | null {
  const user = value as WorldUser | null;
  return user && typeof user.user_id === "string" ? { ...user, position: readTile(user.position) } : null;
}

export function readLayout(value: unknown): Layout | null {
  const layout = value as Layout | null;
  const isSize = (size: unknown) => isNumber(size) && size >= 1 && size <= max_tiles;
  if (!layout || !isSize(layout.cols) || !isSize(layout.rows) || !Array.isArray(layout.tiles)) return null;
  return { ...layout, furniture: Array.isArray(layout.furniture) ? layout.furniture : [] };
}
