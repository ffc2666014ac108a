// How locks are said. Pure.
import type { LogEvent } from "../base/event.ts";
import { oneLine } from "../base/text.ts";

/// What an event of a lock was about, in a line.
export function describeLock({ type, data }: LogEvent): string {
  const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string) : "");
  const parts = type === "lock.waiting" ? [text("agent_id"), text("locked_by") && `waiting for ${text("locked_by")}`] : [text("locked_by"), text("why") || text("reason")];
  return oneLine(parts.filter(Boolean).join(" · "), 200);
}
