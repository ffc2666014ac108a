// Where bubbles go so that they do not cover each other. Pure.
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/// A bubble to be placed: its size, and the middle of the head and foot of whoever says it.
export interface Wanted {
  width: number;
  height: number;
  x: number;
  head: number;
  foot: number;
}

const gap = 4;
const overlaps = (a: Box, b: Box): boolean => a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height && b.top < a.top + a.height;

/// A box for each, by index; null where there is no room. The last one is the newest and is placed first.
export function placeBubbles(wanted: readonly Wanted[], width: number, height: number): (Box | null)[] {
  const placed: Box[] = [];
  const out: (Box | null)[] = wanted.map(() => null);
  for (let i = wanted.length - 1; i >= 0; --i) {
    const { width: across, height: down, x, head, foot } = wanted[i]!;
    const within = (left: number) => Math.max(2, Math.min(width - across - 2, left));
    const tops = [head - down - gap, foot + gap];
    for (let step = 1; step <= 3; ++step) tops.push(head - (down + gap) * (step + 1), foot + gap + (down + gap) * step);
    const lefts = [x - across / 2, x - across, x, x - across * 1.5, x + across / 2].map(within);
    const found = tops.flatMap((top) => lefts.map((left): Box => ({ left, top, width: across, height: down })))
      .find((box) => box.top >= 2 && box.top + box.height <= height - 2 && !placed.some((other) => overlaps(box, other)));
    if (!found) continue;
    placed.push(found);
    out[i] = found;
  }
  return out;
}
