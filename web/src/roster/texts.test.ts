import assert from "node:assert/strict";
import { test } from "node:test";
import type { Member } from "./wire.ts";
import { spent, stateOf, whatIs } from "./texts.ts";

const member = (more: Partial<Member>): Member => ({
  id: "m-1", name: "ada", kind: "claude", badge: "idle", since: "2026-11-17T12:00:00.000Z", facets: { run: null, session: null, thread: null, body: null }, ...more,
});

test("every word of the daemon has a state with a glyph", () => {
  assert.deepEqual([stateOf("needs you"), stateOf("using a tool"), stateOf("done")], ["needs-you", "using-tool", "done"]);
});

test("what a member is: its kind, and its definition or program", () => {
  assert.equal(whatIs(member({ program: "claude" })), "claude");
  assert.equal(whatIs(member({ kind: "model", definition: "code-reviewer", program: "sonnet" })), "model · code-reviewer");
});

test("what a member has spent, as far as it is known", () => {
  assert.equal(spent(member({})), "");
  assert.equal(spent(member({ cost_usd: 0.4211, tokens: 14000 })), "$0.42, 14000 tokens");
});
