// Maps events and keys to views and members. Pure.
import type { LogEvent } from "../base/event.ts";
import { views, type View } from "../base/views.ts";
import type { Target } from "../members/state.ts";

/// By the first word of an event's type: the view of its subject. Other subjects are members.
const views_of_events: Record<string, View> = { work: "board", lock: "locks", handoff: "handoffs", definitions: "definitions", live: "world" };

/// Where the subject of an event is shown: in a view of its own, or as a member of the crew.
export function placeOf({ type, entity, data }: Pick<LogEvent, "type" | "entity" | "data">): View | Target {
  const kind = type.split(".")[0] ?? "";
  if (views_of_events[kind]) return views_of_events[kind];
  if (kind === "member" || kind === "session") return { by: kind, id: entity };
  if (kind === "chat" || kind === "subagent") return { by: "thread", id: typeof data.task_id === "string" && data.task_id ? data.task_id : entity };
  return typeof data.member === "string" && data.member ? { by: "member", id: data.member } : { by: "run", id: entity };
}

/// The view for a keyboard shortcut; null for other keys, and for keys typed into a field.
export function viewOfKey(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">, in_field: boolean): View | null {
  if (in_field || event.ctrlKey || event.metaKey || event.altKey || !/^[1-9]$/.test(event.key)) return null;
  return views[Number(event.key) - 1] ?? null;
}

/// Whom an address names; null if nobody.
export function targetIn(parameter: (name: "member" | "run" | "thread") => string | null): Target | null {
  for (const by of ["member", "run", "thread"] as const) {
    const id = parameter(by);
    if (id) return { by, id };
  }
  return null;
}
