import assert from "node:assert/strict";
import { test } from "node:test";
import { append, empty_window, first, hasEarlier, isBehind, last, prepend, rowsOf, rowsOfTerminal } from "./output_window.ts";
import type { Line } from "./wire.ts";

const lines = (from: number, to: number): Line[] =>
  Array.from({ length: to - from + 1 }, (_, i) => ({ seq: from + i, ts: "", stream: "stdout", data: `${from + i}` }));

test("lines are not duplicated", () => {
  const window = append(append(empty_window, lines(1, 5)), lines(3, 8));
  assert.deepEqual(window.lines.map((line) => line.seq), [1, 2, 3, 4, 5, 6, 7, 8]);
});

test("a line that is told in words has a row for each of its lines, or none", () => {
  const told = lines(1, 3).map((line, i) => ({ ...line, told: true as const, data: ["I look.\nI build.", "", "→ Bash: make"][i]! }));
  const rows = rowsOf([...told, { ...lines(4, 4)[0]!, data: "" }]);
  assert.deepEqual(rows.map(({ line, text }) => [line.seq, text]), [[1, "I look."], [1, "I build."], [3, "→ Bash: make"], [4, ""]]);
});

test("a row begins with the style of the row before, of the same stream", () => {
  const [first, error, second, third] = lines(1, 4);
  const rows = rowsOf([{ ...first!, data: "\x1b[31mred" }, { ...error!, stream: "stderr", data: "plain" }, { ...second!, data: "still red\x1b[0m" }, third!]);
  assert.deepEqual(rows.map(({ style }) => style), [{}, {}, { text: 1 }, {}]);
});

test("the chunks of a terminal are joined and split into lines, and keep their colours", () => {
  const chunks = ["$ l", "s\r\n\x1b[31ma", "\r\nb\r\n", "", "\r\n", "$ "].map((data, i) => ({ ...lines(i + 1, i + 1)[0]!, data, eol: false as const }));
  const rows = rowsOfTerminal(chunks);
  assert.deepEqual(rows.map(({ line, text, style }) => [line.seq, text, style]),
    [[1, "$ ls\r", {}], [2, "\x1b[31ma\r", {}], [3, "b\r", { text: 1 }], [5, "\r", { text: 1 }], [6, "$ ", { text: 1 }]]);
});

test("lines after a gap are known but not loaded", () => {
  const window = append(append(empty_window, lines(1, 5)), lines(9, 12));
  assert.equal(last(window), 5);
  assert.ok(isBehind(window));
  assert.ok(!isBehind(append(window, lines(6, 12))));
});

test("an earlier page is added if it leaves no gap", () => {
  const window = append(empty_window, lines(1001, 1010));
  assert.ok(hasEarlier(window));
  assert.equal(first(prepend(window, lines(1, 1000))), 1);
  assert.equal(first(prepend(window, lines(1, 900))), 1001);
});

test("the window is limited at both ends", () => {
  assert.equal(append(append(empty_window, lines(1, 20_000)), lines(20_001, 20_100)).lines.length, 20_000);
  const back = prepend(append(empty_window, lines(1001, 21_000)), lines(1, 1000));
  assert.equal(back.lines.length, 20_000);
  assert.ok(isBehind(back));
});
