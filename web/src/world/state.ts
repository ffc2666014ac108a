// How messages of the socket change the world. Pure: the time of arrival is an argument. Whatever draws the world asks
// `positionAt` where somebody is.
import { safeText } from "../base/safe_text.ts";
import { applyAutoMode, applyBeside, no_auto_mode, readAutoMode, readBeside, type AutoMode } from "./auto_mode.ts";
import { isNumber, readAgent, readDirection, readLayout, readState, readTile, readUser, readWalk, text, texts } from "./reading.ts";
import type { Direction, Layout, LiveAgent, Seat, Tile, Walk, WorldMessage, WorldUser } from "./wire.ts";

/// One item of the activity list: something that was said or happened.
export interface Activity {
  /// The id of its event.
  seq: number;
  kind: "said" | "sent" | "task" | "done" | "held" | "stuck" | "joined" | "left";
  /// The id and name of the agent or user.
  who: string;
  name: string;
  text: string;
  /// To whom it was said.
  to?: Recipients;
  /// When it arrived, by this machine's clock.
  at: number;
  message_id?: string;
  /// The delivery status of a message, by recipient.
  receipts?: Readonly<Record<string, { name: string; status: string }>>;
}

/// The recipients of a message: the names of the first few, and the total number.
export interface Recipients {
  names: readonly string[];
  count: number;
}
const max_named_recipients = 3;
export const recipientsOf = (world: Pick<World, "agents" | "users">, ids: readonly string[], count = ids.length): Recipients =>
  ({ names: ids.slice(0, max_named_recipients).map((id) => nameOf(world, id)), count: Math.max(count, ids.length) });

export interface AgentRow extends LiveAgent {
  stuck?: string | null;
  /// What it is saying, for the map.
  bubble?: Bubble;
}

export interface UserRow extends WorldUser {
  bubble?: Bubble;
}

/// `at` is when it arrived, by this machine's clock.
export interface Bubble {
  text: string;
  at: number;
}

export interface World {
  loaded: boolean;
  space_id: string;
  layout: Layout | null;
  /// A problem with the layout; empty if there is none.
  warning: string;
  seats: readonly Seat[];
  agents: ReadonlyMap<string, AgentRow>;
  users: ReadonlyMap<string, UserRow>;
  activities: readonly Activity[];
  auto: AutoMode;
  /// What conversations call the person who looks at this page.
  person: string;
  /// Conversations beside it, by id.
  beside: ReadonlyMap<string, AutoMode>;
  /// The id of the last event received; a new connection continues after it.
  cursor: number;
  /// The daemon's clock minus this machine's.
  offset: number;
  /// The pages of an incomplete snapshot.
  incoming_snapshot: World | null;
}

export const empty_world: World = {
  loaded: false, space_id: "office", layout: null, warning: "", seats: [], agents: new Map(), users: new Map(), activities: [], auto: no_auto_mode, person: "", beside: new Map(), cursor: 0, offset: 0, incoming_snapshot: null,
};

const max_activities = 100;
const max_drift_ms = 1000;

/// A sample of the daemon's clock is delayed by transmission but never early, so the largest offset is the best. A sample
/// that differs a lot means that a clock was set.
export function clockOffset(known: number, now_ms: number, local_ms: number): number {
  const sample = now_ms - local_ms;
  return Math.abs(sample - known) > max_drift_ms ? sample : Math.max(sample, known);
}

// ---- messages

/// The world after these messages, in order, which arrived at `local_ms`.
export function applyWorld(world: World, messages: readonly WorldMessage[], local_ms: number): World {
  if (!messages.length) return world;
  const next: Draft = { ...world, agents: new Map(world.agents), users: new Map(world.users), activities: [...world.activities] };
  for (const message of messages) applyOne(next, message, local_ms);
  if (next.activities.length > max_activities) next.activities.splice(0, next.activities.length - max_activities);
  return next;
}

interface Draft extends World {
  agents: Map<string, AgentRow>;
  users: Map<string, UserRow>;
  activities: Activity[];
}

