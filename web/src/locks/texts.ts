// Texts about locks. Pure.
import type { LogEvent } from "../base/event.ts";
import { oneLine } from "../base/text.ts";

/// A description of a lock's event in one line.
export function describeLock({ type, data }: LogEvent): string {
  const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string) : "");
  const parts = type === "lock.waiting" ? [text("agent_id"), text("locked_by") && `waiting for ${text("locked_by")}`] : [text("locked_by"), text("why") || text("reason")];
  return oneLine(parts.filter(Boolean).join(" · "), 200);
}
