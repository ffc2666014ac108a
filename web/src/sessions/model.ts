// Signals for sessions.
import { computed } from "@preact/signals";
import { get } from "../base/api.ts";
import { LiveList } from "../base/live_list.ts";
import { applySessions, concernsSessions, sessionsInOrder } from "./state.ts";
import type { Session } from "./wire.ts";

export const session_list = new LiveList<Session>({
  read: async () => {
    const [gone, live] = await Promise.all(["/sessions?status=disconnected", "/sessions"].map((path) => get<{ agents: Session[] }>(path)));
    return [...gone!.agents, ...live!.agents];
  },
  idOf: (session) => session.session_id,
  concerns: concernsSessions,
  apply: applySessions,
});
export const sessions = computed(() => sessionsInOrder(session_list.items.value));
export const connected_sessions = computed(() => sessions.value.filter((session) => session.status !== "disconnected").length);

const read_every_ms = 10_000;
let read_at = 0;

/// Events do not report heartbeats. While the view is visible, the list is read again whenever the daemon sends something,
/// not periodically.
export function keepSessionsFresh(): void {
  if (!session_list.loaded.peek() || Date.now() - read_at <= read_every_ms) return;
  read_at = Date.now();
  void session_list.read();
}
