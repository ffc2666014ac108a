// A list of the daemon's that is read once for each connection, then kept current by the events.
import { signal } from "@preact/signals";
import type { LogEvent } from "./event.ts";
import { reader } from "./reader.ts";

export interface LiveListOptions<Item> {
  read: () => Promise<Item[]>;
  idOf: (item: Item) => string;
  /// Whether an event says anything of this list.
  concerns: (event: LogEvent) => boolean;
  /// What is known after these events, in order. Pure; each event carries the item as it then was.
  apply: (before: ReadonlyMap<string, Item>, events: readonly LogEvent[]) => ReadonlyMap<string, Item>;
}

const retried_after_ms = 10_000;

export class LiveList<Item> {
  readonly items = signal<ReadonlyMap<string, Item>>(new Map());
  /// False until the list has come for the first time.
  readonly loaded = signal(false);
  /// Why the list could not be read; empty if it could.
  readonly trouble = signal("");

  #options: LiveListOptions<Item>;
  // Events that came while the list was on its way; null when it is not.
  #later: LogEvent[] | null = null;
  #troubled_at = 0;

  constructor(options: LiveListOptions<Item>) {
    this.#options = options;
  }

  /// Applies events. Gives back those that concern this list.
  apply(events: readonly LogEvent[]): LogEvent[] {
    const ours = events.filter(this.#options.concerns);
    if (!ours.length) return ours;
    this.#later?.push(...ours);
    this.items.value = this.#options.apply(this.items.peek(), ours);
    return ours;
  }

  /// Reads the list anew. What came while it was on its way is applied to it again, and ends at the same state.
  readonly read = reader(this.trouble, async () => {
    this.#later = [];
    try {
      const list = await this.#options.read();
      this.items.value = this.#options.apply(new Map(list.map((item) => [this.#options.idOf(item), item])), this.#later);
      this.loaded.value = true;
    } catch (error) {
      this.#troubled_at = Date.now();
      throw error;
    } finally {
      this.#later = null;
    }
  });

  readIfTroubled(): void {
    if (this.trouble.peek()) void this.read();
  }

  /// The same, but not again and again.
  retryIfTroubled(): void {
    if (Date.now() - this.#troubled_at > retried_after_ms) this.readIfTroubled();
  }

  set(item: Item): void {
    this.items.value = new Map(this.items.peek()).set(this.#options.idOf(item), item);
  }
}

/// Drops the oldest of those that may go, down to `keep` of them.
export function forgetOldest<Item>(items: Map<string, Item>, keep: number, may_go: (item: Item) => boolean, when: (item: Item) => string): void {
  if (items.size <= keep) return;
  const goers = [...items].filter(([, item]) => may_go(item)).sort(([, a], [, b]) => when(b).localeCompare(when(a)));
  for (const [id] of goers.slice(keep)) items.delete(id);
}
