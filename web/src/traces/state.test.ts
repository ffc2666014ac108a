import assert from "node:assert/strict";
import { test } from "node:test";
import { barOf, concernsTraces, onKey, rowsOf } from "./state.ts";
import { iterationText, labelOf, nameOf, spentText, summaryOf, waitText } from "./texts.ts";
import type { Span, Trace } from "./wire.ts";

const span = (id: string, parent: string | null, more: Partial<Span> = {}): Span => ({
  id, parent, order: 1, depth: 0, kind: "agent", agent: id, model: "m", status: "completed", trace_id: "t", parent_chain: [], offset_ms: 0, duration_ms: 10, queued_ms: 0,
  waited_ms: 0, waits: [], tokens: 0, cost_usd: null, total_tokens: 0, total_cost_usd: null, error: null, reflection: null, file: null, ...more,
});
const trace = (spans: Span[], more: Partial<Trace> = {}): Trace => ({ trace_id: "t", session_id: "s", kind: "chat", title: "", status: "completed", duration_ms: 1000, waited_ms: 0, tokens: 0, cost_usd: null, agents: spans.length, failed: 0, spans, ...more });
const all = trace([span("s", null, { order: 0 }), span("a", "s"), span("b", "a"), span("c", "s")]);
const names = (closed: string[] = []) => rowsOf(all, new Set(closed)).map(({ span: { id }, level }) => `${id}${level}`);

test("rows follow the tree, and what is below a closed one is not there", () => {
  assert.deepEqual(names(), ["s1", "a2", "b3", "c2"]);
  assert.deepEqual(names(["a"]), ["s1", "a2", "c2"]);
  assert.deepEqual(names(["s"]), ["s1"]);
});

test("a thousand agents are rows in a moment", () => {
  const many = trace([span("s", null), ...Array.from({ length: 1000 }, (_, i) => span(`a${i}`, i < 10 ? "s" : `a${Math.floor(i / 10)}`))]);
  assert.equal(rowsOf(many, new Set()).length, 1001);
});

test("keys move as in any tree", () => {
  const rows = rowsOf(all, new Set(["a"]));
  const at = (id: string, key: string) => onKey(rows, id, key);
  assert.deepEqual([at("s", "ArrowDown"), at("c", "ArrowUp"), at("c", "Home"), at("s", "End")], [{ focus: "a" }, { focus: "a" }, { focus: "s" }, { focus: "c" }]);
  assert.deepEqual([at("a", "ArrowRight"), at("s", "ArrowRight")], [{ focus: "a", toggle: "a" }, { focus: "a" }], "opens a closed one, goes into an open one");
  assert.deepEqual([at("s", "ArrowLeft"), at("c", "ArrowLeft")], [{ focus: "s", toggle: "s" }, { focus: "s" }], "closes an open one, goes to the parent of another");
  assert.deepEqual([at("c", "ArrowRight"), at("c", "x"), at("gone", "Home")], [null, null, null]);
});

test("a bar lies where its span does, and can always be seen", () => {
  assert.deepEqual(barOf(all, 500, 250), { x: 500, width: 250 });
  assert.deepEqual(barOf(all, 1000, 0), { x: 992, width: 8 });
  assert.deepEqual(barOf({ duration_ms: 0 }, 0, 0), { x: 0, width: 8 });
});

test("a row says in words what its colours and bars show", () => {
  const failed = span("b", "s", { order: 2, agent: "tester", status: "failed", duration_ms: 68_000, waited_ms: 1500, tokens: 100, total_tokens: 300, error: { type: "run_failed", message: "ctest\nexited 8", severity: "error", attempting: null } });
  assert.equal(labelOf(failed), "#2 tester, failed, m, 1 min 8 s, 100 tok (300 tok in all), waited 1.5 s, run_failed: ctest exited 8");
  assert.equal(spentText(span("x", null, { tokens: 5, total_tokens: 5, cost_usd: 0.5, total_cost_usd: 0.5 })), "5 tok, $0.50");
  assert.equal(waitText({ kind: "approval", id: "A-1", outcome: "open", offset_ms: 0, duration_ms: 62_000 }), "1 min 2 s waiting for approval A-1, still open");
  assert.equal(waitText({ kind: "limit", id: "claude", outcome: "over", offset_ms: 0, duration_ms: 62_000 }), "1 min 2 s waiting for the usage limit of claude, over");
  assert.equal(iterationText({ attempt: 1, passed: false, score: 0.4, critique: "It names no file.\nNor a line.", tokens: 1200, duration_ms: 3100 }), "attempt 1: not passed, score 0.40, 1.2k tok, 3.1 s: It names no file.");
  assert.equal(iterationText({ attempt: 2, passed: true, score: null, critique: "", tokens: 0, duration_ms: 12 }), "attempt 2: passed, 12 ms");
  assert.equal(summaryOf(trace([], { failed: 1, tokens: 1200, duration_ms: 900 })), "completed · 1 failed · 900 ms · 1.2k tok");
});

test("a run is named by its id too", () => {
  assert.equal(nameOf(span("build-3f", null, { order: 1, kind: "run", agent: "make" })), "#1 make build-3f");
  assert.equal(nameOf(span("x", null, { order: 0, agent: "tester" })), "tester");
});

test("words and output do not make a trace be read again", () => {
  assert.deepEqual(["subagent.completed", "approval.approved", "agent.failed", "work.claimed", "live.auto_mode_ended", "agent.output", "chat.text", "lock.acquired", "live.agent_moved"].map((type) => concernsTraces({ type })), [true, true, true, true, true, false, false, false, false]);
});
