// How replies and events change the chats and subagents. Pure.
import type { LogEvent } from "../base/event.ts";
import type { Chat, ChatReply, Entry, Subagent, SubagentStatus } from "./wire.ts";

/// The received part of an entry that is still streaming.
export interface StreamingEntry {
  n: number;
  text: string;
  /// True if its beginning was missed, because the page was opened or reconnected meanwhile.
  is_partial: boolean;
  /// The id of the event with its first chunk; null if its chunks are not in the log, or none has arrived.
  first: number | null;
}

export interface Waiting {
  why: string;
  /// When the mind retries, in milliseconds since 1970.
  until: number;
}

export interface Tool {
  name: string;
  summary: string;
}

export interface ChatRow extends Chat {
  streaming?: StreamingEntry;
  waiting?: Waiting;
  /// The tool that its agent is using.
  tool?: Tool;
}

export interface SubagentRow extends Subagent {
  started_at?: string;
  /// The number of the chat's last entry when it was spawned.
  after?: number;
  tools?: Tool[];
  tool_count?: number;
  streaming?: StreamingEntry;
  waiting?: Waiting;
}

export interface Crew {
  chats: ReadonlyMap<string, ChatRow>;
  subagents: ReadonlyMap<string, SubagentRow>;
  /// The id of the open chat, and its entries by number.
  open: string | null;
  entries: ReadonlyMap<number, Entry>;
  /// The id of the last event applied: a reconnection may repeat events.
  seen: number;
}

export const empty_crew: Crew = { chats: new Map(), subagents: new Map(), open: null, entries: new Map(), seen: 0 };

const max_chats = 200;
const max_subagents = 500;
const max_tools = 20;
const max_streaming_length = 1 << 20;
const max_subagent_streaming_length = 4096;

export const isCrewEvent = (event: LogEvent): boolean => /^(chat|subagent)\./.test(event.type);
export const isEnded = (subagent: Subagent): boolean => subagent.status !== "queued" && subagent.status !== "running";
const rank = (status: SubagentStatus): number => (status === "queued" ? 0 : status === "running" ? 1 : 2);

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const number = (value: unknown, fallback = 0): number => (typeof value === "number" && Number.isFinite(value) ? value : fallback);

// ---- replies

/// Merges a reply about a chat. `asked_at` is `seen` at the time of the request: the reply includes at least the events up
/// to it, and does not undo later ones. `started_here`: this page has just started the turn, so no chunk of it was missed.
export function mergeChat(before: Crew, reply: ChatReply, asked_at: number, started_here = false): Crew {
  const { entries, subagents, more: _, ...head } = reply;
  const chats = new Map(before.chats);
  const known = chats.get(head.id);
  const version = head.last_event || asked_at;
  const is_older = known !== undefined && (known.last_event ?? 0) > version;
  const row: ChatRow = is_older ? { ...head, ...defined(known), ...figures(head) } : { ...known, ...head, last_event: version };
  if (!is_older && !head.error) delete row.error;
  if (row.turn !== "running") delete row.streaming;
  else if (!is_older && known?.turn !== "running" && !started_here) row.streaming = { n: 0, text: "", is_partial: true, first: null };
  chats.set(head.id, row);
  let after: Crew = { ...before, chats };
  if (entries && before.open === head.id) {
    const all = new Map(before.entries);
    for (const entry of entries) all.set(entry.n, entry);
    after = { ...after, entries: sortedByNumber(all) };
  }
  return subagents ? mergeSubagents(after, subagents.map((each) => ({ ...each, chat_id: each.chat_id || head.id }))) : after;
}

/// The fields that events do not contain, so that the newest reply is always right about them.
const figures = (chat: Chat): Partial<Chat> => defined({ total_tokens: chat.total_tokens, cost_usd: chat.cost_usd, model_version: chat.model_version });
const defined = <T extends object>(value: T): Partial<T> => Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Partial<T>;

/// Replaces the list of chats; the open chat and chats that started after the request stay.
export function mergeChats(before: Crew, list: readonly Chat[], asked_at: number): Crew {
  const listed = new Set(list.map(({ id }) => id));
  const chats = new Map([...before.chats].filter(([id, chat]) => listed.has(id) || id === before.open || (chat.last_event ?? 0) > asked_at));
  let after: Crew = { ...before, chats };
  for (const chat of list) after = mergeChat(after, chat, asked_at);
  return after;
}

/// Merges replies about subagents. A status only advances, so a reply that is older than an event does not undo it.
export function mergeSubagents(before: Crew, list: readonly Subagent[]): Crew {
  const subagents = new Map(before.subagents);
  for (const subagent of list) {
    const known = subagents.get(subagent.task_id);
    if (!known) subagents.set(subagent.task_id, { ...subagent });
    else subagents.set(subagent.task_id, rank(subagent.status) >= rank(known.status) ? { ...known, ...subagent } : { ...subagent, ...defined(known) });
  }
  return { ...before, subagents };
}

