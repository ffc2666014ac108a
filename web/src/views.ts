// Which view is shown, kept in the address so that a reload, a link and the back button lead to it.
import { signal } from "@preact/signals";
import type { LogEvent } from "./wire.ts";

/// In the order of the keys 1, 2, 3 …
export const views = ["runs", "board", "agents", "locks", "handoffs", "chats", "crew", "world"] as const;
export type View = (typeof views)[number];

export const view = signal<View>("runs");

export function viewIn(hash: string): View {
  const wanted = new URLSearchParams(hash.replace(/^#/, "")).get("view");
  return views.find((name) => name === wanted) ?? "runs";
}

const views_of_rooms: Record<string, View> = {
  agent: "runs", work: "board", session: "agents", lock: "locks", handoff: "handoffs", chat: "chats", subagent: "chats", definitions: "crew", live: "world",
};

/// The view that shows what an event is about; null for one that none shows.
export function viewOf(event: Pick<LogEvent, "type">): View | null {
  return views_of_rooms[event.type.split(".")[0] ?? ""] ?? null;
}

/// The view that a key leads to; null for keys that mean something else or are meant for a field.
export function viewOfKey(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">, in_field: boolean): View | null {
  if (in_field || event.ctrlKey || event.metaKey || event.altKey || !/^[1-9]$/.test(event.key)) return null;
  return views[Number(event.key) - 1] ?? null;
}

export function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export const addressOf = (name: View): string => `#view=${name}`;

/// The address of a chat, or of a subagent in it.
export const chatAddress = (chat: string, subagent = ""): string =>
  `${addressOf("chats")}&chat=${encodeURIComponent(chat)}${subagent && `&subagent=${encodeURIComponent(subagent)}`}`;
export const wordIn = (hash: string, name: "run" | "chat" | "subagent"): string | null => new URLSearchParams(hash.replace(/^#/, "")).get(name);
