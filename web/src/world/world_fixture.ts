// A small world and messages, as the socket would send them.
import { applyWorld, empty_world, type World } from "./state.ts";
import type { LiveAgent, WorldMessage } from "./wire.ts";

/// This machine's time when the snapshot arrives. All later messages arrive half a second after it.
export const local = 1_000_000;
export const agent = (id: string, more: Partial<LiveAgent> = {}): LiveAgent => ({ agent_id: id, name: `n-${id}`, state: "idle", position: { x: 1, y: 1 }, ...more });
const layout = { version: 1, cols: 4, rows: 3, tiles: [0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0], furniture: [] };
export const snapshot = (seq: number, agents: LiveAgent[], more: object = {}): WorldMessage =>
  ({ type: "world_snapshot", seq, page: 1, pages: 1, space_id: "office", now_ms: local, layout, seats: [], users: [], agents, ...more });
export const known = (...agents: LiveAgent[]): World => applyWorld(empty_world, [snapshot(10, agents)], local);
export const after = (world: World, ...messages: WorldMessage[]): World => applyWorld(world, messages, local + 500);
export const walk = { path: [{ x: 1, y: 1 }, { x: 2, y: 1 }, { x: 2, y: 2 }], t0_ms: local, speed: 2 };
