// What the page knows of chats and subagents, and how each event changes it. Pure: the same replies and events give
// the same state.
import type { LogEvent } from "../base/event.ts";
import type { Chat, ChatReply, Entry, Subagent, SubagentStatus } from "./wire.ts";

/// The entry that is coming, as far as it has come.
export interface Coming {
  n: number;
  text: string;
  /// Its beginning was missed: the page came, or came back, in the middle.
  is_partial: boolean;
  /// The number of the event that its text begins with; null if the log does not hold its pieces, or none has come.
  first: number | null;
}

export interface Waiting {
  why: string;
  /// When the mind tries again, in milliseconds since 1970.
  until: number;
}

export interface Tool {
  name: string;
  summary: string;
}

export interface ChatRow extends Chat {
  coming?: Coming;
  waiting?: Waiting;
  /// What its agent uses just now.
  tool?: Tool;
  /// When something was last heard of it.
  heard_at?: string;
}

export interface SubagentRow extends Subagent {
  started_at?: string;
  /// The entry that was the chat's last when it was spawned.
  after?: number;
  tools?: Tool[];
  tool_count?: number;
  coming?: Coming;
  waiting?: Waiting;
}

export interface Crew {
  chats: ReadonlyMap<string, ChatRow>;
  subagents: ReadonlyMap<string, SubagentRow>;
  /// The chat that is looked at, and its entries by number.
  open: string | null;
  entries: ReadonlyMap<number, Entry>;
  /// The number of the last event applied: a reconnection may tell again what is known.
  seen: number;
}

export const nobody: Crew = { chats: new Map(), subagents: new Map(), open: null, entries: new Map(), seen: 0 };

const kept_chats = 200;
const kept_subagents = 500;
const kept_tools = 20;
const most_coming = 1 << 20;
const most_coming_subagent = 4096;

export const isCrew = (event: LogEvent): boolean => /^(chat|subagent)\./.test(event.type);
export const isEnded = (subagent: Subagent): boolean => subagent.status !== "queued" && subagent.status !== "running";
const rank = (status: SubagentStatus): number => (status === "queued" ? 0 : status === "running" ? 1 : 2);

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const number = (value: unknown, otherwise = 0): number => (typeof value === "number" && Number.isFinite(value) ? value : otherwise);

// ---- replies

/// With a chat as the daemon tells it. `asked_at` is `seen` when it was asked for: the reply knows at least that much.
/// What later events have said of its state stays. `began_here`: the turn is one that this page has just asked for, so
/// that nothing of it was missed.
export function takeChat(before: Crew, reply: ChatReply, asked_at: number, began_here = false): Crew {
  const { entries, subagents, more: _, ...head } = reply;
  const chats = new Map(before.chats);
  const known = chats.get(head.id);
  const version = head.last_event || asked_at;
  const is_older = known !== undefined && (known.last_event ?? 0) > version;
  const row: ChatRow = is_older ? { ...head, ...defined(known), ...figures(head) } : { ...known, ...head, last_event: version };
  if (!is_older && !head.error) delete row.error;
  if (row.turn !== "running") delete row.coming;
  else if (!is_older && known?.turn !== "running" && !began_here) row.coming = { n: 0, text: "", is_partial: true, first: null };
  chats.set(head.id, row);
  let after: Crew = { ...before, chats };
  if (entries && before.open === head.id) {
    const all = new Map(before.entries);
    for (const entry of entries) all.set(entry.n, entry);
    after = { ...after, entries: inNumber(all) };
  }
  return subagents ? takeSubagents(after, subagents.map((each) => ({ ...each, chat_id: each.chat_id || head.id }))) : after;
}

/// What only replies tell, so that the newest reply is right whatever events said.
const figures = (chat: Chat): Partial<Chat> => defined({ total_tokens: chat.total_tokens, cost_usd: chat.cost_usd, model_version: chat.model_version });
const defined = <T extends object>(value: T): Partial<T> => Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Partial<T>;

