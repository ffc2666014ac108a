// Signals for sessions.
import { get } from "../base/api.ts";
import { LiveList } from "../base/live_list.ts";
import { applySessions, concernsSessions } from "./state.ts";
import type { Session } from "./wire.ts";

export const session_list = new LiveList<Session>({
  read: async () => (await get<{ agents: Session[] }>("/sessions")).agents,
  idOf: (session) => session.session_id,
  concerns: concernsSessions,
  apply: applySessions,
});

const read_every_ms = 10_000;
let read_at = 0;

/// Events do not report heartbeats. While sessions are visible, the list is read again whenever the daemon sends something,
/// not periodically.
export function keepSessionsFresh(): void {
  if (!session_list.loaded.peek() || Date.now() - read_at <= read_every_ms) return;
  read_at = Date.now();
  void session_list.read();
}
