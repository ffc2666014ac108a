// Texts about trust. Pure.
import type { LogEvent } from "../base/event.ts";
import { counted } from "../base/text.ts";

export function describeTrust(event: LogEvent): string {
  const count = Number(event.data.waiting ?? 0);
  if (count === 0) return "nothing waits for your trust";
  return `${counted(count, "file")} of the project ${count === 1 ? "waits" : "wait"} for your trust`;
}
