// A list that is read from the daemon once per connection and then updated by events.
import { signal } from "@preact/signals";
import type { LogEvent } from "./event.ts";
import { reader } from "./reader.ts";

export interface LiveListOptions<Item> {
  read: () => Promise<Item[]>;
  idOf: (item: Item) => string;
  /// Whether an event changes this list.
  concerns: (event: LogEvent) => boolean;
  /// The items after these events, in order. Must be pure and idempotent: each event carries the item as it was then.
  apply: (before: ReadonlyMap<string, Item>, events: readonly LogEvent[]) => ReadonlyMap<string, Item>;
}

const retry_after_ms = 10_000;

export class LiveList<Item> {
  readonly items = signal<ReadonlyMap<string, Item>>(new Map());
  /// True once the list has been read for the first time.
  readonly loaded = signal(false);
  /// Why the last read failed; empty if it succeeded.
  readonly error = signal("");

  #options: LiveListOptions<Item>;
  // Events that arrived during a read; null if no read is running.
  #events_during_read: LogEvent[] | null = null;
  #failed_at = 0;

  constructor(options: LiveListOptions<Item>) {
    this.#options = options;
  }

  /// Applies events. Returns those that change this list.
  apply(events: readonly LogEvent[]): LogEvent[] {
    const relevant = events.filter(this.#options.concerns);
    if (!relevant.length) return relevant;
    this.#events_during_read?.push(...relevant);
    this.items.value = this.#options.apply(this.items.peek(), relevant);
    return relevant;
  }

  /// Reads the list again. The reply may be older or newer than the events that arrived meanwhile, so they are applied to
  /// it once more.
  readonly read = reader(this.error, async () => {
    this.#events_during_read = [];
    try {
      const list = await this.#options.read();
      this.items.value = this.#options.apply(new Map(list.map((item) => [this.#options.idOf(item), item])), this.#events_during_read);
      this.loaded.value = true;
    } catch (error) {
      this.#failed_at = Date.now();
      throw error;
    } finally {
      this.#events_during_read = null;
    }
  });

  readIfFailed(): void {
    if (this.error.peek()) void this.read();
  }

  /// Like `readIfFailed`, but waits a while after a failure.
  retryIfFailed(): void {
    if (Date.now() - this.#failed_at > retry_after_ms) this.readIfFailed();
  }

  set(item: Item): void {
    this.items.value = new Map(this.items.peek()).set(this.#options.idOf(item), item);
  }
}

/// Removes the oldest of the removable items, so that at most `keep` of them remain.
export function forgetOldest<Item>(items: Map<string, Item>, keep: number, may_remove: (item: Item) => boolean, when: (item: Item) => string): void {
  if (items.size <= keep) return;
  const removable = [...items].filter(([, item]) => may_remove(item)).sort(([, a], [, b]) => when(b).localeCompare(when(a)));
  for (const [id] of removable.slice(keep)) items.delete(id);
}
