import assert from "node:assert/strict";
import { test } from "node:test";
import { canBeAsked, changesOf, descentOf, fieldsOf, folded, mayApprove, patternsIn, timeLeft, undoText } from "./state.ts";
import type { Approval } from "./wire.ts";

const approval = { id: "A-7", status: "pending", reversible: false, on_timeout: "abort", expires_at: "2026-11-15T10:05:00.000Z", seconds_left: 300,
  input: { path: "a.txt", argv: ["ls"] }, schema: { properties: { path: { type: "string", description: "where" }, argv: { type: "array" }, lines: { type: "integer" } } } } as unknown as Approval;

test("the form has every field of the schema, and only what was changed is sent", () => {
  assert.deepEqual(fieldsOf(approval).map(({ name, text }) => [name, text]), [["path", "a.txt"], ["argv", '["ls"]'], ["lines", ""]]);
  assert.deepEqual(changesOf(approval, { path: "a.txt", argv: '["ls","-l"]', lines: "", other: "x" }), { argv: '["ls","-l"]' });
  assert.deepEqual(fieldsOf({ ...approval, schema: null }), []);
});

test("what cannot be undone needs its id typed", () => {
  assert.deepEqual([mayApprove(approval, ""), mayApprove(approval, "A-8"), mayApprove(approval, " A-7 ")], [false, false, true]);
  assert.ok(mayApprove({ ...approval, reversible: true }, ""));
});

test("the time left is counted down, and stands still where the clock does", () => {
  assert.match(timeLeft(approval, Date.parse("2026-11-15T10:04:00.000Z")), /^1.*left, then it expires$/);
  assert.match(timeLeft({ ...approval, on_timeout: "approve" }, Date.parse("2026-11-15T11:00:00.000Z")), /^0.*left, then it is approved$/);
  assert.match(timeLeft({ ...approval, status: "held" }, 0), /is paused until you press Release/);
  assert.match(timeLeft({ ...approval, status: "held", seconds_left: null, expires_at: null }, 0), /^held; it waits until you press Release$/);
  assert.match(timeLeft({ ...approval, seconds_left: null, expires_at: null }, 0), /no timeout/);
});

test("more than 400 lines are folded, and nothing of them is lost", () => {
  const lines = (count: number) => Array.from({ length: count }, (_, i) => i);
  assert.deepEqual(folded(lines(400)), { first: lines(400), rest: [] });
  const { first, rest } = folded(lines(401));
  assert.deepEqual([first.length, rest.length, [...first, ...rest]], [40, 361, lines(401)]);
});

test("a rule's patterns are the lines that say something", () => {
  assert.deepEqual(patternsIn(" src/** \n\nnpm test *\n"), ["src/**", "npm test *"]);
});

test("whether it can be undone has three words, and a program that waits cannot be asked", () => {
  assert.deepEqual([undoText({ undo: "unknown", reversible: true }), undoText({ undo: "irreversible", reversible: false }), undoText({ undo: "unknown", reversible: false })],
    ["can be undone", "cannot be undone", "not known whether it can be undone"]);
  assert.deepEqual((["tool", "client", "hook", "question"] as const).map((via) => canBeAsked({ via })), [true, true, false, false]);
});

test("whose child an asker is, is said from its parent up", () => {
  assert.equal(descentOf({ parent_chain: ["user", "lead", "worker"] }), "child of lead, which you started");
  assert.equal(descentOf({ parent_chain: ["user", "lead"] }), "started by you");
});
