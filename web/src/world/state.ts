// The world as the page knows it, and how each message of the socket changes it. Pure: the same messages at the same
// times give the same world. Whatever draws it (the map here, an office with sprites) asks `placeAt` where somebody is.
import { safeText } from "../base/safe_text.ts";
import { isNumber, readAgent, readLayout, readState, readTile, readUser, readWalk, text, texts } from "./reading.ts";
import type { Direction, Layout, LiveAgent, Seat, Tile, Walk, WorldMessage, WorldUser } from "./wire.ts";

/// What was said or happened lately, newest last.
export interface Note {
  /// The number of its event.
  seq: number;
  kind: "said" | "sent" | "task" | "done" | "held" | "stuck" | "came" | "left";
  /// Whose: an agent's or a user's id, and how it is called.
  who: string;
  name: string;
  text: string;
  /// To whom it was said, as they were called then.
  to?: Hearers;
  /// When it came, by this machine's clock.
  at: number;
  message_id?: string;
  /// Of a direct message: what became of it, by recipient.
  receipts?: Readonly<Record<string, { name: string; status: string }>>;
}

/// The first few of those who heard something, and how many there were.
export interface Hearers {
  names: readonly string[];
  count: number;
}
const named_hearers = 3;
export const hearersOf = (world: Pick<World, "agents" | "users">, ids: readonly string[], count = ids.length): Hearers =>
  ({ names: ids.slice(0, named_hearers).map((id) => nameOf(world, id)), count: Math.max(count, ids.length) });

export interface AgentRow extends LiveAgent {
  stuck?: string | null;
  /// What it says at the moment: the map's bubble.
  bubble?: Bubble;
}

export interface UserRow extends WorldUser {
  bubble?: Bubble;
}

/// `at` is when it came, by this machine's clock.
export interface Bubble {
  text: string;
  at: number;
}

export interface World {
  loaded: boolean;
  space_id: string;
  layout: Layout | null;
  /// What is wrong with the layout; empty if nothing is.
  warning: string;
  seats: readonly Seat[];
  agents: ReadonlyMap<string, AgentRow>;
  users: ReadonlyMap<string, UserRow>;
  notes: readonly Note[];
  /// The number of the last event seen: where a new connection goes on.
  cursor: number;
  /// The daemon's clock less this machine's.
  offset: number;
  /// Pages of a snapshot of which more are to come.
  arriving: World | null;
}

export const empty_world: World = {
  loaded: false, space_id: "office", layout: null, warning: "", seats: [], agents: new Map(), users: new Map(), notes: [], cursor: 0, offset: 0, arriving: null,
};

const kept_notes = 100;
const far_off_ms = 1000;

/// A sample of the daemon's clock is late by its way here, never early; one that is far off means that a clock was set.
export function clockOffset(known: number, now_ms: number, local_ms: number): number {
  const sample = now_ms - local_ms;
  return Math.abs(sample - known) > far_off_ms ? sample : Math.max(sample, known);
}

// ---- the world after messages

/// The world after these messages, in order, which came at `local_ms`.
export function applyWorld(world: World, messages: readonly WorldMessage[], local_ms: number): World {
  if (!messages.length) return world;
  const next: Draft = { ...world, agents: new Map(world.agents), users: new Map(world.users), notes: [...world.notes] };
  for (const message of messages) applyOne(next, message, local_ms);
  if (next.notes.length > kept_notes) next.notes.splice(0, next.notes.length - kept_notes);
  return next;
}

interface Draft extends World {
  agents: Map<string, AgentRow>;
  users: Map<string, UserRow>;
  notes: Note[];
}

function applyOne(world: Draft, message: WorldMessage, local_ms: number): void {
  if (isNumber(message.now_ms)) world.offset = clockOffset(world.offset, message.now_ms, local_ms);
  if (message.type === "world_snapshot") return takePage(world, message);
  if (message.type === "agent_state") {
    const known = world.agents.get(text(message.agent_id));
    if (known) world.agents.set(known.agent_id, { ...known, ...counts(message) });
    return;
  }
  if (!isNumber(message.seq)) return;
  // A reconnection may tell again what is known already.
  if (message.seq <= world.cursor) return;
  world.cursor = message.seq;
  const change = changes[message.type];
  if (change) change(world, message, local_ms);
}

