// The views that events and keys lead to. Pure.
import type { LogEvent } from "../base/event.ts";
import { views, type View } from "../base/views.ts";

/// By the first word of an event's type.
const views_of_events: Record<string, View> = {
  agent: "runs", work: "board", session: "agents", lock: "locks", handoff: "handoffs", chat: "chats", subagent: "chats", definitions: "crew", live: "world",
};

/// The view that shows what an event is about; null for one that none shows.
export function viewOf(event: Pick<LogEvent, "type">): View | null {
  return views_of_events[event.type.split(".")[0] ?? ""] ?? null;
}

/// The view that a key leads to; null for keys that mean something else or are meant for a field.
export function viewOfKey(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">, in_field: boolean): View | null {
  if (in_field || event.ctrlKey || event.metaKey || event.altKey || !/^[1-9]$/.test(event.key)) return null;
  return views[Number(event.key) - 1] ?? null;
}
