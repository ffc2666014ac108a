// Which view is shown, kept in the address so that a reload, a link and the back button lead to it.
import { signal } from "@preact/signals";

/// In the order of the keys 1, 2, 3 …
export const views = ["runs", "board", "agents", "locks", "handoffs", "chats", "crew", "world"] as const;
export type View = (typeof views)[number];

export const view = signal<View>("runs");

export const wordIn = (hash: string, name: "view" | "run" | "chat" | "subagent"): string | null => new URLSearchParams(hash.replace(/^#/, "")).get(name);

export function viewIn(hash: string): View {
  const wanted = wordIn(hash, "view");
  return views.find((name) => name === wanted) ?? "runs";
}

export const addressOf = (name: View): string => `#view=${name}`;
