// The locks that are held, as the page shows them.
import { computed } from "@preact/signals";
import { get } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { LiveList } from "../base/live_list.ts";
import { applyLocks, isLockEvent, locksInOrder } from "./state.ts";
import type { Lock } from "./wire.ts";

export const lock_list = new LiveList<Lock>({
  read: async () => (await get<{ result: Lock[] }>("/locks")).result,
  idOf: (lock) => lock.file_path,
  concerns: isLockEvent,
  apply: applyLocks,
});
export const locks = computed(() => locksInOrder(lock_list.items.value));

const gathered_ms = 250;
let is_due = false;

/// Who waits for a lock is no event of its own. While somebody looks it is read again when the daemon says something,
/// never by a clock.
export function keepLocksFresh(events: readonly LogEvent[]): void {
  if (is_due || !lock_list.loaded.peek() || !events.some((event) => isLockEvent(event) || event.type === "heartbeat")) return;
  is_due = true;
  setTimeout(() => {
    is_due = false;
    void lock_list.read();
  }, gathered_ms);
}
