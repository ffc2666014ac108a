// How events change the sessions. Pure.
import type { LogEvent } from "../base/event.ts";
import { forgetOldest } from "../base/live_list.ts";
import type { Session } from "./wire.ts";

const max_disconnected = 100;

/// A session that takes a lock, claims work or writes a handoff is alive.
const isSignOfLife = (event: LogEvent): boolean => /^(lock\.(acquired|refreshed)|work\.claimed|handoff\.written)$/.test(event.type);

export const concernsSessions = (event: LogEvent): boolean => event.type.startsWith("session.") || isSignOfLife(event);

export function applySessions(before: ReadonlyMap<string, Session>, events: readonly LogEvent[]): ReadonlyMap<string, Session> {
  const sessions = new Map(before);
  for (const event of events) {
    if (event.type.startsWith("session.")) applyOne(sessions, event);
    else if (isSignOfLife(event)) recordSignOfLife(sessions, event);
  }
  forgetOldest(sessions, max_disconnected, (session) => session.status === "disconnected", (session) => session.ended_at ?? session.last_heartbeat ?? "");
  return sessions;
}

function applyOne(sessions: Map<string, Session>, event: LogEvent): void {
  const data = event.data as Partial<Session>;
  const id = String(data.session_id ?? event.entity);
  if (!id) return;
  const known = sessions.get(id);
  const gone = event.type === "session.ended" || event.type === "session.disconnected";
  const status = gone ? "disconnected" : data.status ?? known?.status ?? "active";
  const after: Session = { agent_id: "", last_heartbeat: event.timestamp, started_at: event.timestamp, ...known, ...data, session_id: id, status };
  if (gone) after.ended_at = data.ended_at ?? event.timestamp;
  else after.ended_at = null;
  sessions.set(id, after);
}

function recordSignOfLife(sessions: Map<string, Session>, event: LogEvent): void {
  const data = event.data as { session_id?: string; claimed_by_session?: string; kind?: string };
  if (data.kind === "final") return;  // written by the daemon after the session ended
  const known = sessions.get(data.claimed_by_session ?? data.session_id ?? "");
  if (known && known.status !== "disconnected" && event.timestamp > (known.last_heartbeat ?? ""))
    sessions.set(known.session_id, { ...known, last_heartbeat: event.timestamp });
}

/// Connected sessions first, people after agents, sessions of one agent together.
export function sessionsInOrder(sessions: ReadonlyMap<string, Session>): Session[] {
  const gone = (session: Session) => Number(session.status === "disconnected");
  const person = (session: Session) => Number(session.agent_type === "person");
  return [...sessions.values()].sort((a, b) =>
    gone(a) - gone(b) || (gone(a) ? (b.ended_at ?? "").localeCompare(a.ended_at ?? "") : 0) || person(a) - person(b)
    || a.agent_id.localeCompare(b.agent_id) || (a.started_at ?? "").localeCompare(b.started_at ?? ""));
}
