// Texts about sessions. Pure.
import type { LogEvent } from "../base/event.ts";
import { oneLine } from "../base/text.ts";

/// A description of a session's event in one line.
export function describeSession({ data }: LogEvent): string {
  const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string) : "");
  return oneLine([text("why") || text("status"), text("current_task")].filter(Boolean).join(" · "), 200);
}
