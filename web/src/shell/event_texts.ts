// Describes events of all capabilities. Pure.
import { describeApproval } from "../approvals/texts.ts";
import type { LogEvent } from "../base/event.ts";
import { safeText } from "../base/safe_text.ts";
import { describeCrew } from "../crew/texts.ts";
import { describeDefinitions } from "../definitions/texts.ts";
import { describeHandoff } from "../handoffs/texts.ts";
import { describeLock } from "../locks/texts.ts";
import { describeRun } from "../runs/texts.ts";
import { describeSession } from "../sessions/texts.ts";
import { describeTrust } from "../trust/texts.ts";
import { describeWork } from "../work/texts.ts";
import { describeLive } from "../world/texts.ts";

/// By the first word of an event's type: the function that describes it, and the field with the name of its subject.
const kinds: Record<string, { describe: (event: LogEvent) => string; subject?: string }> = {
  member: { describe: describeRun, subject: "name" },
  session: { describe: describeSession, subject: "agent_id" },
  lock: { describe: describeLock, subject: "file_path" },
  work: { describe: describeWork },
  handoff: { describe: describeHandoff, subject: "agent_name" },
  memory: { describe: describeHandoff, subject: "event_type" },
  chat: { describe: describeCrew },
  subagent: { describe: describeCrew, subject: "agent" },
  definitions: { describe: describeDefinitions },
  trust: { describe: describeTrust },
  approval: { describe: describeApproval, subject: "agent" },
  live: { describe: describeLive, subject: "name" },
};
const kindOf = (event: LogEvent) => kinds[event.type.split(".")[0] ?? ""];

/// A description of an event in one line.
export const describe = (event: LogEvent): string => (kindOf(event)?.describe ?? describeRun)(event);

/// The name of what an event is about.
export function subjectOf(event: LogEvent): string {
  const name = event.data[kindOf(event)?.subject ?? ""];
  return safeText(typeof name === "string" && name ? name : event.entity);
}
