// How work is said: why it waits, what an event was about. Pure.
import type { LogEvent } from "../base/event.ts";
import { ahead, oneLine } from "../base/text.ts";
import { blockers } from "./state.ts";
import type { Work } from "./wire.ts";

/// Why a piece of work is where it is, in a sentence; empty when there is nothing to explain.
export function why(work: Work, all: ReadonlyMap<string, Work>, now: number): string {
  const error = work.error_message ? oneLine(work.error_message) : "";
  if (work.status === "pending") {
    const waits_for = blockers(work, all);
    if (waits_for.length) return `waiting for ${waits_for.map((id) => `${id}${stateOf(all.get(id), all)}`).join(", ")}`;
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

/// What an event of work was about, in a line.
export function describeWork({ data }: LogEvent): string {
  const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string) : "");
  return oneLine([text("claimed_by"), text("error_message") || text("description")].filter(Boolean).join(" · "), 200);
}