/// With the list of chats in place of what was known; the one that is looked at stays.
export function takeChats(before: Crew, list: readonly Chat[], asked_at: number): Crew {
  const listed = new Set(list.map(({ id }) => id));
  const chats = new Map([...before.chats].filter(([id, chat]) => listed.has(id) || id === before.open || (chat.last_event ?? 0) > asked_at));
  let after: Crew = { ...before, chats };
  for (const chat of list) after = takeChat(after, chat, asked_at);
  return after;
}

/// A subagent's state goes forward only: a reply that is older than an event takes nothing back.
export function takeSubagents(before: Crew, list: readonly Subagent[]): Crew {
  const subagents = new Map(before.subagents);
  for (const one of list) {
    const known = subagents.get(one.task_id);
    if (!known) subagents.set(one.task_id, { ...one });
    else subagents.set(one.task_id, rank(one.status) >= rank(known.status) ? { ...known, ...one } : { ...one, ...defined(known) });
  }
  return { ...before, subagents };
}

export const openedChat = (before: Crew, id: string | null): Crew => (before.open === id ? before : { ...before, open: id, entries: new Map() });

/// The stream was away. Pieces that the log does not hold were missed, so what there is of them is no whole any more.
export const reconnected = (before: Crew): Crew => ({ ...before, ...withGaps(before, (coming) => coming.first === null) });

function withGaps(crew: Pick<Crew, "chats" | "subagents">, has_gap: (coming: Coming) => boolean): Pick<Draft, "chats" | "subagents"> {
  const anew = <Row extends { coming?: Coming }>(rows: ReadonlyMap<string, Row>): Map<string, Row> =>
    new Map([...rows].map(([id, row]) => [id, row.coming && has_gap(row.coming) ? { ...row, coming: { n: 0, text: "", is_partial: true, first: null } } : row]));
  return { chats: anew(crew.chats), subagents: anew(crew.subagents) };
}

/// With the pieces that the log has of an entry whose beginning was missed.
export function withEarlier(before: Crew, id: string, earlier: readonly LogEvent[]): Crew {
  const row = before.chats.get(id);
  const coming = row?.coming;
  if (!row || !coming?.is_partial) return before;
  const until = coming.first ?? before.seen + 1;
  let found: { coming?: Coming } = {};
  let saw_beginning = false;
  for (const event of earlier) {
    if (event.id === null || event.id >= until || text(event.data.task_id)) continue;
    if (event.type === "chat.text") found = withPiece(found, "text", event, most_coming, false);
    else if (/^chat\.(entry|turn|restarted)$/.test(event.type)) [found, saw_beginning] = [{}, true];
  }
  if (!found.coming || (coming.text && found.coming.n !== coming.n)) return before;
  const whole = { ...found.coming, text: (found.coming.text + coming.text).slice(0, most_coming), is_partial: !saw_beginning };
  return { ...before, chats: new Map(before.chats).set(id, { ...row, coming: whole }) };
}

// ---- events

/// The state after these events, in order; the same object if none of them is about chats or subagents.
export function applyCrew(before: Crew, events: readonly LogEvent[]): Crew {
  let { seen } = before;
  let crew: Draft | null = null;
  const draft = (): Draft => (crew ??= { chats: new Map(before.chats), subagents: new Map(before.subagents), open: before.open, entries: before.entries });
  for (const event of events) {
    if (event.type === "state.snapshot") {
      seen = event.id ?? seen;
      // What happened since the last event is not told: pieces may have become whole, or more.
      if (before.chats.size) Object.assign(draft(), withGaps(draft(), () => true));
    } else if (event.id !== null) {
      if (event.id <= seen) continue;
      seen = event.id;
    }
    if (!isCrew(event)) continue;
    if (event.type.startsWith("chat.")) applyChat(draft(), event);
    else applySubagent(draft(), event);
  }
  const after = crew as Draft | null;
  if (!after) return seen === before.seen ? before : { ...before, seen };
  forgetOldest(after);
  return { ...after, seen };
}

interface Draft {
  chats: Map<string, ChatRow>;
  subagents: Map<string, SubagentRow>;
  open: string | null;
  entries: ReadonlyMap<number, Entry>;
}

