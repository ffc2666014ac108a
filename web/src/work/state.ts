// How events change the work items, and in which column of the board they are. Pure.
import type { LogEvent } from "../base/event.ts";
import { forgetOldest } from "../base/live_list.ts";
import type { Work, WorkStatus } from "./wire.ts";

const max_closed = 300;

export const isWorkEvent = (event: LogEvent): boolean => event.type.startsWith("work.");
export const isOpen = (work: Work): boolean => work.status === "pending" || work.status === "claimed" || work.status === "running";

const statuses: Record<string, WorkStatus> = {
  submitted: "pending", claimed: "claimed", verifying: "running", completed: "completed", failed: "failed",
  requeued: "pending", unblocked: "pending", cancelled: "cancelled",
};

export function applyWork(before: ReadonlyMap<string, Work>, events: readonly LogEvent[]): ReadonlyMap<string, Work> {
  const work = new Map(before);
  for (const event of events) if (isWorkEvent(event)) applyOne(work, event);
  forgetOldest(work, max_closed, (item) => !isOpen(item), (item) => item.completed_at ?? item.created_at ?? "");
  return work;
}

function applyOne(work: Map<string, Work>, event: LogEvent): void {
  const what = event.type.split(".")[1] ?? "";
  const data = event.data as Partial<Work>;
  const id = String(data.task_id ?? event.entity);
  if (!id) return;
  if (what === "purged") {
    work.delete(id);
    return;
  }
  const known = work.get(id);
  const status = data.status ?? statuses[what] ?? known?.status ?? "pending";
  const after: Work = { created_at: event.timestamp, ...known, ...data, task_id: id, status };
  if (what === "unblocked" && !data.blocked_by) after.blocked_by = [];
  work.set(id, after);
}

// ---- the board

export type Column = "pending" | "blocked" | "in progress" | "done" | "failed";
export const columns: readonly Column[] = ["pending", "blocked", "in progress", "done", "failed"];

/// The ids that an item waits for. Events do not contain them, so they follow from the status of its dependencies, or from
/// the last list for dependencies that are no longer on the board.
export function blockers(work: Work, all: ReadonlyMap<string, Work>): string[] {
  if (work.status !== "pending") return [];
  return (work.depends_on ?? work.blocked_by ?? []).filter((id) => {
    const dependency = all.get(id);
    return dependency ? isOpen(dependency) : work.blocked_by?.includes(id);
  });
}

export function columnOf(work: Work, all: ReadonlyMap<string, Work>, now: number): Column {
  if (work.status === "pending") return blockers(work, all).length || Date.parse(work.retry_at ?? "") > now ? "blocked" : "pending";
  if (work.status === "completed") return "done";
  return work.status === "failed" || work.status === "cancelled" ? "failed" : "in progress";
}

/// The board: open items in the order in which they will be claimed (priority, then age), closed items newest first.
export function board(work: ReadonlyMap<string, Work>, now: number): Record<Column, Work[]> {
  const out: Record<Column, Work[]> = { pending: [], blocked: [], "in progress": [], done: [], failed: [] };
  for (const item of work.values()) out[columnOf(item, work, now)].push(item);
  const urgent = (a: Work, b: Work) => (a.priority ?? 5) - (b.priority ?? 5) || (a.created_at ?? "").localeCompare(b.created_at ?? "") || a.task_id.localeCompare(b.task_id);
  const newest = (a: Work, b: Work) => (b.completed_at ?? "").localeCompare(a.completed_at ?? "") || a.task_id.localeCompare(b.task_id);
  for (const column of columns) out[column].sort(column === "done" || column === "failed" ? newest : urgent);
  return out;
}
