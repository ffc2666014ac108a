// How live agents are said. Pure.
import type { LogEvent } from "../base/event.ts";
import { safeText } from "../base/safe_text.ts";
import { duration, oneLine } from "../base/text.ts";
import type { AgentRow, Hearers, Note } from "./state.ts";
import type { Tile } from "./wire.ts";

export const tileText = ({ x, y }: Tile): string => `${Math.round(x)},${Math.round(y)}`;

/// "at 4,7", "going to 4,7", "no position". `now` is the daemon's.
export function placeText(agent: AgentRow, now: number): string {
  const end = agent.walk?.path.at(-1);
  if (agent.walk && end && now < agent.walk.t0_ms + ((agent.walk.path.length - 1) / agent.walk.speed) * 1000) return `going to ${tileText(end)}`;
  return agent.position ? `at ${tileText(agent.position)}` : "no position";
}

/// How long it has been in its state; `now` is the daemon's.
export function sinceText(agent: AgentRow, now: number): string {
  const from = Date.parse(agent.since ?? agent.created_at ?? "");
  return Number.isNaN(from) ? "" : duration(now - from);
}

export const behind = (agent: AgentRow): string => (agent.lag ? `${agent.lag} ${agent.lag === 1 ? "event" : "events"} behind` : "");

/// What is wrong with it, in a line; empty if nothing is.
export const troubleOf = (agent: AgentRow): string => oneLine([agent.error, agent.stuck && `stuck: ${agent.stuck}`].filter(Boolean).join("; "), 200);

/// A place that somebody typed: "4,7", "4 7", "(4, 7)". Null if it is none.
export function readPlace(text: string): Tile | null {
  const found = /^\s*\(?\s*(\d{1,2})\s*[,; ]\s*(\d{1,2})\s*\)?\s*$/.exec(text);
  return found ? { x: Number(found[1]), y: Number(found[2]) } : null;
}

/// What a note says after its owner's name.
export function noteText(note: Note): string {
  const what = oneLine(note.text, 600);
  switch (note.kind) {
    case "said": return what;
    case "sent": return `broadcast: ${what}`;
    case "task": return `was assigned a task: ${what}`;
    case "done": return what.startsWith("failed: ") ? `failed a task: ${what.slice(8)}` : `completed a task: ${what}`;
    case "held": return `postponed ${what}`;
    case "stuck": return `is stuck: ${what}`;
    case "came": return what ? `joined (${what})` : "joined";
    case "left": return what && what !== "terminated" ? `left: ${what}` : "left";
  }
}

const most_named = 3;

/// "to ada", "to ada, bob and 4 others", "to nobody": whom it was said to.
export function hearersText({ names, count }: Hearers): string {
  if (!count) return "to nobody";
  if (!names.length) return `to ${count} ${count === 1 ? "agent" : "agents"}`;
  const rest = count - names.length;
  if (rest) return `to ${names.join(", ")} and ${rest} ${rest === 1 ? "other" : "others"}`;
  return `to ${names.length > 1 ? `${names.slice(0, -1).join(", ")} and ` : ""}${names.at(-1)}`;
}

/// "acknowledged by ada; delivered to bob"
export function receiptsText(receipts: Note["receipts"]): string {
  const by = new Map<string, string[]>();
  for (const { name, status } of Object.values(receipts ?? {})) by.set(status, [...(by.get(status) ?? []), name]);
  return [...by].map(([status, names]) => `${safeText(status)} ${status === "acknowledged" ? "by" : "to"} ${names.slice(0, most_named).join(", ")}${names.length > most_named ? ` and ${names.length - most_named} more` : ""}`).join("; ");
}

/// The last part of a field's name: the form's own ("agent_config.name" is "name").
export const fieldOf = (path: string): string => path.replace(/\[\d+\]/g, "").split(".").at(-1) ?? "";

/// What an event of the live agents was about, in a line.
export function describeLive({ data }: LogEvent): string {
  const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string) : "");
  const agent = data.agent as { name?: string; role?: string } | undefined;
  return oneLine(text("content") || text("message") || [text("task_name"), text("result") || text("status")].filter(Boolean).join(": ") || text("reason") || [agent?.name, agent?.role].filter(Boolean).join(", "), 200);
}
