// Texts about handoffs. Pure.
import type { LogEvent } from "../base/event.ts";
import { oneLine } from "../base/text.ts";

/// A description of a handoff's event in one line.
export function describeHandoff({ data }: LogEvent): string {
  const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string) : "");
  return oneLine([text("agent_name") || text("agent_id"), text("summary")].filter(Boolean).join(" · "), 200);
}
