import assert from "node:assert/strict";
import { test } from "node:test";
import { parameterIn } from "../base/views.ts";
import { member } from "./members_fixture.ts";
import { memberAddress, spent, stateOf, threadAddress, whatIs } from "./texts.ts";

test("every word of the daemon has a state with a glyph", () => {
  assert.deepEqual([stateOf("needs you"), stateOf("using a tool"), stateOf("done")], ["needs-you", "using-tool", "done"]);
});

test("what a member is: its kind, and its definition or program", () => {
  assert.equal(whatIs(member("a", { program: "claude" })), "claude");
  assert.equal(whatIs(member("a", { kind: "model", definition: "code-reviewer", program: "sonnet" })), "model · code-reviewer");
});

test("what a member has spent, as far as it is known", () => {
  assert.equal(spent(member("a")), "");
  assert.equal(spent(member("a", { cost_usd: 0.4211, tokens: 14000 })), "$0.42, 14.0k tok");
});

test("an address names a member and its tab, or a chat or subagent", () => {
  const address = memberAddress("m-2026-11-16-a b&c", "thread");
  assert.deepEqual([parameterIn(address, "view"), parameterIn(address, "member"), parameterIn(address, "tab")], ["crew", "m-2026-11-16-a b&c", "thread"]);
  assert.equal(parameterIn(threadAddress("a b"), "thread"), "a b");
});
