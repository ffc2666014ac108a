import assert from "node:assert/strict";
import { test } from "node:test";
import { event } from "../base/event_fixture.ts";
import { applyRuns, inOrder, type Runs } from "./state.ts";

const none: Runs = new Map();
const line = (seq: number, data: string) => ({ seq, ts: "", stream: "stdout", data });

test("a run goes from started to completed", () => {
  let runs = applyRuns(none, [event("agent.started", { pid: 9, task_id: "a" }, "a")]);
  assert.deepEqual([runs.get("a")?.status, runs.get("a")?.pid], ["running", 9]);
  runs = applyRuns(runs, [event("agent.output", { lines: [line(1, "x"), line(2, "\x1b[1my")] }, "a")]);
  assert.deepEqual([runs.get("a")?.last_line, runs.get("a")?.last_seq], ["y", 2]);
  runs = applyRuns(runs, [event("agent.completed", { exit_code: 0 }, "a")]);
  assert.equal(runs.get("a")?.status, "completed");
  assert.ok(runs.get("a")?.ended_at);
});

test("the JSON of an agent program is not its last line", () => {
  const runs = applyRuns(none, [event("agent.starting", { backend: "claude" }, "c"), event("agent.output", { lines: [line(1, "hello"), line(2, '{"type":"result"}')] }, "c")]);
  assert.deepEqual([runs.get("c")?.last_line, runs.get("c")?.last_seq], [undefined, 2]);
});

test("a snapshot replaces the runs and keeps their last lines", () => {
  const before = applyRuns(none, [event("agent.started", {}, "gone"), event("agent.output", { lines: [line(1, "hello")] }, "b")]);
  const runs = applyRuns(before, [event("state.snapshot", { agents: [{ task_id: "b", status: "running" }] })]);
  assert.deepEqual([...runs.values()], [{ task_id: "b", status: "running", last_line: "hello" }]);
});

test("a run that is started again shows no earlier end", () => {
  const runs = applyRuns(none, [event("agent.started", {}, "a"), event("agent.failed", { error: "boom", exit_code: 1 }, "a"), event("agent.started", {}, "a")]);
  const { status, error, ended_at } = runs.get("a")!;
  assert.deepEqual([status, error, ended_at], ["running", null, null]);
});

test("a run that waits for disk space says so until it goes on", () => {
  let runs = applyRuns(none, [event("agent.started", {}, "a"), event("agent.waiting", { task_id: "a", waits_for: "the disk is full" }, "a")]);
  assert.deepEqual([runs.get("a")?.status, runs.get("a")?.waits_for], ["running", "the disk is full"]);
  runs = applyRuns(runs, [event("agent.waiting", { task_id: "a", waits_for: null }, "a")]);
  assert.deepEqual([runs.get("a")?.status, runs.get("a")?.waits_for], ["running", null]);
});

test("active runs come first, then the newest", () => {
  const runs = applyRuns(none, [event("agent.started", {}, "old"), event("agent.completed", {}, "old"), event("agent.started", {}, "older-active"), event("agent.started", {}, "new"), event("agent.killed", {}, "new")]);
  assert.deepEqual(inOrder(runs).map((run) => run.task_id), ["older-active", "new", "old"]);
});

test("a purged run is removed; questions and other events do not change the runs", () => {
  const runs = applyRuns(none, [event("agent.started", {}, "a")]);
  assert.equal(applyRuns(runs, [event("agent.question", { id: "q" }, "a"), event("lock.acquired")]), runs);
  assert.equal(applyRuns(runs, [event("run.purged", {}, "a")]).size, 0);
});