/// A snapshot counts even when its number is lower: then this is another log, and the old cursor means nothing.
function takePage(world: Draft, message: WorldMessage): void {
  const page = isNumber(message.page) ? message.page : 1;
  const pages = isNumber(message.pages) ? message.pages : 1;
  if (page > 1 && !world.arriving) return;  // its beginning was lost with an earlier connection
  const base: World = page === 1
    ? { ...empty_world, space_id: text(message.space_id) || "office", layout: readLayout(message.layout), warning: text(message.warning) }
    : world.arriving!;
  const arriving: World = {
    ...base, cursor: isNumber(message.seq) ? message.seq : 0,
    seats: [...base.seats, ...(Array.isArray(message.seats) ? message.seats as Seat[] : [])],
    users: new Map([...base.users, ...byId(message.users, readUser, "user_id")]),
    agents: new Map([...base.agents, ...byId(message.agents, readAgent, "agent_id")]),
  };
  if (page < pages) {
    world.arriving = arriving;
    return;
  }
  // What is being said goes on being shown.
  const agents = [...arriving.agents].map(([id, agent]): [string, AgentRow] => {
    const bubble = world.agents.get(id)?.bubble;
    return [id, bubble ? { ...agent, bubble } : agent];
  });
  Object.assign(world, { ...arriving, agents: new Map(agents), users: new Map(arriving.users), notes: world.notes, offset: world.offset, loaded: true, arriving: null });
}

function byId<Row, Key extends keyof Row>(value: unknown, read: (item: unknown) => Row | null, key: Key): Map<string, Row> {
  const rows = (Array.isArray(value) ? value : []).map(read).filter((row): row is Row => row !== null);
  return new Map(rows.map((row) => [String(row[key]), row]));
}

/// How far behind an agent is, how often it has thought, as far as it is told.
function counts(told: Record<string, unknown>): Partial<LiveAgent> {
  const found: Partial<LiveAgent> = {};
  for (const key of ["lag", "received", "thoughts"] as const) if (isNumber(told[key])) found[key] = told[key];
  return found;
}

type Change = (world: Draft, message: WorldMessage, local_ms: number) => void;

/// Changes one agent, if it is known.
const ofAgent = (change: (agent: AgentRow, message: WorldMessage, world: Draft, local_ms: number) => Partial<AgentRow>): Change => (world, message, local_ms) => {
  const known = world.agents.get(text(message.agent_id));
  if (known) world.agents.set(known.agent_id, { ...known, ...change(known, message, world, local_ms) });
};

function note(world: Draft, message: WorldMessage, kind: Note["kind"], local_ms: number, said: string, to?: Hearers): void {
  const who = text(message.agent_id) || text(message.user_id);
  const name = world.agents.get(who)?.name ?? (text(message.name) || who);
  const message_id = text(message.message_id);
  world.notes.push({ seq: message.seq!, kind, who, name, text: said, ...(to && { to }), at: local_ms, ...(message_id && { message_id }) });
}

const heardBy = (world: Draft, { recipients, recipient_count }: WorldMessage): Hearers => hearersOf(world, texts(recipients), isNumber(recipient_count) ? recipient_count : 0);

const isOnPath = (walk: Walk, { x, y }: Tile): boolean => walk.path.some((tile) => tile.x === x && tile.y === y);

/// Where it is said to be: on its walk means that it still walks, or has; anywhere else, that it does not.
function placed(agent: AgentRow, position: Tile | null): Partial<AgentRow> {
  if (!position || (agent.walk && isOnPath(agent.walk, position))) return {};
  return { position, walk: null };
}