function applyOne(world: Draft, message: WorldMessage, local_ms: number): void {
  if (isNumber(message.now_ms)) world.offset = clockOffset(world.offset, message.now_ms, local_ms);
  if (message.type === "world_snapshot") return applySnapshotPage(world, message);
  if (message.type === "agent_state") {
    const known = world.agents.get(text(message.agent_id));
    if (known) world.agents.set(known.agent_id, { ...known, ...counts(message) });
    return;
  }
  if (!isNumber(message.seq)) return;
  // A reconnection may repeat messages.
  if (message.seq <= world.cursor) return;
  world.cursor = message.seq;
  world.auto = applyAutoMode(world.auto, message);
  world.beside = applyBeside(world.beside, message);
  const change = changes[message.type];
  if (change) change(world, message, local_ms);
}

/// A snapshot with a lower number is from another log, so the old cursor is meaningless.
function applySnapshotPage(world: Draft, message: WorldMessage): void {
  const page = isNumber(message.page) ? message.page : 1;
  const pages = isNumber(message.pages) ? message.pages : 1;
  if (page > 1 && !world.incoming_snapshot) return;  // the first page was lost with an earlier connection
  const base: World = page === 1
    ? { ...empty_world, space_id: text(message.space_id) || "office", layout: readLayout(message.layout), warning: text(message.warning), auto: readAutoMode(message.auto_mode ?? {}, world.auto), person: text((message.auto_mode as Record<string, unknown> | undefined)?.personName) }
    : world.incoming_snapshot!;
  const incoming_snapshot: World = {
    ...base, cursor: isNumber(message.seq) ? message.seq : 0,
    seats: [...base.seats, ...(Array.isArray(message.seats) ? message.seats as Seat[] : [])],
    users: new Map([...base.users, ...byId(message.users, readUser, "user_id")]),
    agents: new Map([...base.agents, ...byId(message.agents, readAgent, "agent_id")]),
    beside: new Map([...base.beside, ...readBeside(message.conversations, world.beside)]),
  };
  if (page < pages) {
    world.incoming_snapshot = incoming_snapshot;
    return;
  }
  // Bubbles stay visible.
  const agents = [...incoming_snapshot.agents].map(([id, agent]): [string, AgentRow] => {
    const bubble = world.agents.get(id)?.bubble;
    return [id, bubble ? { ...agent, bubble } : agent];
  });
  Object.assign(world, { ...incoming_snapshot, agents: new Map(agents), users: new Map(incoming_snapshot.users), activities: world.activities, offset: world.offset, loaded: true, incoming_snapshot: null });
}

function byId<Row, Key extends keyof Row>(value: unknown, read: (item: unknown) => Row | null, key: Key): Map<string, Row> {
  const rows = (Array.isArray(value) ? value : []).map(read).filter((row): row is Row => row !== null);
  return new Map(rows.map((row) => [String(row[key]), row]));
}

/// The counters of an agent that a message contains.
function counts(message: Record<string, unknown>): Partial<LiveAgent> {
  const found: Partial<LiveAgent> = {};
  for (const key of ["lag", "received", "thoughts"] as const) if (isNumber(message[key])) found[key] = message[key];
  return found;
}

type Change = (world: Draft, message: WorldMessage, local_ms: number) => void;

/// A change of one agent, if it exists.
const ofAgent = (change: (agent: AgentRow, message: WorldMessage, world: Draft, local_ms: number) => Partial<AgentRow>): Change => (world, message, local_ms) => {
  const known = world.agents.get(text(message.agent_id));
  if (known) world.agents.set(known.agent_id, { ...known, ...change(known, message, world, local_ms) });
};

function addActivity(world: Draft, message: WorldMessage, kind: Activity["kind"], local_ms: number, said: string, to?: Recipients): void {
  const who = text(message.agent_id) || text(message.user_id);
  const name = world.agents.get(who)?.name ?? (text(message.name) || who);
  const message_id = text(message.message_id);
  world.activities.push({ seq: message.seq!, kind, who, name, text: said, ...(to && { to }), at: local_ms, ...(message_id && { message_id }) });
}

