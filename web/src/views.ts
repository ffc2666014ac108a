// Which view is shown, kept in the address so that a reload, a link and the back button lead to it.
import { signal } from "@preact/signals";
import type { LogEvent } from "./wire.ts";

/// In the order of the keys 1, 2, 3 …
export const views = ["runs", "board", "agents", "locks", "handoffs"] as const;
export type View = (typeof views)[number];

export const view = signal<View>("runs");

export function viewIn(hash: string): View {
  const wanted = new URLSearchParams(hash.replace(/^#/, "")).get("view");
  return views.find((name) => name === wanted) ?? "runs";
}

/// The view that shows what an event is about; null for one that none shows.
export function viewOf(event: Pick<LogEvent, "type">): View | null {
  const room = event.type.split(".")[0];
  return room === "work" ? "board" : room === "lock" ? "locks" : room === "session" ? "agents" : room === "handoff" ? "handoffs" : room === "agent" ? "runs" : null;
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
