// The part of a run's output that the page holds: a run of lines without gaps, bounded, that
// grows at its end while it is followed and at its start when someone scrolls back. Pure.
import type { Line } from "./wire.ts";

export interface OutputWindow {
  /// Consecutive in seq.
  lines: readonly Line[];
  /// The highest seq known to exist, whether held or not.
  known: number;
}

export const page_size = 1000;
const most = 20_000;

export const nothing: OutputWindow = { lines: [], known: 0 };
export const first = (window: OutputWindow): number => window.lines[0]?.seq ?? 0;
export const last = (window: OutputWindow): number => window.lines.at(-1)?.seq ?? 0;
/// Lines exist after the window that it does not hold.
export const isBehind = (window: OutputWindow): boolean => last(window) < window.known;
/// Lines exist before the window.
export const hasEarlier = (window: OutputWindow): boolean => first(window) > 1;

/// Adds what belongs at the end. Lines held already are passed over; lines beyond a gap are not
/// taken, only known to exist, and are fetched in order.
export function append(window: OutputWindow, lines: readonly Line[]): OutputWindow {
  const known = Math.max(window.known, lines.at(-1)?.seq ?? 0);
  const end = last(window);
  const fresh = window.lines.length ? lines.filter((line) => line.seq > end) : lines;
  if (!fresh.length || (window.lines.length && fresh[0]!.seq !== end + 1)) return { ...window, known };
  const joined = [...window.lines, ...fresh];
  return { lines: joined.length > most ? joined.slice(joined.length - most) : joined, known };
}

/// Adds an earlier page before the window; the far end is let go when it grows too long.
export function prepend(window: OutputWindow, lines: readonly Line[]): OutputWindow {
  const start = first(window);
  const earlier = lines.filter((line) => line.seq < start);
  if (!earlier.length || earlier.at(-1)!.seq !== start - 1) return window;
  return { ...window, lines: [...earlier, ...window.lines].slice(0, most) };
}