/// Of what is said to one, that one: who else hears it was not meant.
const recipientsIn = (world: Draft, { recipient, recipients, recipient_count }: WorldMessage): Recipients => text(recipient) ? recipientsOf(world, [text(recipient)]) : recipientsOf(world, texts(recipients), isNumber(recipient_count) ? recipient_count : 0);

const isOnPath = (walk: Walk, { x, y }: Tile): boolean => walk.path.some((tile) => tile.x === x && tile.y === y);

/// Applies a reported position. A position on the current walk does not end the walk; any other does.
function atPosition(agent: AgentRow, position: Tile | null): Partial<AgentRow> {
  if (!position || (agent.walk && isOnPath(agent.walk, position))) return {};
  return { position, walk: null };
}

const changes: Record<string, Change> = {
  agent_joined(world, message, local_ms) {
    const agent = readAgent(message.agent);
    if (!agent) return;
    world.agents.set(agent.agent_id, agent);
    addActivity(world, { ...message, agent_id: agent.agent_id }, "joined", local_ms, text(agent.role));
  },
  agent_left(world, message, local_ms) {
    addActivity(world, message, "left", local_ms, text(message.reason));
    world.agents.delete(text(message.agent_id));
  },
  agent_state_update: ofAgent((agent, message, world, local_ms) => {
    const state = readState(message.state);
    return {
      ...atPosition(agent, readTile(message.position)), state, stuck: null, waiting: null,
      error: text(message.error) || null,
      ...counts(message),
      ...("current_task" in message && { current_task: text(message.current_task) || null }),
      ...(state !== agent.state && { since: new Date(local_ms + world.offset).toISOString() }),
    };
  }),
  agent_moved: ofAgent((agent, message) => {
    const walk = readWalk(message);
    const end = readTile(message) ?? walk?.path.at(-1) ?? agent.position ?? null;
    return { walk, position: end, direction: readDirection(message.direction) ?? (walk ? positionOnWalk(walk, Infinity).direction : agent.direction ?? "down") };
  }),
  agent_faced: ofAgent((agent, message) => ({ direction: readDirection(message.direction) ?? agent.direction ?? "down" })),
  agentMessage(world, message, local_ms) {
    // It may still be on its way: its bubble comes when it speaks.
    ofAgent(() => ({ last_message: text(message.text) }))(world, { ...message, agent_id: message.id }, local_ms);
  },
  agent_speech(world, message, local_ms) {
    addActivity(world, message, "said", local_ms, text(message.content), recipientsIn(world, message));
    ofAgent(() => ({ last_message: text(message.content), bubble: { text: text(message.content), at: local_ms } }))(world, message, local_ms);
  },
  chat_broadcast(world, message, local_ms) {
    addActivity(world, message, "said", local_ms, text(message.message), recipientsIn(world, message));
    const user = world.users.get(text(message.user_id));
    if (user) world.users.set(user.user_id, { ...user, bubble: { text: text(message.message), at: local_ms } });
  },
  task_assigned(world, message, local_ms) {
    addActivity(world, message, "task", local_ms, text(message.task_name));
    ofAgent(() => ({ current_task: text(message.task_name), task_id: text(message.task_id) }))(world, message, local_ms);
  },
  task_completed(world, message, local_ms) {
    addActivity(world, message, "done", local_ms, [text(message.status) === "failed" ? "failed" : "", text(message.task_name), text(message.result)].filter(Boolean).join(": "));
    ofAgent((agent) => (agent.task_id && agent.task_id !== message.task_id ? {} : { current_task: null, task_id: null }))(world, message, local_ms);
  },
  action_held(world, message, local_ms) {
    const where = isNumber(message.x) && isNumber(message.y) ? ` to ${message.x},${message.y}` : "";
    addActivity(world, message, "held", local_ms, `${text(message.action)}${where}: ${text(message.reason)}`);
  },
  agent_waiting: ofAgent((_, message) => ({ waiting: text(message.waiting) || null })),
  agent_stuck(world, message, local_ms) {
    addActivity(world, message, "stuck", local_ms, text(message.reason));
    ofAgent(() => ({ stuck: text(message.reason) || "stuck" }))(world, message, local_ms);
  },
  agent_broadcast(world, message, local_ms) {
    addActivity(world, message, "sent", local_ms, text(typeof message.data === "string" ? message.data : JSON.stringify(message.data ?? null)));
  },
  message_receipt(world, message) {
    const at = world.activities.map(({ message_id }) => message_id ?? null).lastIndexOf(text(message.message_id));
    const known = world.activities[at];
    if (known) world.activities[at] = { ...known, receipts: { ...known.receipts, [text(message.agent_id)]: { name: nameOf(world, text(message.agent_id)), status: text(message.status) } } };
  },
  user_joined(world, message) {
    const user = readUser(message);
    if (user) world.users.set(user.user_id, { ...world.users.get(user.user_id), user_id: user.user_id, ...(text(user.name) && { name: text(user.name) }), is_agent: !!user.is_agent, position: user.position ?? null });
  },
  user_left(world, message) {
    world.users.delete(text(message.user_id));
  },
  position_update(world, message) {
    const user = world.users.get(text(message.user_id));
    const position = readTile(message);
    if (user && position) world.users.set(user.user_id, { ...user, position, ...(typeof message.direction === "string" && { direction: message.direction as Direction }) });
  },
};

