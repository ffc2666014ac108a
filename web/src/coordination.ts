// What the page knows of coordination, and how each event changes it. Pure: the same lists and events give the
// same state.
import type { LogEvent } from "./wire.ts";
import type { Handoff, Lock, Session, Work, WorkStatus } from "./wire_coordination.ts";

export interface Coordination {
  sessions: ReadonlyMap<string, Session>;
  locks: ReadonlyMap<string, Lock>;
  work: ReadonlyMap<string, Work>;
  handoffs: ReadonlyMap<string, Handoff>;
}
export interface Lists {
  sessions: Session[];
  locks: Lock[];
  work: Work[];
  handoffs: Handoff[];
}

export const nothing_shared: Coordination = { sessions: new Map(), locks: new Map(), work: new Map(), handoffs: new Map() };
const kept_gone = 100;
const kept_closed = 300;
const kept_handoffs = 200;

export const isCoordination = (event: LogEvent): boolean => /^(session|lock|work|handoff)\./.test(event.type);
export const isOpen = (work: Work): boolean => work.status === "pending" || work.status === "claimed" || work.status === "running";

const workStatus: Record<string, WorkStatus> = {
  submitted: "pending", claimed: "claimed", verifying: "running", completed: "completed", failed: "failed",
  requeued: "pending", unblocked: "pending", cancelled: "cancelled",
};

/// What is known, with these lists in place of its own. `later` came after they were asked for: told again over the
/// newer lists, those events end at the same state, because each carries the item as it then was.
export function takeLists(before: Coordination, lists: Partial<Lists>, later: readonly LogEvent[]): Coordination {
  return applyAll({
    sessions: lists.sessions ? new Map(lists.sessions.map((session) => [session.session_id, session])) : before.sessions,
    locks: lists.locks ? new Map(lists.locks.map((lock) => [lock.file_path, lock])) : before.locks,
    work: lists.work ? new Map(lists.work.map((work) => [work.task_id, work])) : before.work,
    handoffs: lists.handoffs ? new Map(lists.handoffs.map((handoff) => [handoff.id, handoff])) : before.handoffs,
  }, later);
}

/// The state after these events, in order; the same object if none of them is about coordination.
export function applyAll(before: Coordination, events: readonly LogEvent[]): Coordination {
  const ours = events.filter(isCoordination);
  if (!ours.length) return before;
  const sessions = new Map(before.sessions);
  const locks = new Map(before.locks);
  const work = new Map(before.work);
  const handoffs = new Map(before.handoffs);
  for (const event of ours) {
    const [room, what = ""] = event.type.split(".");
    if (room === "lock") applyLock(locks, what, event);
    else if (room === "work") applyWork(work, what, event);
    else if (room === "handoff") applyHandoff(handoffs, what, event);
    else applySession(sessions, what, event);
    if (room !== "session") seeAlive(sessions, event);
  }
  forget(sessions, kept_gone, (session) => session.status === "disconnected", (session) => session.ended_at ?? session.last_heartbeat ?? "");
  forget(work, kept_closed, (item) => !isOpen(item), (item) => item.completed_at ?? item.created_at ?? "");
  forget(handoffs, kept_handoffs, () => true, (handoff) => handoff.created_at ?? "");
  return { sessions, locks, work, handoffs };
}

function applyLock(locks: Map<string, Lock>, what: string, event: LogEvent): void {
  if (what === "waiting") return;  // tells whom somebody waits for, perhaps by another path: the list knows how many
  const data = event.data as Partial<Lock>;
  const path = String(data.file_path ?? event.entity);
  const known = locks.get(path);
  if (what === "released" || what === "expired") {
    // The end of an earlier holder's lock, told again, does not end the present one's.
    if (known?.fencing_token && data.fencing_token && data.fencing_token < known.fencing_token) return;
    locks.delete(path);
    return;
  }
  if (known || data.locked_by) locks.set(path, { locked_by: "", ...known, ...data, file_path: path });
}

function applyWork(work: Map<string, Work>, what: string, event: LogEvent): void {
  const data = event.data as Partial<Work>;
  const id = String(data.task_id ?? event.entity);
  if (!id) return;
  if (what === "purged") {
    work.delete(id);
    return;
  }
  const known = work.get(id);
  const status = data.status ?? workStatus[what] ?? known?.status ?? "pending";
  const after: Work = { created_at: event.timestamp, ...known, ...data, task_id: id, status };
  if (what === "unblocked" && !data.blocked_by) after.blocked_by = [];
  work.set(id, after);
}

/// The event is only the beginning of a handoff: its summary, cut short. The rest is read by this id.
export const handoffIn = (event: LogEvent): string => (event.type === "handoff.written" ? String(event.data.id ?? event.data.handoff_id ?? "") : "");

function applyHandoff(handoffs: Map<string, Handoff>, what: string, event: LogEvent): void {
  const id = handoffIn(event);
  if (what === "written" && id) handoffs.set(id, { agent_name: "", summary: "", created_at: event.timestamp, ...(event.data as Partial<Handoff>), ...handoffs.get(id), id });
}

