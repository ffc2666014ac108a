// How events change the locks. Pure.
import type { LogEvent } from "../base/event.ts";
import type { Lock } from "./wire.ts";

export const isLockEvent = (event: LogEvent): boolean => event.type.startsWith("lock.");

export function applyLocks(before: ReadonlyMap<string, Lock>, events: readonly LogEvent[]): ReadonlyMap<string, Lock> {
  const locks = new Map(before);
  for (const event of events) if (isLockEvent(event)) applyOne(locks, event);
  return locks;
}

function applyOne(locks: Map<string, Lock>, event: LogEvent): void {
  const what = event.type.split(".")[1];
  if (what === "waiting") return;  // may name another path than the lock's; the list contains the number of waiters
  const data = event.data as Partial<Lock>;
  const path = String(data.file_path ?? event.entity);
  const known = locks.get(path);
  if (what === "released" || what === "expired") {
    // A repeated event about an earlier holder does not end the present lock.
    if (known?.fencing_token && data.fencing_token && data.fencing_token < known.fencing_token) return;
    locks.delete(path);
    return;
  }
  if (known || data.locked_by) locks.set(path, { locked_by: "", ...known, ...data, file_path: path });
}

export function locksInOrder(locks: ReadonlyMap<string, Lock>): Lock[] {
  return [...locks.values()].sort((a, b) => a.file_path.localeCompare(b.file_path));
}
