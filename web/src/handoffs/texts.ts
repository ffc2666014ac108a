// Texts about handoffs. Pure.
import type { LogEvent } from "../base/event.ts";
import { safeText } from "../base/safe_text.ts";
import { oneLine } from "../base/text.ts";
import type { Changeset, Handoff } from "./wire.ts";

/// A description of a handoff's event in one line.
export function describeHandoff({ data }: LogEvent): string {
  const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string) : "");
  return oneLine([text("agent_name") || text("agent_id"), text("summary")].filter(Boolean).join(" · "), 200);
}

/// Who wrote a handoff.
export function originOf(handoff: Handoff): string {
  if (handoff.kind !== "final") return "written by the agent";
  if (handoff.empty) return "written by cru when the session ended; the session did nothing";
  return handoff.carries ? "written by the agent, completed by cru when the session ended" : "written by cru when the session ended";
}

const max_digits = 12;

/// A commit's id, shortened.
export const commitName = (id: string | null): string => (!id ? "unknown" : /^0+$/.test(id) ? "no commit" : safeText(id.slice(0, max_digits)));

/// From which commit to which a session went; empty if that is unknown.
export function describeRange({ id, base, head }: Changeset): string {
  if (!id || (!base && !head)) return "";
  return base === head ? `HEAD stayed at ${commitName(head)}` : `HEAD went from ${commitName(base)} to ${commitName(head)}`;
}

export function describeFiles({ file_count }: Changeset): string {
  if (!file_count) return "No files were edited with its tools.";
  return `${file_count} ${file_count === 1 ? "file" : "files"} edited`;
}
