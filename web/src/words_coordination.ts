// How coordination is said: why work waits, how long something has been held, what an event was about. Pure.
import { blockers } from "./coordination.ts";
import { safeText } from "./safe_text.ts";
import type { LogEvent } from "./wire.ts";
import type { Work } from "./wire_coordination.ts";
import { duration } from "./words.ts";

/// Many lines as one, safe to show.
export function oneLine(text: string, longest = 400): string {
  const line = safeText(text.replace(/\s+/g, " ").trim());
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}

/// "12 s ago"; empty when there is no such time.
export function ago(time: string | null | undefined, now: number): string {
  const at = Date.parse(time ?? "");
  return Number.isNaN(at) ? "" : `${duration(now - at)} ago`;
}

/// "in 4 min"; "now" when it is due and only the daemon's word is awaited.
export function ahead(time: string | null | undefined, now: number): string {
  const at = Date.parse(time ?? "");
  if (Number.isNaN(at)) return "";
  return at <= now ? "now" : `in ${duration(at - now + 999)}`;
}

/// Why a piece of work is where it is, in a sentence; empty when there is nothing to explain.
export function why(work: Work, all: ReadonlyMap<string, Work>, now: number): string {
  const error = work.error_message ? oneLine(work.error_message) : "";
  if (work.status === "pending") {
    const waits_for = blockers(work, all);
    if (waits_for.length) return `waits for ${waits_for.map((id) => `${id}${stateOf(all.get(id), all)}`).join(", ")}`;
    if (work.retry_at && Date.parse(work.retry_at) > now) return `tries again ${ahead(work.retry_at, now)}${error ? ` after: ${error}` : ""}`;
    return error ? `came back: ${error}` : "";
  }
  if (work.status === "running") return work.verify?.length ? `being verified: ${oneLine(work.verify.join(" "))}` : "";
  return work.status === "failed" || work.status === "cancelled" ? error : "";
}

function stateOf(blocker: Work | undefined, all: ReadonlyMap<string, Work>): string {
  if (!blocker) return "";
  if (blocker.status === "pending") return blockers(blocker, all).length ? " (blocked itself)" : " (nobody has it)";
  if (blocker.status === "claimed" || blocker.status === "running") return ` (${blocker.claimed_by ? `with ${blocker.claimed_by}` : blocker.status})`;
  return ` (${blocker.status})`;
}

/// Any value as text for a person: text as it is, anything else as JSON.
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/// What an event of coordination was about, in a line.
export function describeShared(event: LogEvent): string {
  const data = event.data as Record<string, unknown>;
  const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string) : "");
  const room = event.type.split(".")[0];
  const parts =
    event.type === "lock.waiting" ? [text("agent_id"), text("locked_by") && `for ${text("locked_by")}`]
    : room === "lock" ? [text("locked_by"), text("why") || text("reason")]
    : room === "work" ? [text("claimed_by"), text("error_message") || text("description")]
    : room === "session" ? [text("why") || text("status"), text("current_task")]
    : [text("agent_name") || text("agent_id"), text("summary")];
  return oneLine(parts.filter(Boolean).join(" · "), 200);
}

/// Whom or what an event is about, as a person would name it.
export function subjectOf(event: LogEvent): string {
  const data = event.data as Record<string, unknown>;
  const key = { session: "agent_id", lock: "file_path", handoff: "agent_name", memory: "event_type", subagent: "agent", live: "name" }[event.type.split(".")[0] ?? ""];
  const told = key ? data[key] : undefined;
  return safeText(typeof told === "string" && told ? told : event.entity);
}
