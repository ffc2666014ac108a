import assert from "node:assert/strict";
import { test } from "node:test";
import { isError, missingMinds, placeOf } from "./texts.ts";

test("problems show place and severity", () => {
  assert.equal(placeOf({ path: "a/\u202eb.md", line: 3 }), "a/‹U+202E›b.md:3");
  assert.deepEqual([isError({}), isError({ severity: "warning" }), isError({ is_error: false })], [true, false, false]);
});

test("if no mind works, each says why and how to fix it", () => {
  const claude = { provider: "claude", works: false, why: "claude is not on PATH", fix: "install it" };
  assert.deepEqual(missingMinds([claude, { provider: "scripted", kind: "scripted", works: true }]), [{ why: "claude: claude is not on PATH", fix: "install it" }]);
  assert.deepEqual([missingMinds([]), missingMinds([claude, { provider: "anthropic", works: true }])], [[], []]);
});