export const openedChat = (before: Crew, id: string | null): Crew => (before.open === id ? before : { ...before, open: id, entries: new Map() });

/// After a reconnection: chunks that are not in the log were missed, so entries made of them are incomplete.
export const reconnected = (before: Crew): Crew => ({ ...before, ...withGaps(before, (streaming) => streaming.first === null) });

function withGaps(crew: Pick<Crew, "chats" | "subagents">, has_gap: (streaming: StreamingEntry) => boolean): Pick<Draft, "chats" | "subagents"> {
  const marked = <Row extends { streaming?: StreamingEntry }>(rows: ReadonlyMap<string, Row>): Map<string, Row> =>
    new Map([...rows].map(([id, row]) => [id, row.streaming && has_gap(row.streaming) ? { ...row, streaming: { n: 0, text: "", is_partial: true, first: null } } : row]));
  return { chats: marked(crew.chats), subagents: marked(crew.subagents) };
}

/// Completes a streaming entry whose beginning was missed with the chunks from the log.
export function withMissedText(before: Crew, id: string, earlier: readonly LogEvent[]): Crew {
  const row = before.chats.get(id);
  const streaming = row?.streaming;
  if (!row || !streaming?.is_partial) return before;
  const until = streaming.first ?? before.seen + 1;
  let found: { streaming?: StreamingEntry } = {};
  let saw_beginning = false;
  for (const event of earlier) {
    if (event.id === null || event.id >= until || text(event.data.task_id)) continue;
    if (event.type === "chat.text") found = withTextEvent(found, "text", event, max_streaming_length, false);
    else if (/^chat\.(entry|turn|restarted)$/.test(event.type)) [found, saw_beginning] = [{}, true];
  }
  if (!found.streaming || (streaming.text && found.streaming.n !== streaming.n)) return before;
  const whole = { ...found.streaming, text: (found.streaming.text + streaming.text).slice(0, max_streaming_length), is_partial: !saw_beginning };
  return { ...before, chats: new Map(before.chats).set(id, { ...row, streaming: whole }) };
}

// ---- events

/// The state after these events, in order; the same object if none of the events is about chats or subagents.
export function applyCrew(before: Crew, events: readonly LogEvent[]): Crew {
  let { seen } = before;
  let crew: Draft | null = null;
  const draft = (): Draft => (crew ??= { chats: new Map(before.chats), subagents: new Map(before.subagents), open: before.open, entries: before.entries });
  for (const event of events) {
    if (event.type === "state.snapshot") {
      seen = event.id ?? seen;
      // A snapshot means that events were missed: streaming entries may be incomplete, or have ended.
      if (before.chats.size) Object.assign(draft(), withGaps(draft(), () => true));
    } else if (event.id !== null) {
      if (event.id <= seen) continue;
      seen = event.id;
    }
    if (!isCrewEvent(event)) continue;
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
    if (row && !isEnded(row)) crew.subagents.set(task, withTextEvent(row, what, event, max_subagent_streaming_length, true));
    return;
  }
  const known: ChatRow = crew.chats.get(id) ?? { id, status: "active", started_at: event.timestamp };
  if (what === "text" || what === "restarted" || what === "waiting") {
    // A late chunk of an entry that is already complete.
    if (what !== "waiting" && id === crew.open && crew.entries.has(number(data.n))) return;
    crew.chats.set(id, withTextEvent(known, what, event, max_streaming_length, false));
    return;
  }
  if (what === "entry") return applyEntry(crew, id, known, event);
  if (what === "pruned") {
    crew.chats.delete(id);
    for (const subagent of crew.subagents.values()) if (subagent.chat_id === id) crew.subagents.delete(subagent.task_id);
    return;
  }
  // A reply has already included this event, and perhaps later ones.
  if (event.id !== null && event.id <= (known.last_event ?? 0)) return;
  const row: ChatRow = { ...known, last_event: event.id ?? known.last_event ?? 0 };
  if (what === "started") Object.assign(row, pick(data, ["agent", "model", "title", "kind", "folder"]), { status: "active", ended_at: null });
  if (what === "turn") applyTurn(row, data);
  if (what === "tool") row.tool = toolIn(data);
  if (what === "ended") {
    Object.assign(row, { turn: "idle", status: data.status === "failed" ? "failed" : "completed", ended_at: event.timestamp });
    delete row.streaming;
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
    // A message to an ended chat resumes it.
    Object.assign(row, { status: "active", ended_at: null });
    return;
  }
  delete row.streaming;
  const error = data.error as { type?: unknown; message?: unknown } | null | undefined;
  if (error && typeof error === "object") row.error = { type: text(error.type), message: text(error.message) };
}

