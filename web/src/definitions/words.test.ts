import assert from "node:assert/strict";
import { test } from "node:test";
import { isError, noMind, placeOf } from "./words.ts";

test("problems are said as a person would", () => {
  assert.equal(placeOf({ path: "a/\u202eb.md", line: 3 }), "a/‹U+202E›b.md:3");
  assert.deepEqual([isError({}), isError({ severity: "warning" }), isError({ is_error: false })], [true, false, false]);
});

test("without a mind that works each says why, and what would mend it", () => {
  const claude = { provider: "claude", works: false, why: "claude is not on PATH", fix: "install it" };
  assert.deepEqual(noMind([claude, { provider: "scripted", kind: "scripted", works: true }]), [{ why: "claude: claude is not on PATH", fix: "install it" }]);
  assert.deepEqual([noMind([]), noMind([claude, { provider: "anthropic", works: true }])], [[], []]);
});
