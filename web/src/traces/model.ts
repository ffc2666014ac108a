// Signals for the traces that are shown: one view for each pane.
import { batch, computed, signal } from "@preact/signals";
import { get } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { messageOf } from "../base/text.ts";
import { concernsTraces, onKey, rowsOf } from "./state.ts";
import type { Trace } from "./wire.ts";

const pause_ms = 1000;
const open = new Set<TraceView>();
let is_due = false;
let views = 0;

/// The trace of one id, as one pane shows it.
export class TraceView {
  /// Among the panes of the page, for the ids of its elements.
  readonly number = ++views;
  readonly trace = signal<Trace | null>(null);
  readonly error = signal("");
  readonly closed = signal<ReadonlySet<string>>(new Set());
  readonly focused = signal("");
  readonly rows = computed(() => (this.trace.value ? rowsOf(this.trace.value, this.closed.value) : []));
  constructor(readonly id: string) {}

  /// Reads it, and again when it changes. Call what is returned when the pane is gone.
  show(): () => void {
    open.add(this);
    void this.read();
    return () => open.delete(this);
  }

  async read(): Promise<void> {
    try {
      const found = await get<Trace>(`/traces/${encodeURIComponent(this.id)}`);
      batch(() => {
        this.trace.value = found;
        this.error.value = "";
        if (!found.spans.some((span) => span.id === this.focused.peek())) this.focused.value = found.spans[0]?.id ?? "";
      });
    } catch (error) {
      this.error.value = messageOf(error);
    }
  }

  toggle(id: string): void {
    const next = new Set(this.closed.peek());
    if (!next.delete(id)) next.add(id);
    this.closed.value = next;
  }

  /// True if the key was for the tree.
  press(key: string): boolean {
    const done = onKey(this.rows.peek(), this.focused.peek(), key);
    if (!done) return false;
    batch(() => {
      if (done.toggle) this.toggle(done.toggle);
      this.focused.value = done.focus;
    });
    return true;
  }
}

/// Reads the traces again after an event that may have changed them, once for all that arrive within a short time.
export function applyTraceEvents(events: readonly LogEvent[]): void {
  if (!open.size || is_due || !events.some(concernsTraces)) return;
  is_due = true;
  setTimeout(() => {
    is_due = false;
    for (const view of open) void view.read();
  }, pause_ms);
}
