// How each event changes the handoffs that the page knows of. Pure.
import type { LogEvent } from "../base/event.ts";
import { forgetOldest } from "../base/live_list.ts";
import type { Handoff } from "./wire.ts";

const kept_handoffs = 200;

export const isHandoffEvent = (event: LogEvent): boolean => event.type.startsWith("handoff.");

/// The event is only the beginning of a handoff: its summary, cut short. The rest is read by this id.
export const handoffIn = (event: LogEvent): string => (event.type === "handoff.written" ? String(event.data.id ?? event.data.handoff_id ?? "") : "");

export function applyHandoffs(before: ReadonlyMap<string, Handoff>, events: readonly LogEvent[]): ReadonlyMap<string, Handoff> {
  const handoffs = new Map(before);
  for (const event of events) {
    const id = handoffIn(event);
    if (id) handoffs.set(id, { agent_name: "", summary: "", created_at: event.timestamp, ...(event.data as Partial<Handoff>), ...handoffs.get(id), id });
  }
  forgetOldest(handoffs, kept_handoffs, () => true, (handoff) => handoff.created_at ?? "");
  return handoffs;
}

export interface Chain {
  agent: string;
  /// Newest first.
  handoffs: Handoff[];
}

/// One chain for each agent, the one with the newest handoff first.
export function chainsOf(handoffs: ReadonlyMap<string, Handoff>): Chain[] {
  const when = (handoff: Handoff) => handoff.created_at ?? "";
  const found = new Map<string, Handoff[]>();
  for (const handoff of [...handoffs.values()].sort((a, b) => when(b).localeCompare(when(a)) || b.id.localeCompare(a.id)))
    found.set(handoff.agent_name, [...(found.get(handoff.agent_name) ?? []), handoff]);
  return [...found].map(([agent, list]) => ({ agent, handoffs: list }));
}