function applySession(sessions: Map<string, Session>, what: string, event: LogEvent): void {
  const data = event.data as Partial<Session>;
  const id = String(data.session_id ?? event.entity);
  if (!id) return;
  const known = sessions.get(id);
  const gone = what === "ended" || what === "disconnected";
  const status = gone ? "disconnected" : data.status ?? known?.status ?? "active";
  const after: Session = { agent_id: "", last_heartbeat: event.timestamp, started_at: event.timestamp, ...known, ...data, session_id: id, status };
  if (gone) after.ended_at = data.ended_at ?? event.timestamp;
  else after.ended_at = null;
  sessions.set(id, after);
}

/// Whoever takes a lock, takes work or writes a handoff is alive.
function seeAlive(sessions: Map<string, Session>, event: LogEvent): void {
  if (!/\.(acquired|refreshed|claimed|written)$/.test(event.type)) return;
  const data = event.data as { session_id?: string; claimed_by_session?: string; kind?: string };
  if (data.kind === "final") return;  // the daemon wrote it when the session was over
  const known = sessions.get(data.claimed_by_session ?? data.session_id ?? "");
  if (known && known.status !== "disconnected" && event.timestamp > (known.last_heartbeat ?? ""))
    sessions.set(known.session_id, { ...known, last_heartbeat: event.timestamp });
}

/// Drops the oldest of those that may go, down to `keep` of them.
function forget<Item>(items: Map<string, Item>, keep: number, may_go: (item: Item) => boolean, when: (item: Item) => string): void {
  if (items.size <= keep) return;
  const goers = [...items].filter(([, item]) => may_go(item)).sort(([, a], [, b]) => when(b).localeCompare(when(a)));
  for (const [id] of goers.slice(keep)) items.delete(id);
}

// ---- as the views show it

export type Column = "pending" | "blocked" | "in hand" | "done" | "failed";
export const columns: readonly Column[] = ["pending", "blocked", "in hand", "done", "failed"];

/// What a piece of work waits for. An event does not say, so it follows from what it depends on; of what is not on the
/// board any more the list's word counts.
export function blockers(work: Work, all: ReadonlyMap<string, Work>): string[] {
  if (work.status !== "pending") return [];
  return (work.depends_on ?? work.blocked_by ?? []).filter((id) => {
    const dependency = all.get(id);
    return dependency ? isOpen(dependency) : work.blocked_by?.includes(id);
  });
}

export function columnOf(work: Work, all: ReadonlyMap<string, Work>, now: number): Column {
  if (work.status === "pending") return blockers(work, all).length || Date.parse(work.retry_at ?? "") > now ? "blocked" : "pending";
  if (work.status === "completed") return "done";
  return work.status === "failed" || work.status === "cancelled" ? "failed" : "in hand";
}

/// The board: open work as it will be taken (most urgent, then oldest), ended work newest first.
export function board(work: ReadonlyMap<string, Work>, now: number): Record<Column, Work[]> {
  const out: Record<Column, Work[]> = { pending: [], blocked: [], "in hand": [], done: [], failed: [] };
  for (const item of work.values()) out[columnOf(item, work, now)].push(item);
  const urgent = (a: Work, b: Work) => (a.priority ?? 5) - (b.priority ?? 5) || (a.created_at ?? "").localeCompare(b.created_at ?? "") || a.task_id.localeCompare(b.task_id);
  const newest = (a: Work, b: Work) => (b.completed_at ?? "").localeCompare(a.completed_at ?? "") || a.task_id.localeCompare(b.task_id);
  for (const column of columns) out[column].sort(column === "done" || column === "failed" ? newest : urgent);
  return out;
}

/// Live agents first, each agent's sessions together.
export function sessionsInOrder(sessions: ReadonlyMap<string, Session>): Session[] {
  const gone = (session: Session) => Number(session.status === "disconnected");
  const person = (session: Session) => Number(session.agent_type === "person");
  return [...sessions.values()].sort((a, b) =>
    gone(a) - gone(b) || (gone(a) ? (b.ended_at ?? "").localeCompare(a.ended_at ?? "") : 0) || person(a) - person(b)
    || a.agent_id.localeCompare(b.agent_id) || (a.started_at ?? "").localeCompare(b.started_at ?? ""));
}

export function locksInOrder(locks: ReadonlyMap<string, Lock>): Lock[] {
  return [...locks.values()].sort((a, b) => a.file_path.localeCompare(b.file_path));
}

export interface Chain {
  agent: string;
  /// Newest first.
  handoffs: Handoff[];
}

/// One chain for each agent, the one with the newest handoff first.
export function chains(handoffs: ReadonlyMap<string, Handoff>): Chain[] {
  const when = (handoff: Handoff) => handoff.created_at ?? "";
  const found = new Map<string, Handoff[]>();
  for (const handoff of [...handoffs.values()].sort((a, b) => when(b).localeCompare(when(a)) || b.id.localeCompare(a.id)))
    found.set(handoff.agent_name, [...(found.get(handoff.agent_name) ?? []), handoff]);
  return [...found].map(([agent, list]) => ({ agent, handoffs: list }));
}
