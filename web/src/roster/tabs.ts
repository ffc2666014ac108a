// Which tabs a member has. Pure.
import type { Member } from "../members/wire.ts";

export type Tab = "output" | "thread" | "session" | "handoffs" | "body" | "trace";

export const tab_names: Record<Tab, string> = { output: "Output", thread: "Thread", session: "Locks and work", handoffs: "Handoffs and changes", body: "Body", trace: "Trace" };

/// One tab for each facet that the member has, and one for its handoffs. A mind's program comes after what it speaks for.
export function tabsOf({ facets }: Pick<Member, "facets">, has_handoffs: boolean): Tab[] {
  const tabs: Tab[] = [];
  if (facets.thread) tabs.push("thread");
  if (facets.body) tabs.push("body");
  if (facets.run) tabs.push("output");
  if (facets.thread || facets.run || facets.body) tabs.push("trace");
  if (facets.session) tabs.push("session");
  if (facets.session || has_handoffs) tabs.push("handoffs");
  return tabs;
}

/// The requested tab if the member has it, else its first.
export const shownTab = (tabs: readonly Tab[], requested: string | null): Tab | undefined => tabs.find((tab) => tab === requested) ?? tabs[0];