function applyChat(crew: Draft, event: LogEvent): void {
  const { data } = event;
  const id = text(data.chat_id) || event.entity;
  if (!id) return;
  const what = event.type.slice("chat.".length);
  const task = text(data.task_id);
  if (task) {
    const row = crew.subagents.get(task);
    if (row && !isEnded(row)) crew.subagents.set(task, withPiece(row, what, event, most_coming_subagent, true));
    return;
  }
  const known: ChatRow = crew.chats.get(id) ?? { id, status: "active", started_at: event.timestamp };
  if (what === "text" || what === "restarted" || what === "waiting") {
    // A piece of what is whole already is void.
    if (what !== "waiting" && id === crew.open && crew.entries.has(number(data.n))) return;
    crew.chats.set(id, withPiece(known, what, event, most_coming, false));
    return;
  }
  if (what === "entry") return applyEntry(crew, id, known, event);
  if (what === "pruned") {
    crew.chats.delete(id);
    for (const one of crew.subagents.values()) if (one.chat_id === id) crew.subagents.delete(one.task_id);
    return;
  }
  // A reply knew this already, and perhaps what came after it.
  if (event.id !== null && event.id <= (known.last_event ?? 0)) return;
  const row: ChatRow = { ...known, heard_at: event.timestamp, last_event: event.id ?? known.last_event ?? 0 };
  if (what === "started") Object.assign(row, pick(data, ["agent", "model", "title", "kind", "folder"]), { status: "active", ended_at: null });
  if (what === "turn") applyTurn(row, data);
  if (what === "tool") row.tool = toolIn(data);
  if (what === "ended") {
    Object.assign(row, { turn: "idle", status: data.status === "failed" ? "failed" : "completed", ended_at: event.timestamp });
    delete row.coming;
    delete row.waiting;
  }
  crew.chats.set(id, row);
}

