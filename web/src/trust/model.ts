// Signals and actions for files of the project that wait for the user's trust.
import { computed, signal } from "@preact/signals";
import { get, post } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { reader } from "../base/reader.ts";
import { itemsOf, keyOf, toAsk } from "./state.ts";
import type { TrustList, WaitingFile } from "./wire.ts";

const waiting = signal<readonly WaitingFile[]>([]);
const put_off = signal("");
export const files_to_trust = computed(() => toAsk(waiting.value, put_off.value));

/// Why the last read failed. Nothing is shown of it: the list is read again with the next event.
const error = signal("");
const read = reader(error, async () => {
  waiting.value = (await get<TrustList>("/trust")).waiting ?? [];
});

export const readTrust = (): void => void read();

export function applyTrustEvents(events: readonly LogEvent[]): void {
  if (events.some(({ type }) => type === "trust.changed")) void read();
}

/// Trusts these files as they were shown.
export async function trust(files: readonly WaitingFile[]): Promise<void> {
  try {
    waiting.value = (await post<TrustList>("/trust", { items: itemsOf(files) })).waiting ?? [];
  } catch (failure) {
    void read();  // one of them may have changed: what is asked next is what is there
    throw failure;
  }
}

/// Does not ask about these again as long as this page is open and nothing else waits.
export const notNow = (files: readonly WaitingFile[]): void => { put_off.value = keyOf(files); };
