// Signals for locks.
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

const batch_ms = 250;
let is_due = false;

/// Events do not report how many agents wait for a lock. While the view is visible, the list is read again whenever the
/// daemon sends something, not periodically.
export function keepLocksFresh(events: readonly LogEvent[]): void {
  if (is_due || !lock_list.loaded.peek() || !events.some((event) => isLockEvent(event) || event.type === "heartbeat")) return;
  is_due = true;
  setTimeout(() => {
    is_due = false;
    void lock_list.read();
  }, batch_ms);
}
