// Texts about work items: why they wait, what an event is about. Pure.
import type { LogEvent } from "../base/event.ts";
import { ahead, oneLine } from "../base/text.ts";
import { blockers } from "./state.ts";
import type { Work } from "./wire.ts";

/// Why an item is in its column; empty if there is nothing to explain.
export function explanationOf(work: Work, all: ReadonlyMap<string, Work>, now: number): string {
  const error = work.error_message ? oneLine(work.error_message) : "";
  if (work.status === "pending") {
    const blocking = blockers(work, all);
    if (blocking.length) return `waiting for ${blocking.map((id) => `${id}${stateOf(all.get(id), all)}`).join(", ")}`;
    if (work.retry_at && Date.parse(work.retry_at) > now) return `retrying ${ahead(work.retry_at, now)}${error ? ` after: ${error}` : ""}`;
    return error ? `returned to the queue: ${error}` : "";
  }
  if (work.status === "running") return work.verify?.length ? `verifying: ${oneLine(work.verify.join(" "))}` : "";
  return work.status === "failed" || work.status === "cancelled" ? error : "";
}

function stateOf(blocker: Work | undefined, all: ReadonlyMap<string, Work>): string {
  if (!blocker) return "";
  if (blocker.status === "pending") return blockers(blocker, all).length ? " (also blocked)" : " (not claimed yet)";
  if (blocker.status === "claimed" || blocker.status === "running") return ` (${blocker.claimed_by ? `claimed by ${blocker.claimed_by}` : blocker.status})`;
  return ` (${blocker.status})`;
}

/// A description of a work item's event in one line.
export function describeWork({ data }: LogEvent): string {
  const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string) : "");
  return oneLine([text("claimed_by"), text("error_message") || text("description")].filter(Boolean).join(" · "), 200);
}