const changes: Record<string, Change> = {
  agent_joined(world, message, local_ms) {
    const agent = readAgent(message.agent);
    if (!agent) return;
    world.agents.set(agent.agent_id, agent);
    note(world, { ...message, agent_id: agent.agent_id }, "came", local_ms, text(agent.role));
  },
  agent_left(world, message, local_ms) {
    note(world, message, "left", local_ms, text(message.reason));
    world.agents.delete(text(message.agent_id));
  },
  agent_state_update: ofAgent((agent, message, world, local_ms) => {
    const state = readState(message.state);
    return {
      ...placed(agent, readTile(message.position)), state, stuck: null,
      error: text(message.error) || null,
      ...counts(message),
      ...("current_task" in message && { current_task: text(message.current_task) || null }),
      ...(state !== agent.state && { since: new Date(local_ms + world.offset).toISOString() }),
    };
  }),
  agent_moved: ofAgent((agent, message) => {
    const walk = readWalk(message);
    const end = readTile(message) ?? walk?.path.at(-1) ?? agent.position ?? null;
    return { walk, position: end };
  }),
  agent_speech(world, message, local_ms) {
    note(world, message, "said", local_ms, text(message.content), heardBy(world, message));
    ofAgent(() => ({ last_message: text(message.content), bubble: { text: text(message.content), at: local_ms } }))(world, message, local_ms);
  },
  chat_broadcast(world, message, local_ms) {
    note(world, message, "said", local_ms, text(message.message), heardBy(world, message));
    const user = world.users.get(text(message.user_id));
    if (user) world.users.set(user.user_id, { ...user, bubble: { text: text(message.message), at: local_ms } });
  },
  task_assigned(world, message, local_ms) {
    note(world, message, "task", local_ms, text(message.task_name));
    ofAgent(() => ({ current_task: text(message.task_name), task_id: text(message.task_id) }))(world, message, local_ms);
  },
  task_completed(world, message, local_ms) {
    note(world, message, "done", local_ms, [text(message.status) === "failed" ? "failed" : "", text(message.task_name), text(message.result)].filter(Boolean).join(": "));
    ofAgent((agent) => (agent.task_id && agent.task_id !== message.task_id ? {} : { current_task: null, task_id: null }))(world, message, local_ms);
  },
  action_held(world, message, local_ms) {
    const where = isNumber(message.x) && isNumber(message.y) ? ` to ${message.x},${message.y}` : "";
    note(world, message, "held", local_ms, `${text(message.action)}${where}: ${text(message.reason)}`);
  },
  agent_stuck(world, message, local_ms) {
    note(world, message, "stuck", local_ms, text(message.reason));
    ofAgent(() => ({ stuck: text(message.reason) || "stuck" }))(world, message, local_ms);
  },
  agent_broadcast(world, message, local_ms) {
    note(world, message, "sent", local_ms, text(typeof message.data === "string" ? message.data : JSON.stringify(message.data ?? null)));
  },
  message_receipt(world, message) {
    const at = world.notes.map(({ message_id }) => message_id ?? null).lastIndexOf(text(message.message_id));
    const known = world.notes[at];
    if (known) world.notes[at] = { ...known, receipts: { ...known.receipts, [text(message.agent_id)]: { name: nameOf(world, text(message.agent_id)), status: text(message.status) } } };
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

// ---- where somebody is
export interface Place extends Tile {
  direction: Direction;
  is_walking: boolean;
}

const directionOf = (from: Tile, to: Tile, otherwise: Direction): Direction => {
  const dx = to.x - from.x, dy = to.y - from.y;
  if (!dx && !dy) return otherwise;
  return Math.abs(dx) > Math.abs(dy) ? (dx < 0 ? "left" : "right") : dy < 0 ? "up" : "down";
};

/// Where along its walk somebody is at `server_ms` by the daemon's clock.
export function alongWalk(walk: Walk, server_ms: number, facing: Direction = "down"): Place {
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

/// Where somebody is at `server_ms`; null if it has no place. Who arrived stands where it was sent.
export function placeAt(one: Pick<LiveAgent, "position" | "direction" | "walk">, server_ms: number): Place | null {
  const facing = one.direction ?? "down";
  if (one.walk) {
    const place = alongWalk(one.walk, server_ms, facing);
    if (place.is_walking || !one.position) return place;
    return { ...one.position, direction: place.direction, is_walking: false };
  }
  return one.position ? { ...one.position, direction: facing, is_walking: false } : null;
}

// There may be thousands, many times a second: a collation is too dear.
const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/// The roster: by name, then by id; only those with these words in their name, role, task or state.
export function inRoster(agents: ReadonlyMap<string, AgentRow>, words = ""): AgentRow[] {
  const wanted = words.trim().toLowerCase();
  const has = ({ name, role, current_task, state, agent_id }: AgentRow) => `${name} ${role ?? ""} ${current_task ?? ""} ${state} ${agent_id}`.toLowerCase().includes(wanted);
  return [...agents.values()].filter((agent) => !wanted || has(agent))
    .sort((a, b) => byText(a.name, b.name) || byText(a.agent_id, b.agent_id));
}

/// How somebody is called, safe to show.
export function nameOf(world: Pick<World, "agents" | "users">, id: string): string {
  return safeText(world.agents.get(id)?.name ?? world.users.get(id)?.name ?? id);
}
