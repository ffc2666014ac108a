import assert from "node:assert/strict";
import { test } from "node:test";
import { placeLabels, type Box, type Disc, type Speech } from "./labels.ts";

const apart = (a: Box, b: Box) => a.left >= b.left + b.width || b.left >= a.left + a.width || a.top >= b.top + b.height || b.top >= a.top + a.height;
const real = (boxes: readonly (Box | null)[]) => boxes.filter((box): box is Box => box !== null);
const square = ({ x, y, radius }: Disc): Box => ({ left: x - radius, top: y - radius, width: 2 * radius, height: 2 * radius });
const disc = (x: number, y: number, more: Partial<Disc> = {}): Disc => ({ x, y, radius: 15, name_width: 50, is_chosen: false, is_walking: false, ...more });
const speech = ({ x, y, radius }: Disc, width = 180, height = 50): Speech => ({ x, y, radius, width, height });
const gapOf = (box: Box, at: Speech) => Math.hypot(Math.max(box.left - at.x, 0, at.x - box.left - box.width), Math.max(box.top - at.y, 0, at.y - box.top - box.height)) - at.radius;

test("in any crowd names and bubbles cover neither each other nor anybody's name, stay on the map and near whoever they belong to", () => {
  let seed = 7;
  const chance = (end: number) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor((seed / 2147483648) * end); };
  for (let round = 0; round < 300; ++round) {
    const tile = round % 2 ? 40 : 17, width = 20 * tile, height = 11 * tile;
    const taken = new Set<string>();
    const discs = Array.from({ length: 2 + chance(8) }, () => {
      let col = 0, row = 0;
      do [col, row] = [chance(20), chance(11)]; while (taken.has(`${col},${row}`));
      taken.add(`${col},${row}`);
      return disc((col + 0.5) * tile, (row + 0.5) * tile, { radius: tile * 0.38, name_width: 24 + chance(40), is_walking: !chance(4) });
    });
    const speeches = discs.slice(0, 1 + chance(discs.length)).map((one) => speech(one, tile === 40 ? 180 : 130, 22 + 14 * chance(3)));
    const { names, bubbles } = placeLabels(discs, speeches, width, height);
    assert.ok(bubbles.at(-1), "the newest has room");
    const all = [...real(names), ...real(bubbles)];
    all.forEach((a, i) => all.slice(i + 1).forEach((b) => assert.ok(apart(a, b), `round ${round}`)));
    for (const box of all) assert.ok(box.left >= 0 && box.top >= 0 && box.left + box.width <= width && box.top + box.height <= height, `round ${round}: on the map`);
    bubbles.forEach((box, i) => { if (box) assert.ok(gapOf(box, speeches[i]!) <= 4 * speeches[i]!.radius + 6.1, `round ${round}: near`); });
    names.forEach((box, i) => { if (box) discs.forEach((other, j) => assert.ok(i === j || apart(box, square(other)), `round ${round}: a name over somebody`)); });
  }
});

test("a name is below its disc; at the lower edge above it; where others stand around, beside it", () => {
  assert.ok(placeLabels([disc(100, 100)], [], 800, 440).names[0]!.top > 115);
  assert.ok(placeLabels([disc(100, 425)], [], 800, 440).names[0]!.top < 410, "not cut off");
  const [middle] = placeLabels([disc(100, 100), disc(100, 140), disc(100, 60)], [], 800, 440).names;
  assert.ok(middle!.left > 115 || middle!.left + middle!.width < 85);
});

test("two names in a row do not look like one", () => {
  const [left, right] = real(placeLabels([disc(100, 100), disc(150, 100)], [], 800, 440).names);
  assert.ok(left!.top !== right!.top || Math.abs(left!.left - right!.left) >= 54, "there is a space between them");
});

test("with nine who sit in two rows everybody's name is shown, and with two who speak both bubbles are, beside nobody else", () => {
  const nine = [100, 220, 340, 460].flatMap((x) => [disc(x, 140), disc(x, 300)]).concat(disc(620, 140));
  const { names, bubbles } = placeLabels(nine, [speech(nine[0]!), speech(nine[2]!)], 800, 440);
  assert.equal(real(names).length, 9);
  assert.equal(real(bubbles).length, 2);
  for (const bubble of real(bubbles)) for (const one of nine) assert.ok(apart(bubble, square(one)), "it covers nobody");
});

test("whoever is chosen has a name in any crowd, and what has none gets none", () => {
  const crowd = Array.from({ length: 25 }, (_, i) => disc(20 + (i % 5) * 30, 20 + Math.floor(i / 5) * 30));
  crowd[12] = { ...crowd[12]!, is_chosen: true };
  const { names } = placeLabels(crowd, [], 160, 160);
  assert.ok(names[12]);
  assert.ok(real(names).length < 25, "others have no room");
  assert.deepEqual(placeLabels([disc(50, 50, { name_width: 0 })], [], 200, 200).names, [null]);
});
