// Texts about live agents. Pure.
import type { LogEvent } from "../base/event.ts";
import { safeText } from "../base/safe_text.ts";
import { counted, duration, oneLine } from "../base/text.ts";
import type { Activity, AgentRow, Recipients } from "./state.ts";
import type { Tile } from "./wire.ts";

export const tileText = ({ x, y }: Tile): string => `${Math.round(x)},${Math.round(y)}`;

/// "at 4,7", "going to 4,7", "no position". `now` is the daemon's time.
export function positionText(agent: AgentRow, now: number): string {
  const end = agent.walk?.path.at(-1);
  if (agent.walk && end && now < agent.walk.t0_ms + ((agent.walk.path.length - 1) / agent.walk.speed) * 1000) return `going to ${tileText(end)}`;
  return agent.position ? `at ${tileText(agent.position)}` : "no position";
}

/// For how long an agent has been in its state; `now` is the daemon's time.
export function sinceText(agent: AgentRow, now: number): string {
  const from = Date.parse(agent.since ?? agent.created_at ?? "");
  return Number.isNaN(from) ? "" : duration(now - from);
}

export const behind = (agent: AgentRow): string => (agent.lag ? `${counted(agent.lag, "event")} behind` : "");

/// The problem of an agent in one line; empty if there is none.
export const errorOf = (agent: AgentRow): string => oneLine([agent.error, agent.stuck && `stuck: ${agent.stuck}`].filter(Boolean).join("; "), 200);

/// Parses the coordinates of a tile: "4,7", "4 7", "(4, 7)". Null if they are invalid.
export function parseTile(text: string): Tile | null {
  const found = /^\s*\(?\s*(\d{1,2})\s*[,; ]\s*(\d{1,2})\s*\)?\s*$/.exec(text);
  return found ? { x: Number(found[1]), y: Number(found[2]) } : null;
}

/// The text of an activity after the name of its agent.
export function activityText(activity: Activity): string {
  const what = oneLine(activity.text, 600);
  switch (activity.kind) {
    case "said": return what;
    case "sent": return `broadcast: ${what}`;
    case "task": return `was assigned a task: ${what}`;
    case "done": return what.startsWith("failed: ") ? `failed a task: ${what.slice(8)}` : `completed a task: ${what}`;
    case "held": return `postponed ${what}`;
    case "stuck": return `is stuck: ${what}`;
    case "joined": return what ? `joined (${what})` : "joined";
    case "left": return what && what !== "terminated" ? `left: ${what}` : "left";
  }
}

const max_named = 3;

/// "to ada", "to ada, bob and 4 others", "to nobody": the recipients of a message.
export function recipientsText({ names, count }: Recipients): string {
  if (!count) return "to nobody";
  if (!names.length) return `to ${counted(count, "agent")}`;
  const rest = count - names.length;
  if (rest) return `to ${names.join(", ")} and ${counted(rest, "other")}`;
  return `to ${names.length > 1 ? `${names.slice(0, -1).join(", ")} and ` : ""}${names.at(-1)}`;
}

/// "acknowledged by ada; delivered to bob"
export function receiptsText(receipts: Activity["receipts"]): string {
  const by = new Map<string, string[]>();
  for (const { name, status } of Object.values(receipts ?? {})) by.set(status, [...(by.get(status) ?? []), name]);
  return [...by].map(([status, names]) => `${safeText(status)} ${status === "acknowledged" ? "by" : "to"} ${names.slice(0, max_named).join(", ")}${names.length > max_named ? ` and ${names.length - max_named} more` : ""}`).join("; ");
}

/// The last part of a field's path: "name" for "agent_config.name".
export const fieldOf = (path: string): string => path.replace(/\[\d+\]/g, "").split(".").at(-1) ?? "";

/// A description of an event about live agents in one line.
export function describeLive({ data }: LogEvent): string {
  const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string) : "");
  const agent = data.agent as { name?: string; role?: string } | undefined;
  return oneLine(text("content") || text("message") || text("text") || text("topic") || [text("task_name"), text("result") || text("status")].filter(Boolean).join(": ") || text("reason") || [agent?.name, agent?.role].filter(Boolean).join(", "), 200);
}
