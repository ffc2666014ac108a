import assert from "node:assert/strict";
import { test } from "node:test";
import { ahead, cost, duration, oneLine, tokens } from "./text.ts";

test("durations are readable", () => {
  const cases: [number, string][] = [[0, "0 s"], [59_999, "59 s"], [60_000, "1 min"], [200_000, "3 min 20 s"], [3_600_000, "1 h"], [7_500_000, "2 h 5 min"], [90_000_000, "1 d"]];
  for (const [ms, text] of cases) assert.equal(duration(ms), text);
});

test("times in the future", () => {
  assert.equal(ahead("2026-11-16T10:00:10Z", Date.parse("2026-11-16T10:00:00Z")), "in 10 s");
  assert.equal(ahead("2026-11-16T10:00:10Z", Date.parse("2026-11-16T10:00:11Z")), "now");
  assert.equal(ahead(null, 0), "");
});

test("a long text is truncated", () => {
  assert.equal(oneLine("x".repeat(500)).length, 401);
});

test("tokens and costs are readable", () => {
  assert.deepEqual([tokens(0), tokens(840), tokens(14_100), tokens(99_949), tokens(250_000), tokens(1_250_000)], ["", "840 tok", "14.1k tok", "99.9k tok", "250k tok", "1.3M tok"]);
  assert.deepEqual([cost(null), cost(0), cost(0.001), cost(0.42)], ["", "$0.00", "<$0.01", "$0.42"]);
});
