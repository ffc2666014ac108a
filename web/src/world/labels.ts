// Where names and bubbles go so that they cover neither each other nor anybody, and stay within the map. Pure.
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/// Somebody on the map: a disc, and the size of its name; 0 wide if it has none.
export interface Disc {
  x: number;
  y: number;
  radius: number;
  name_width: number;
  /// Its name is shown in any case.
  is_chosen: boolean;
  is_walking: boolean;
}

/// A bubble, and the disc of whoever says it.
export interface Speech {
  width: number;
  height: number;
  x: number;
  y: number;
  radius: number;
}

export interface Labels {
  /// By index; null where there is no room.
  names: (Box | null)[];
  bubbles: (Box | null)[];
}

export const name_height = 13;
const gap = 6;
const name_gap = 4;
const edge = 2;
const rings = 5;

const overlap = (a: Box, b: Box): number =>
  Math.max(0, Math.min(a.left + a.width, b.left + b.width) - Math.max(a.left, b.left)) * Math.max(0, Math.min(a.top + a.height, b.top + b.height) - Math.max(a.top, b.top));
const squareOf = ({ x, y, radius }: { x: number; y: number; radius: number }): Box => ({ left: x - radius, top: y - radius, width: 2 * radius, height: 2 * radius });

/// From the rim of a disc to the nearest point of a box.
function distanceTo(box: Box, { x, y, radius }: Speech): number {
  const across = Math.max(box.left - x, 0, x - box.left - box.width), down = Math.max(box.top - y, 0, y - box.top - box.height);
  return Math.hypot(across, down) - radius;
}

/// Places on the four sides of a disc, the nearest first; `slides` are the parts of the box that stand over to one side.
function around({ x, y, radius }: { x: number; y: number; radius: number }, width: number, height: number, away: number, slides: readonly number[]): Box[] {
  const out: Box[] = [];
  for (const top of [y - radius - away - height, y + radius + away]) for (const slide of slides) out.push({ left: x - width * slide, top, width, height });
  for (const left of [x + radius + away, x - radius - away - width]) for (const slide of slides) out.push({ left, top: y - height * slide, width, height });
  return out;
}

/// The newest bubble is the last one and is placed first. Further ones are left out where there is no room near whoever
/// says them. Names make room for bubbles; those of people who walk come last, so that others' do not jump.
export function placeLabels(discs: readonly Disc[], speeches: readonly Speech[], width: number, height: number): Labels {
  const within = (box: Box): Box => ({ ...box, left: Math.max(edge, Math.min(width - box.width - edge, box.left)), top: Math.max(edge, Math.min(height - box.height - edge, box.top)) });
  const bubbles: (Box | null)[] = speeches.map(() => null);
  const placed: Box[] = [];
  const standing = discs.filter(({ is_walking }) => !is_walking).map(squareOf);
  for (let i = speeches.length - 1; i >= 0; --i) {
    const speech = speeches[i]!;
    const own = squareOf(speech);
    let best: Box | null = null, least = Infinity;
    for (let ring = 0; ring < rings; ++ring)
      for (const wanted of around(speech, speech.width, speech.height, gap + ring * speech.radius, [0.5, 0.25, 0.75, 0.05, 0.95])) {
        const box = within(wanted);
        if (overlap(box, own) || placed.some((other) => overlap(box, other))) continue;
        const cost = distanceTo(box, speech) + standing.reduce((sum, disc) => sum + overlap(box, disc), 0) / 20;
        if (cost < least) [best, least] = [box, cost];
      }
    if (!best) continue;
    placed.push(best);
    bubbles[i] = best;
  }
  const names: (Box | null)[] = discs.map(() => null);
  const order = discs.map((disc, i) => ({ disc, i })).filter(({ disc }) => disc.name_width > 0)
    .sort((a, b) => Number(b.disc.is_chosen) - Number(a.disc.is_chosen) || Number(a.disc.is_walking) - Number(b.disc.is_walking));
  const squares = discs.map(squareOf);
  for (const { disc, i } of order) {
    const places = around(disc, disc.name_width, name_height, 2, [0.5, 0.2, 0.8]);
    // Below is where one looks first.
    const [above, below, beside] = [places.slice(0, 3), places.slice(3, 6), places.slice(6)];
    const grown = ({ left, top, width: across, height: down }: Box): Box => ({ left: left - name_gap, top, width: across + 2 * name_gap, height: down });
    const free = (box: Box) => box.left >= edge && box.top >= edge && box.left + box.width <= width - edge && box.top + box.height <= height - edge
      && !placed.some((other) => overlap(grown(box), other)) && !squares.some((square, other) => other !== i && overlap(box, square));
    const found = [...below, ...above, ...beside].find(free) ?? (disc.is_chosen ? within(below[0]!) : null);
    if (!found) continue;
    placed.push(found);
    names[i] = found;
  }
  return { names, bubbles };
}
