import assert from "node:assert/strict";
import { test } from "node:test";
import { event } from "../base/event_fixture.ts";
import { applyWork, blockers, board } from "./state.ts";
import type { Work } from "./wire.ts";
import { explanationOf } from "./texts.ts";

const none: ReadonlyMap<string, Work> = new Map();

test("items move across the board and explain why they wait", () => {
  let work = applyWork(none, [
    event("work.submitted", { task_id: "a", status: "pending", priority: 5, task_type: "build", description: "A" }),
    event("work.submitted", { task_id: "b", status: "pending", priority: 1, depends_on: ["a"] }),
  ]);
  let columns = board(work, 0);
  assert.deepEqual([columns.pending, columns.blocked].map((list) => list.map(({ task_id }) => task_id)), [["a"], ["b"]]);
  assert.equal(explanationOf(work.get("b")!, work, 0), "waiting for a (not claimed yet)");
  work = applyWork(work, [event("work.claimed", { task_id: "a", status: "claimed", claimed_by: "ada" })]);
  assert.equal(explanationOf(work.get("b")!, work, 0), "waiting for a (claimed by ada)");
  work = applyWork(work, [event("work.verifying", { task_id: "a", status: "running", verify: ["make", "test"] })]);
  assert.equal(explanationOf(work.get("a")!, work, 0), "verifying: make test");
  assert.equal(board(work, 0)["in progress"].length, 1);
  work = applyWork(work, [event("work.completed", { task_id: "a", status: "completed" }), event("work.unblocked", { task_id: "b", status: "pending" })]);
  columns = board(work, 0);
  assert.deepEqual([columns.pending[0]?.task_id, columns.done[0]?.task_id], ["b", "a"]);
  work = applyWork(work, [event("work.cancelled", { task_id: "b", status: "cancelled", error_message: "not needed" })]);
  assert.equal(board(work, 0).failed[0]?.task_id, "b");
  assert.equal(explanationOf(work.get("b")!, work, 0), "not needed");
});

test("a dependency that is not on the board blocks as the list says, until unblocked", () => {
  let work: ReadonlyMap<string, Work> = new Map([["b", { task_id: "b", status: "pending", depends_on: ["old", "done"], blocked_by: ["old"] }]]);
  assert.deepEqual(blockers(work.get("b")!, work), ["old"]);
  assert.equal(explanationOf(work.get("b")!, work, 0), "waiting for old");
  work = applyWork(work, [event("work.unblocked", { task_id: "b", status: "pending", depends_on: ["old", "done"] })]);
  assert.deepEqual(board(work, 0).pending.map(({ task_id }) => task_id), ["b"]);
});

test("an item that will be retried says when and why", () => {
  const work: Work = { task_id: "a", status: "pending", retry_at: "2026-11-16T10:00:30Z", error_message: "tests\nfailed" };
  const now = Date.parse("2026-11-16T10:00:00Z");
  assert.equal(explanationOf(work, none, now), "retrying in 30 s after: tests failed");
  assert.equal(explanationOf(work, none, now + 31_000), "returned to the queue: tests failed");
  const all = new Map([["a", work]]);
  assert.deepEqual([board(all, now).blocked.length, board(all, now + 31_000).pending.length], [1, 1]);
});

test("an event without a status still moves the item", () => {
  const work = applyWork(none, [event("work.submitted", { description: "x" }, "w"), event("work.failed", { error_message: "boom" }, "w")]);
  assert.deepEqual([work.get("w")?.status, work.get("w")?.description], ["failed", "x"]);
});

test("closed items are limited, open items are not", () => {
  const many = Array.from({ length: 800 }, (_, i) => event("work.completed", { task_id: `w${i}`, status: "completed", completed_at: String(1000 + i) }));
  const work = applyWork(none, [event("work.submitted", { task_id: "open", status: "pending" }), ...many]);
  assert.equal(work.size, 301);
  assert.ok(work.has("open") && work.has("w799") && !work.has("w0"));
});
