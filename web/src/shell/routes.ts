// Maps events and keys to views. Pure.
import type { LogEvent } from "../base/event.ts";
import { views, type View } from "../base/views.ts";

/// By the first word of an event's type.
const views_of_events: Record<string, View> = {
  agent: "runs", work: "board", session: "agents", lock: "locks", handoff: "handoffs", chat: "chats", subagent: "chats", definitions: "crew", live: "world", member: "everybody",
};

/// The view that shows the subject of an event; null if there is none.
export function viewOf(event: Pick<LogEvent, "type">): View | null {
  return views_of_events[event.type.split(".")[0] ?? ""] ?? null;
}

/// The view for a keyboard shortcut; null for other keys, and for keys typed into a field.
export function viewOfKey(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">, in_field: boolean): View | null {
  if (in_field || event.ctrlKey || event.metaKey || event.altKey || !/^[1-9]$/.test(event.key)) return null;
  return views[Number(event.key) - 1] ?? null;
}
