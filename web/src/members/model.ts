// Signals for the members: everybody who is here, and who ended recently, each with the daemon's badge.
import { batch, computed, signal } from "@preact/signals";
import { get } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { reader } from "../base/reader.ts";
import { view } from "../base/views.ts";
import { concernsMembers, findMember, isEnded, type Target } from "./state.ts";
import type { Member } from "./wire.ts";

interface CrewReply {
  crew: Member[];
  more: boolean;
}

export const max_members = 1000;  // the daemon lists no more
const ended_at_first = 200;

export const present = signal<Member[]>([]);
export const ended = signal<Member[]>([]);
export const members = computed(() => [...present.value, ...ended.value]);
/// There are more than `present` or `ended` contains.
export const has_more = signal({ present: false, ended: false });
export const members_loaded = signal(false);
export const members_error = signal("");

let ended_limit = ended_at_first;

export const memberWith = (target: Target): Member | undefined => findMember(members.value, target);

const min_pause_ms = 500;
const max_pause_ms = 3000;
let pause_ms = min_pause_ms;

export const readMembers = reader(members_error, async () => {
  const began = performance.now();
  const [here, all] = await Promise.all([get<CrewReply>(`/crew?limit=${max_members}`), get<CrewReply>(`/crew?all=true&limit=${ended_limit}`)]);
  const gone = all.crew.filter(isEnded);
  const gone_ids = new Set(gone.map(({ id }) => id));
  batch(() => {
    // Somebody who ended between the two replies is in both.
    present.value = here.crew.filter(({ id }) => !gone_ids.has(id));
    ended.value = gone;
    has_more.value = { present: here.more, ended: all.more };
    members_loaded.value = true;
  });
  // A large crew is read less often, so that the daemon spends little of its time on it.
  pause_ms = Math.min(max_pause_ms, Math.max(min_pause_ms, 20 * (performance.now() - began)));
});

/// Reads as many ended members as the daemon lists. Returns false if that was done before.
export function readAllEnded(): boolean {
  if (ended_limit === max_members) return false;
  ended_limit = max_members;
  void readMembers();
  return true;
}

let is_due = false;

/// A badge depends on events of many kinds. After one of them, the list is read again, once for all that arrive within a
/// short time.
export function applyMemberEvents(events: readonly LogEvent[]): void {
  if (is_due || (!members_loaded.peek() && !members_error.peek())) return;
  const are_bodies_visible = view.peek() === "crew" || view.peek() === "world";
  if (!events.some((event) => concernsMembers(event, are_bodies_visible))) return;
  is_due = true;
  setTimeout(() => {
    is_due = false;
    void readMembers();
  }, pause_ms);
}
