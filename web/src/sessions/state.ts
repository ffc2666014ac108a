// How events change the sessions. Pure.
import type { LogEvent } from "../base/event.ts";
import type { Session } from "./wire.ts";

/// A session that takes a lock, claims work or writes a handoff is alive.
const isSignOfLife = (event: LogEvent): boolean => /^(lock\.(acquired|refreshed)|work\.claimed|handoff\.written)$/.test(event.type);

export const concernsSessions = (event: LogEvent): boolean => event.type.startsWith("session.") || isSignOfLife(event);

export function applySessions(before: ReadonlyMap<string, Session>, events: readonly LogEvent[]): ReadonlyMap<string, Session> {
  const sessions = new Map(before);
  for (const event of events) {
    if (event.type.startsWith("session.")) applyOne(sessions, event);
    else if (isSignOfLife(event)) recordSignOfLife(sessions, event);
  }
  return sessions;
}

function applyOne(sessions: Map<string, Session>, event: LogEvent): void {
  const data = event.data as Partial<Session>;
  const id = String(data.session_id ?? event.entity);
  if (event.type === "session.ended" || event.type === "session.disconnected") sessions.delete(id);
  else if (id) sessions.set(id, { agent_id: "", last_heartbeat: event.timestamp, started_at: event.timestamp, ...sessions.get(id), ...data, session_id: id });
}

function recordSignOfLife(sessions: Map<string, Session>, event: LogEvent): void {
  const data = event.data as { session_id?: string; claimed_by_session?: string; kind?: string };
  if (data.kind === "final") return;  // written by the daemon after the session ended
  const known = sessions.get(data.claimed_by_session ?? data.session_id ?? "");
  if (known && event.timestamp > (known.last_heartbeat ?? ""))
    sessions.set(known.session_id, { ...known, last_heartbeat: event.timestamp });
}
