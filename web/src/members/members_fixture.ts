// A member, as the daemon would send it.
import type { Member } from "./wire.ts";

export const member = (id: string, more: Partial<Member> = {}): Member => ({
  id, name: id, kind: "claude", badge: "idle", since: "2026-11-17T12:00:00.000Z", facets: { run: null, session: null, thread: null, body: null }, ...more,
});