const pick = (data: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(keys.filter((key) => data[key] !== undefined && data[key] !== null).map((key) => [key, data[key]]));

const toolIn = (data: Record<string, unknown>): Tool => ({ name: text(data.name), summary: text(data.summary) });

function applyTurn(row: ChatRow, data: Record<string, unknown>): void {
  row.turn = data.turn === "running" ? "running" : "idle";
  delete row.waiting;
  delete row.error;
  delete row.tool;
  if (row.turn === "running") {
    // Saying something in a chat that has ended begins it again.
    Object.assign(row, { status: "active", ended_at: null });
    return;
  }
  delete row.coming;
  const error = data.error as { type?: unknown; message?: unknown } | null | undefined;
  if (error && typeof error === "object") row.error = { type: text(error.type), message: text(error.message) };
}

function applyEntry(crew: Draft, id: string, known: ChatRow, event: LogEvent): void {
  const entry = event.data as unknown as Entry;
  if (typeof entry.n !== "number") return;
  crew.chats.set(id, { ...known, heard_at: event.timestamp });
  // A note stands between the pieces of what is being said.
  if (entry.role !== "note") endComing(crew.chats, id, entry.n);
  if (id === crew.open && !crew.entries.has(entry.n)) crew.entries = inNumber(new Map(crew.entries).set(entry.n, entry));
}

function endComing(chats: Map<string, ChatRow>, id: string, n: number): void {
  const row = chats.get(id);
  if (!row) return;
  const { coming, waiting: _, tool: __, ...rest } = row;
  chats.set(id, coming && coming.n > n ? { ...rest, coming } : rest);
}

/// With a piece of text, without those so far, or waiting. `keeps_tail`: of a long text the end is kept, else the beginning.
function withPiece<Row extends { coming?: Coming; waiting?: Waiting; tool?: Tool }>(row: Row, what: string, event: LogEvent, most: number, keeps_tail: boolean): Row {
  const { data } = event;
  const after = { ...row };
  if (what === "waiting") return { ...after, waiting: { why: text(data.why), until: Date.parse(event.timestamp) + 1000 * number(data.seconds) } };
  delete after.waiting;
  if (what === "restarted") {
    delete after.coming;
    return after;
  }
  if (what !== "text") return after;
  delete after.tool;
  const n = number(data.n);
  const before = row.coming;
  if (before?.text && n < before.n) return after;
  const goes_on = before && (before.n === n || !before.text);
  const joined = (goes_on ? before.text : "") + text(data.text);
  after.coming = {
    n, text: joined.length <= most ? joined : keeps_tail ? joined.slice(-most) : joined.slice(0, most),
    is_partial: goes_on ? before.is_partial : false, first: goes_on && before.text ? before.first : event.id,
  };
  return after;
}

const ends: Record<string, SubagentStatus> = { queued: "queued", started: "running", completed: "completed", failed: "failed", cancelled: "cancelled" };

function applySubagent(crew: Draft, event: LogEvent): void {
  const { data } = event;
  const id = text(data.task_id);
  if (!id) return;
  const what = event.type.slice("subagent.".length);
  const chat_id = text(data.chat_id) || event.entity;
  const known: SubagentRow = crew.subagents.get(id) ?? {
    task_id: id, agent: text(data.agent), chat_id, status: "queued", spawned_at: event.timestamp,
    ...(chat_id === crew.open ? { after: Math.max(0, ...crew.entries.keys()) } : {}),
  };
  if (what === "tool") {
    const tools = [...(known.tools ?? []), toolIn(data)].slice(-kept_tools);
    const { waiting: _, ...rest } = known;
    crew.subagents.set(id, { ...rest, tools, tool_count: (known.tool_count ?? 0) + 1 });
    return;
  }
  if (what === "entry" && crew.subagents.has(id)) {
    const { coming: _, waiting: __, ...rest } = known;
    crew.subagents.set(id, rest);
    return;
  }
  const status = ends[what];
  // What has ended stays as it ended.
  if (!status || rank(status) < rank(known.status) || (isEnded(known) && status !== known.status)) return;
  const row: SubagentRow = { ...known, ...pick(data, ["agent", "task", "depth", "model", "summary", "tokens", "cost_usd", "duration_ms", "file", "error_type", "severity"]), status };
  if (what === "queued") row.queue_position = number(data.position, known.queue_position ?? 0);
  if (what === "started") row.started_at ??= event.timestamp;
  if (what === "failed") row.error_message = text(data.message) || row.error_message || null;
  if (isEnded(row)) {
    row.completed_at ??= event.timestamp;
    delete row.coming;
    delete row.waiting;
  }
  crew.subagents.set(id, row);
}

function forgetOldest(crew: Draft): void {
  if (crew.chats.size > kept_chats)
    for (const chat of chatsInOrder(crew.chats).slice(kept_chats)) if (chat.id !== crew.open && chat.turn !== "running") crew.chats.delete(chat.id);
  if (crew.subagents.size > kept_subagents)
    for (const one of newestFirst(crew.subagents).slice(kept_subagents)) if (isEnded(one) && one.chat_id !== crew.open) crew.subagents.delete(one.task_id);
}

// ---- as the views show it

function inNumber(entries: Map<number, Entry>): Map<number, Entry> {
  let last = -Infinity;
  for (const n of entries.keys()) {
    if (n < last) return new Map([...entries].sort(([a], [b]) => a - b));
    last = n;
  }
  return entries;
}

/// Newest first; those that answer before all others.
export function chatsInOrder(chats: ReadonlyMap<string, ChatRow>): ChatRow[] {
  const busy = (chat: ChatRow) => Number(chat.turn === "running");
  return [...chats.values()].sort((a, b) => busy(b) - busy(a) || (b.started_at ?? "").localeCompare(a.started_at ?? "") || b.id.localeCompare(a.id));
}

export function newestFirst(subagents: ReadonlyMap<string, SubagentRow>): SubagentRow[] {
  return [...subagents.values()].sort((a, b) => (b.spawned_at ?? "").localeCompare(a.spawned_at ?? "") || b.task_id.localeCompare(a.task_id));
}
