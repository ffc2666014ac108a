// A trace as the rows of a tree: which are visible, and where a key leads. Pure.
import type { LogEvent } from "../base/event.ts";
import type { Span, Trace } from "./wire.ts";

export interface Row {
  span: Span;
  level: number;
  has_children: boolean;
  is_open: boolean;
  /// Its place among its siblings, from 1.
  position: number;
  siblings: number;
}

/// The rows in the order of the tree, without what is below a closed one.
export function rowsOf(trace: Trace, closed: ReadonlySet<string>): Row[] {
  const children = new Map<string | null, Span[]>();
  for (const span of trace.spans) {
    const of = children.get(span.parent);
    if (of) of.push(span);
    else children.set(span.parent, [span]);
  }
  const rows: Row[] = [];
  const add = (parent: string | null, level: number): void => {
    const spans = children.get(parent) ?? [];
    spans.forEach((span, at) => {
      const has_children = children.has(span.id);
      const is_open = has_children && !closed.has(span.id);
      rows.push({ span, level, has_children, is_open, position: at + 1, siblings: spans.length });
      if (is_open) add(span.id, level + 1);
    });
  };
  add(null, 1);
  return rows;
}

/// What a key does in the tree, as for any tree view: the span that gets the focus, and the one that is opened or closed.
export function onKey(rows: readonly Row[], at: string, key: string): { focus: string; toggle?: string } | null {
  const index = rows.findIndex(({ span }) => span.id === at);
  const row = rows[index];
  if (!row) return null;
  const to = (target: Row | undefined) => (target ? { focus: target.span.id } : null);
  switch (key) {
    case "ArrowDown": return to(rows[index + 1]);
    case "ArrowUp": return to(rows[index - 1]);
    case "Home": return to(rows[0]);
    case "End": return to(rows.at(-1));
    case "ArrowRight": return row.has_children && !row.is_open ? { focus: at, toggle: at } : row.is_open ? to(rows[index + 1]) : null;
    case "ArrowLeft": return row.is_open ? { focus: at, toggle: at } : to(rows.slice(0, index).reverse().find(({ level }) => level < row.level));
    default: return null;
  }
}

/// A part of the timeline in thousandths of the whole; at least wide enough to be seen.
export function barOf(trace: Pick<Trace, "duration_ms">, offset_ms: number, duration_ms: number): { x: number; width: number } {
  const whole = Math.max(1, trace.duration_ms);
  const x = Math.min(992, Math.max(0, (offset_ms / whole) * 1000));
  return { x, width: Math.min(1000 - x, Math.max(8, (duration_ms / whole) * 1000)) };
}

/// Whether an event may have changed a trace that is shown: not the words of those who are at work.
export const concernsTraces = ({ type }: Pick<LogEvent, "type">): boolean => /^(chat\.|subagent\.|approval\.|question\.|agent\.|work\.|live\.auto_mode|live\.agent_state)/.test(type) && !/\.(output|text|entry|tool|waiting)$/.test(type);

export const hasFailed = ({ status, error }: Pick<Span, "status" | "error">): boolean => status === "failed" || (status === "active" && !!error && error.severity !== "warning");
