// Signals for the roster: everybody who is there.
import { computed, signal } from "@preact/signals";
import { get } from "../base/api.ts";
import { reader } from "../base/reader.ts";
import type { Member } from "./wire.ts";

export const members = signal<Member[]>([]);
/// There are more than the daemon lists.
export const has_more = signal(false);
export const roster_loaded = signal(false);
export const roster_error = signal("");
export const people_needed = computed(() => members.value.filter((member) => member.badge === "needs you").length);

export const readRoster = reader(roster_error, async () => {
  const reply = await get<{ crew: Member[]; more: boolean }>("/crew");
  members.value = reply.crew;
  has_more.value = reply.more;
  roster_loaded.value = true;
});

const read_every_ms = 1000;
let is_due = false;

/// What everybody is doing depends on all kinds of events. While the view is visible, the list is read again after the
/// daemon has sent something, not periodically.
export function keepRosterFresh(): void {
  if (is_due || !roster_loaded.peek()) return;
  is_due = true;
  setTimeout(() => {
    is_due = false;
    void readRoster();
  }, read_every_ms);
}