// ---- positions
export interface Place extends Tile {
  direction: Direction;
  is_walking: boolean;
}

const directionOf = (from: Tile, to: Tile, fallback: Direction): Direction => {
  const dx = to.x - from.x, dy = to.y - from.y;
  if (!dx && !dy) return fallback;
  return Math.abs(dx) > Math.abs(dy) ? (dx < 0 ? "left" : "right") : dy < 0 ? "up" : "down";
};

/// The position on a walk at `server_ms` of the daemon's clock.
export function positionOnWalk(walk: Walk, server_ms: number, facing: Direction = "down"): Place {
  const { path } = walk;
  let left = Math.max(0, (walk.speed * (server_ms - walk.t0_ms)) / 1000);
  for (let i = 1; i < path.length; ++i) {
    const from = path[i - 1]!, to = path[i]!;
    const length = Math.abs(to.x - from.x) + Math.abs(to.y - from.y);
    facing = directionOf(from, to, facing);
    if (left < length) return { x: from.x + ((to.x - from.x) * left) / length, y: from.y + ((to.y - from.y) * left) / length, direction: facing, is_walking: true };
    left -= length;
  }
  const end = path.at(-1)!;
  return { x: end.x, y: end.y, direction: facing, is_walking: false };
}

/// The position at `server_ms` of the daemon's clock; null if there is none. After a walk, it is the reported position.
export function positionAt(body: Pick<LiveAgent, "position" | "direction" | "walk">, server_ms: number): Place | null {
  const facing = body.direction ?? "down";
  if (body.walk) {
    const place = positionOnWalk(body.walk, server_ms, facing);
    if (place.is_walking || !body.position) return place;
    return { ...body.position, direction: body.direction ?? place.direction, is_walking: false };
  }
  return body.position ? { ...body.position, direction: facing, is_walking: false } : null;
}

// Fast comparison: there may be thousands of agents, sorted many times a second.
const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

export const agentsByName = (agents: ReadonlyMap<string, AgentRow>): AgentRow[] =>
  [...agents.values()].sort((a, b) => byText(a.name, b.name) || byText(a.agent_id, b.agent_id));

/// The name of an agent or user, safe to show.
export function nameOf(world: Pick<World, "agents" | "users">, id: string): string {
  return safeText(world.agents.get(id)?.name ?? world.users.get(id)?.name ?? id);
}
