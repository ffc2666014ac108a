// What the map shows at a given time: discs, bubbles, and when to draw again. Pure.
import { oneLine } from "../base/text.ts";
import { positionAt, type Bubble, type World } from "./state.ts";
import type { Direction, LiveState, Tile } from "./wire.ts";

export interface Body extends Tile {
  id: string;
  name: string;
  state: LiveState | "user";
  direction: Direction;
  is_walking: boolean;
  has_error: boolean;
}

export interface Spoken extends Tile {
  text: string;
  /// When it was said, by this machine's clock.
  at: number;
  /// 1 until it begins to fade.
  opacity: number;
}

export interface Scene {
  bodies: Body[];
  bubbles: Spoken[];
  /// When to draw again, in ms: 0 is the next frame, null is not before something changes.
  next: number | null;
}

export const bubble_ms = 6000;
export const fade_ms = 1200;
const max_bubble_length = 90;
const max_bubbles = 12;  // the newest; the activity list contains all

/// The opacity of a bubble, and when that changes; null if it is not visible any more.
function fading(bubble: Bubble, local_ms: number, is_still: boolean): { opacity: number; next: number } | null {
  const age = local_ms - bubble.at;
  if (age < bubble_ms) return { opacity: 1, next: Math.max(1, bubble_ms - age) };
  if (is_still || age >= bubble_ms + fade_ms) return null;
  return { opacity: 1 - (age - bubble_ms) / fade_ms, next: 0 };
}

/// The scene at `local_ms` of this machine's clock. `is_still` is for reduced motion: agents appear at their destination,
/// and bubbles disappear without fading.
export function sceneAt(world: World, local_ms: number, is_still: boolean): Scene {
  const scene: Scene = { bodies: [], bubbles: [], next: null };
  const again = (ms: number) => { scene.next = scene.next === null ? ms : Math.min(scene.next, ms); };
  const server_ms = local_ms + world.offset;
  const say = (bubble: Bubble | undefined, at: Tile) => {
    const shown = bubble && fading(bubble, local_ms, is_still);
    if (!shown) return;
    scene.bubbles.push({ x: at.x, y: at.y, text: oneLine(bubble.text, max_bubble_length), at: bubble.at, opacity: shown.opacity });
    again(shown.next);
  };
  for (const user of world.users.values()) {
    if (!user.position) continue;
    scene.bodies.push({ ...user.position, id: user.user_id, name: oneLine(user.name || user.user_id, 24), state: "user", direction: user.direction ?? "down", is_walking: false, has_error: false });
    say(user.bubble, user.position);
  }
  for (const agent of world.agents.values()) {
    const place = positionAt(agent, is_still ? Infinity : server_ms);
    if (!place) continue;
    scene.bodies.push({ ...place, id: agent.agent_id, name: oneLine(agent.name, 24), state: agent.state, has_error: !!(agent.error || agent.stuck) });
    say(agent.bubble, place);
    if (place.is_walking) again(0);
  }
  // The newest bubble is drawn last, above the others.
  scene.bubbles = scene.bubbles.sort((a, b) => a.at - b.at).slice(-max_bubbles);
  return scene;
}

/// The disc nearest to a point of the map, in tiles; null if there is none at that point.
export function bodyAt(scene: Scene, x: number, y: number): Body | null {
  let best: Body | null = null;
  let least = 0.6;
  for (const body of scene.bodies) {
    const distance = Math.hypot(body.x + 0.5 - x, body.y + 0.5 - y);
    if (distance < least) {
      best = body;
      least = distance;
    }
  }
  return best;
}
