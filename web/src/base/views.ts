// The current view. It is part of the address, so that reloads, links and the back button work.
import { signal } from "@preact/signals";

/// In the order of their keyboard shortcuts 1, 2, 3 …
export const views = ["crew", "board", "locks", "handoffs", "world", "definitions"] as const;
export type View = (typeof views)[number];

export const view = signal<View>("crew");

/// A parameter of the address after `#`.
export const parameterIn = (hash: string, name: "view" | "member" | "tab" | "run" | "thread" | "approval" | "question"): string | null => new URLSearchParams(hash.replace(/^#/, "")).get(name);

export function viewIn(hash: string): View {
  const requested = parameterIn(hash, "view");
  return views.find((name) => name === requested) ?? "crew";
}

export const addressOf = (name: View): string => `#view=${name}`;
