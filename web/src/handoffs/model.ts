// Signals for handoffs.
import { computed, signal } from "@preact/signals";
import { get } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { LiveList } from "../base/live_list.ts";
import { messageOf } from "../base/text.ts";
import { applyHandoffs, chainsOf, handoffIdIn, isHandoffEvent } from "./state.ts";
import type { Changeset, Handoff } from "./wire.ts";

export const handoff_list = new LiveList<Handoff>({
  read: async () => (await get<{ handoffs: Handoff[] }>("/handoffs?limit=200")).handoffs,
  idOf: (handoff) => handoff.id,
  concerns: isHandoffEvent,
  apply: applyHandoffs,
});
export const chains = computed(() => chainsOf(handoff_list.items.value));

const max_single_reads = 4;

/// Applies events, and reads the full handoffs, which events do not contain.
export function applyHandoffEvents(events: readonly LogEvent[]): void {
  const written = handoff_list.apply(events).map(handoffIdIn).filter(Boolean);
  if (written.length > max_single_reads) void handoff_list.read();
  else for (const id of written) void readHandoff(id);
}

async function readHandoff(id: string): Promise<void> {
  try {
    handoff_list.set(await get<Handoff>(`/handoffs/${encodeURIComponent(id)}`));
  } catch {
    // The beginning from the event stays.
  }
}

/// What the sessions of handoffs changed, by handoff id; a text is why that could not be read.
export const changes = signal<ReadonlyMap<string, Changeset | null | string>>(new Map());

/// Reads what the session of a handoff changed. It is not part of the list.
export async function readChanges(id: string): Promise<void> {
  const set = (found: Changeset | null | string) => { changes.value = new Map(changes.peek()).set(id, found); };
  try {
    set((await get<Handoff & { changeset?: Changeset | null }>(`/handoffs/${encodeURIComponent(id)}`)).changeset ?? null);
  } catch (error) {
    set(messageOf(error));
  }
}