function applyEntry(crew: Draft, id: string, known: ChatRow, event: LogEvent): void {
  const entry = event.data as unknown as Entry;
  if (typeof entry.n !== "number") return;
  crew.chats.set(id, known);
  // A note does not end the entry that is streaming.
  if (entry.role !== "note") endStreaming(crew.chats, id, entry.n);
  if (id === crew.open && !crew.entries.has(entry.n)) crew.entries = sortedByNumber(new Map(crew.entries).set(entry.n, entry));
}

function endStreaming(chats: Map<string, ChatRow>, id: string, n: number): void {
  const row = chats.get(id);
  if (!row) return;
  const { streaming, waiting: _, tool: __, ...rest } = row;
  chats.set(id, streaming && streaming.n > n ? { ...rest, streaming } : rest);
}

/// Applies a `text`, `restarted` or `waiting` event. A long text keeps its end if `keeps_tail`, else its beginning.
function withTextEvent<Row extends { streaming?: StreamingEntry; waiting?: Waiting; tool?: Tool }>(row: Row, what: string, event: LogEvent, max_length: number, keeps_tail: boolean): Row {
  const { data } = event;
  const after = { ...row };
  if (what === "waiting") return { ...after, waiting: { why: text(data.why), until: Date.parse(event.timestamp) + 1000 * number(data.seconds) } };
  delete after.waiting;
  if (what === "restarted") {
    delete after.streaming;
    return after;
  }
  if (what !== "text") return after;
  delete after.tool;
  const n = number(data.n);
  const before = row.streaming;
  if (before?.text && n < before.n) return after;
  const continues = before && (before.n === n || !before.text);
  const joined = (continues ? before.text : "") + text(data.text);
  after.streaming = {
    n, text: joined.length <= max_length ? joined : keeps_tail ? joined.slice(-max_length) : joined.slice(0, max_length),
    is_partial: continues ? before.is_partial : false, first: continues && before.text ? before.first : event.id,
  };
  return after;
}

const statuses: Record<string, SubagentStatus> = { queued: "queued", started: "running", completed: "completed", failed: "failed", cancelled: "cancelled" };

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
    const tools = [...(known.tools ?? []), toolIn(data)].slice(-max_tools);
    const { waiting: _, ...rest } = known;
    crew.subagents.set(id, { ...rest, tools, tool_count: (known.tool_count ?? 0) + 1 });
    return;
  }
  if (what === "entry" && crew.subagents.has(id)) {
    const { streaming: _, waiting: __, ...rest } = known;
    crew.subagents.set(id, rest);
    return;
  }
  const status = statuses[what];
  // The first end counts.
  if (!status || rank(status) < rank(known.status) || (isEnded(known) && status !== known.status)) return;
  const row: SubagentRow = { ...known, ...pick(data, ["agent", "task", "depth", "model", "summary", "tokens", "cost_usd", "duration_ms", "file", "error_type", "severity"]), status };
  if (what === "queued") row.queue_position = number(data.position, known.queue_position ?? 0);
  if (what === "started") row.started_at ??= event.timestamp;
  if (what === "failed") row.error_message = text(data.message) || row.error_message || null;
  if (isEnded(row)) {
    row.completed_at ??= event.timestamp;
    delete row.streaming;
    delete row.waiting;
  }
  crew.subagents.set(id, row);
}

function forgetOldest(crew: Draft): void {
  if (crew.chats.size > max_chats)
    for (const chat of chatsInOrder(crew.chats).slice(max_chats)) if (chat.id !== crew.open && chat.turn !== "running") crew.chats.delete(chat.id);
  if (crew.subagents.size > max_subagents)
    for (const subagent of newestFirst(crew.subagents).slice(max_subagents)) if (isEnded(subagent) && subagent.chat_id !== crew.open) crew.subagents.delete(subagent.task_id);
}

// ---- order

function sortedByNumber(entries: Map<number, Entry>): Map<number, Entry> {
  let last = -Infinity;
  for (const n of entries.keys()) {
    if (n < last) return new Map([...entries].sort(([a], [b]) => a - b));
    last = n;
  }
  return entries;
}

/// Chats that are answering first, then newest first.
export function chatsInOrder(chats: ReadonlyMap<string, ChatRow>): ChatRow[] {
  const busy = (chat: ChatRow) => Number(chat.turn === "running");
  return [...chats.values()].sort((a, b) => busy(b) - busy(a) || (b.started_at ?? "").localeCompare(a.started_at ?? "") || b.id.localeCompare(a.id));
}

export function newestFirst(subagents: ReadonlyMap<string, SubagentRow>): SubagentRow[] {
  return [...subagents.values()].sort((a, b) => (b.spawned_at ?? "").localeCompare(a.spawned_at ?? "") || b.task_id.localeCompare(a.task_id));
}
