// How events change the handoffs. Pure.
import type { LogEvent } from "../base/event.ts";
import { forgetOldest } from "../base/live_list.ts";
import type { Handoff } from "./wire.ts";

const max_handoffs = 200;

export const isHandoffEvent = (event: LogEvent): boolean => event.type.startsWith("handoff.");

/// The id of the handoff in an event; empty if there is none. The event contains only the beginning of the summary.
export const handoffIdIn = (event: LogEvent): string => (event.type === "handoff.written" ? String(event.data.id ?? event.data.handoff_id ?? "") : "");

export function applyHandoffs(before: ReadonlyMap<string, Handoff>, events: readonly LogEvent[]): ReadonlyMap<string, Handoff> {
  const handoffs = new Map(before);
  for (const event of events) {
    const id = handoffIdIn(event);
    if (id) handoffs.set(id, { agent_name: "", summary: "", created_at: event.timestamp, ...(event.data as Partial<Handoff>), ...handoffs.get(id), id });
  }
  forgetOldest(handoffs, max_handoffs, () => true, (handoff) => handoff.created_at ?? "");
  return handoffs;
}

export interface Chain {
  agent: string;
  /// Newest first.
  handoffs: Handoff[];
}

/// The handoffs by agent, the agent with the newest handoff first.
export function chainsOf(handoffs: ReadonlyMap<string, Handoff>): Chain[] {
  const when = (handoff: Handoff) => handoff.created_at ?? "";
  const found = new Map<string, Handoff[]>();
  for (const handoff of [...handoffs.values()].sort((a, b) => when(b).localeCompare(when(a)) || b.id.localeCompare(a.id)))
    found.set(handoff.agent_name, [...(found.get(handoff.agent_name) ?? []), handoff]);
  return [...found].map(([agent, list]) => ({ agent, handoffs: list }));
}

/// The newest handoff of a chain that is not empty, or else the newest; and all others, newest first.
export function newestOf({ handoffs }: Chain): { shown: Handoff | undefined; others: Handoff[] } {
  const shown = handoffs.find(({ empty }) => !empty) ?? handoffs[0];
  return { shown, others: handoffs.filter((handoff) => handoff !== shown) };
}
