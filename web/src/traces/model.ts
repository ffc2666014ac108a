// Signals for the trace that is shown.
import { batch, computed, signal } from "@preact/signals";
import { get } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { messageOf } from "../base/text.ts";
import { concernsTraces, onKey, rowsOf } from "./state.ts";
import type { Trace } from "./wire.ts";

/// Whose trace is shown; empty if none is.
const shown = signal("");
export const trace = signal<Trace | null>(null);
export const trace_error = signal("");
export const closed = signal<ReadonlySet<string>>(new Set());
export const focused = signal("");
export const rows = computed(() => (trace.value ? rowsOf(trace.value, closed.value) : []));

const pause_ms = 1000;
let is_due = false;

async function read(): Promise<void> {
  const id = shown.peek();
  if (!id) return;
  try {
    const found = await get<Trace>(`/traces/${encodeURIComponent(id)}`);
    if (shown.peek() !== id) return;
    batch(() => {
      trace.value = found;
      trace_error.value = "";
      if (!found.spans.some((span) => span.id === focused.peek())) focused.value = found.spans[0]?.id ?? "";
    });
  } catch (error) {
    if (shown.peek() === id) trace_error.value = messageOf(error);
  }
}

export function showTrace(id: string): void {
  if (shown.peek() === id) return;
  batch(() => {
    shown.value = id;
    trace.value = null;
    trace_error.value = "";
    closed.value = new Set();
    focused.value = "";
  });
  void read();
}

/// Reads the trace again after an event that may have changed it, once for all that arrive within a short time.
export function applyTraceEvents(events: readonly LogEvent[]): void {
  if (!shown.peek() || is_due || !events.some(concernsTraces)) return;
  is_due = true;
  setTimeout(() => {
    is_due = false;
    void read();
  }, pause_ms);
}

export function toggle(id: string): void {
  const next = new Set(closed.peek());
  if (!next.delete(id)) next.add(id);
  closed.value = next;
}

/// True if the key was for the tree.
export function press(key: string): boolean {
  const done = onKey(rows.peek(), focused.peek(), key);
  if (!done) return false;
  batch(() => {
    if (done.toggle) toggle(done.toggle);
    focused.value = done.focus;
  });
  return true;
}
