// The handoffs that agents left, as the page shows them.
import { computed } from "@preact/signals";
import { get } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { LiveList } from "../base/live_list.ts";
import { applyHandoffs, chainsOf, handoffIn, isHandoffEvent } from "./state.ts";
import type { Handoff } from "./wire.ts";

export const handoff_list = new LiveList<Handoff>({
  read: async () => (await get<{ handoffs: Handoff[] }>("/handoffs?limit=200")).handoffs,
  idOf: (handoff) => handoff.id,
  concerns: isHandoffEvent,
  apply: applyHandoffs,
});
export const chains = computed(() => chainsOf(handoff_list.items.value));

const read_one_by_one = 4;

/// Applies events, and reads what they leave out.
export function takeHandoffEvents(events: readonly LogEvent[]): void {
  const written = handoff_list.apply(events).map(handoffIn).filter(Boolean);
  if (written.length > read_one_by_one) void handoff_list.read();
  else for (const id of written) void readHandoff(id);
}

async function readHandoff(id: string): Promise<void> {
  try {
    handoff_list.set(await get<Handoff>(`/handoffs/${encodeURIComponent(id)}`));
  } catch {
    // Its beginning has to do.
  }
}
