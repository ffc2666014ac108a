import assert from "node:assert/strict";
import { test } from "node:test";
import { empty, inOrder, pending, readEvent, reduce, withHistory } from "./state.ts";
import type { LogEvent } from "./wire.ts";

const event = (id: number | null, type: string, data: Record<string, unknown> = {}, entity = "a"): LogEvent =>
  ({ id, type, entity, timestamp: `2026-11-15T10:00:0${(id ?? 0) % 10}.000Z`, data });
const line = (seq: number, data: string) => ({ seq, ts: "", stream: "stdout", data });

test("a run lives from started to completed", () => {
  let state = reduce(empty, [event(1, "agent.started", { pid: 9, task_id: "a" })]);
  assert.equal(state.runs.get("a")?.status, "running");
  assert.equal(state.runs.get("a")?.pid, 9);
  state = reduce(state, [event(2, "agent.output", { lines: [line(1, "x"), line(2, "\x1b[1my")] })]);
  assert.equal(state.runs.get("a")?.last_line, "y");
  assert.equal(state.runs.get("a")?.last_seq, 2);
  state = reduce(state, [event(3, "agent.completed", { exit_code: 0 })]);
  assert.equal(state.runs.get("a")?.status, "completed");
  assert.ok(state.runs.get("a")?.ended_at);
  assert.equal(state.cursor, 3);
});

test("events told again after a reconnection change nothing", () => {
  const once = reduce(empty, [event(1, "agent.started"), event(2, "agent.failed", { error: "x" })]);
  const twice = reduce(once, [event(1, "agent.started"), event(2, "agent.failed", { error: "x" })]);
  assert.deepEqual([...twice.runs], [...once.runs]);
  assert.equal(twice.events.length, 2);
});

test("a snapshot replaces runs and questions, and carries the cursor", () => {
  const before = reduce(empty, [event(1, "agent.started", {}, "gone")]);
  const state = reduce(before, [event(9, "state.snapshot", {
    agents: [{ task_id: "b", status: "running" }],
    questions: [{ id: "q1", task_id: "b", prompt: "?", status: "pending" }],
  }, "")]);
  assert.deepEqual([...state.runs.keys()], ["b"]);
  assert.deepEqual(pending(state.questions).map((q) => q.id), ["q1"]);
  assert.equal(state.cursor, 9);
});

test("a snapshot of another log sets the cursor back", () => {
  const state = reduce(reduce(empty, [event(500, "agent.started")]), [event(3, "state.snapshot", { agents: [], questions: [] }, ""), event(4, "agent.started", {}, "new")]);
  assert.deepEqual([[...state.runs.keys()], state.cursor], [["new"], 4]);
});

test("a question waits until it is answered; one told again without a number counts", () => {
  let state = reduce(empty, [event(null, "agent.question", { id: "q1", task_id: "a", prompt: "Which?", options: ["x"], status: "pending" })]);
  assert.equal(pending(state.questions)[0]?.prompt, "Which?");
  state = reduce(state, [event(5, "agent.question.answered", { id: "q1", status: "answered" })]);
  assert.equal(pending(state.questions).length, 0);
});

test("an ended run that is started again shows no old ending", () => {
  const state = reduce(empty, [event(1, "agent.started"), event(2, "agent.failed", { error: "boom", exit_code: 1 }), event(3, "agent.started")]);
  const run = state.runs.get("a")!;
  assert.equal(run.status, "running");
  assert.equal(run.error, null);
  assert.equal(run.ended_at, null);
});

test("live runs come first, then the newest", () => {
  const state = reduce(empty, [event(1, "agent.started", {}, "old"), event(2, "agent.completed", {}, "old"), event(3, "agent.started", {}, "older-live"), event(4, "agent.started", {}, "new"), event(5, "agent.killed", {}, "new")]);
  assert.deepEqual(inOrder(state.runs).map((run) => run.task_id), ["older-live", "new", "old"]);
});

test("heartbeats move the cursor and are not shown", () => {
  const state = reduce(empty, [event(40, "heartbeat")]);
  assert.equal(state.cursor, 40);
  assert.equal(state.events.length, 0);
});

test("a frame that is not JSON is passed over", () => {
  assert.equal(readEvent({ event: "x", id: "1", data: "not json" }), null);
  const read = readEvent({ event: "agent.started", id: "12", data: '{"type":"agent.started","entity_id":"a","timestamp":"t","data":{"pid":1}}' });
  assert.deepEqual(read, { id: 12, type: "agent.started", entity: "a", timestamp: "t", data: { pid: 1 } });
});

test("the event list does not grow without bound", () => {
  const state = reduce(empty, Array.from({ length: 5000 }, (_, i) => event(i + 1, "agent.output", { lines: [] })));
  assert.equal(state.events.length, 300);
  assert.equal(state.cursor, 5000);
});

test("history goes before what is shown already, once", () => {
  const state = reduce(reduce(empty, [event(7, "state.snapshot", { agents: [], questions: [] }, "")]), [event(8, "agent.started")]);
  const shown = withHistory(state, [event(6, "agent.failed"), event(7, "agent.killed"), event(8, "agent.started")]);
  assert.deepEqual(shown.events.map(({ id }) => id), [6, 7, 8]);
  assert.equal(shown.cursor, 8);
});
