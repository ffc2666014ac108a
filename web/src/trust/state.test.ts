import assert from "node:assert/strict";
import { test } from "node:test";
import { diffLines, itemsOf, keyOf, toAsk } from "./state.ts";
import type { WaitingFile } from "./wire.ts";

const file = (path: string, more: Partial<WaitingFile> = {}): WaitingFile => ({ path, state: "new", reasons: [], sha256: `${path}-1`, diff: "", problem: null, ...more });

test("what was put off is not asked again, until something else waits", () => {
  const files = [file("a"), file("b")];
  assert.equal(toAsk(files, ""), files);
  const put_off = keyOf(files);
  assert.deepEqual(toAsk(files, put_off), []);
  assert.equal(toAsk([file("a"), file("b", { sha256: "b-2" })], put_off).length, 2, "a file has changed");
  assert.equal(toAsk([file("a")], put_off).length, 1);
  assert.deepEqual(toAsk([], ""), []);
});

test("what is trusted is what was shown, and never what was refused", () => {
  assert.deepEqual(itemsOf([file("a"), file("b", { state: "refused", sha256: null, problem: "is a FIFO" })]), { a: "a-1" });
});

test("a diff is told line by line", () => {
  const diff = "--- a (trusted)\n+++ a\n@@ -1 +1,2 @@\n one\n-two\n+--- three\n\\ No newline at end of file\n";
  assert.deepEqual(diffLines(diff).map(({ kind, text }) => `${kind} ${text}`), ["place @@ -1 +1,2 @@", "same  one", "removed -two", "added +--- three"]);
  assert.deepEqual(diffLines(""), []);
});
