// The loaded part of a run's output: a limited range of lines without gaps. It grows at its end while the output is
// followed, and at its start when the user scrolls back. Pure.
import { plain, styleAfter, type Style } from "../base/styled_text.ts";
import type { Line } from "./wire.ts";

export interface OutputWindow {
  /// With consecutive `seq`.
  lines: readonly Line[];
  /// The highest `seq` known to exist, loaded or not.
  known: number;
}

export const page_size = 1000;
const max_lines = 20_000;

export const empty_window: OutputWindow = { lines: [], known: 0 };
export const first = (window: OutputWindow): number => window.lines[0]?.seq ?? 0;
export const last = (window: OutputWindow): number => window.lines.at(-1)?.seq ?? 0;
/// One row of the view. A line that is told in words has as many rows as its words, and none if it says nothing.
export interface Row {
  line: Line;
  text: string;
  /// The style with which the text begins: that of the row before, of the same stream.
  style: Style;
}
export function rowsOf(lines: readonly Line[]): Row[] {
  const rows: Row[] = [];
  const styles: Record<Line["stream"], Style> = { stdout: plain, stderr: plain };
  for (const line of lines) {
    for (const text of line.told ? (line.data ? line.data.split("\n") : []) : [line.data]) {
      const style = styles[line.stream] ?? plain;
      rows.push({ line, text, style });
      styles[line.stream] = styleAfter(text, style);
    }
  }
  return rows;
}

const max_row_length = 16_384;

/// The rows of a run with a terminal, whose records are chunks: a chunk may have many lines, and a line many chunks.
export function rowsOfTerminal(lines: readonly Line[]): Row[] {
  const rows: Row[] = [];
  let style = plain;
  let is_open = false;
  for (const line of lines) {
    const parts = (line.eol === false ? line.data : `${line.data}\n`).split("\n");
    for (const [i, text] of parts.entries()) {
      const last = rows.at(-1);
      if (is_open && last && last.text.length < max_row_length) last.text += text;
      else if (text || i < parts.length - 1) rows.push({ line, text, style });
      else continue;
      is_open = i === parts.length - 1;
      if (!is_open) style = styleAfter(rows.at(-1)!.text, rows.at(-1)!.style);
    }
  }
  return rows;
}

/// There are lines after the window.
export const isBehind = (window: OutputWindow): boolean => last(window) < window.known;
/// There are lines before the window.
export const hasEarlier = (window: OutputWindow): boolean => first(window) > 1;

/// Appends lines. Lines that are already loaded are ignored. Lines after a gap only update `known`; they are read later, in
/// order.
export function append(window: OutputWindow, lines: readonly Line[]): OutputWindow {
  const known = Math.max(window.known, lines.at(-1)?.seq ?? 0);
  const end = last(window);
  const fresh = window.lines.length ? lines.filter((line) => line.seq > end) : lines;
  if (!fresh.length || (window.lines.length && fresh[0]!.seq !== end + 1)) return { ...window, known };
  const joined = [...window.lines, ...fresh];
  return { lines: joined.length > max_lines ? joined.slice(joined.length - max_lines) : joined, known };
}

/// Adds an earlier page before the window, and drops lines at the end if the window grows too long.
export function prepend(window: OutputWindow, lines: readonly Line[]): OutputWindow {
  const start = first(window);
  const earlier = lines.filter((line) => line.seq < start);
  if (!earlier.length || earlier.at(-1)!.seq !== start - 1) return window;
  return { ...window, lines: [...earlier, ...window.lines].slice(0, max_lines) };
}
