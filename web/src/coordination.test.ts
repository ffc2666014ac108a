import assert from "node:assert/strict";
import { test } from "node:test";
import { applyAll, blockers, board, chains, handoffIn, locksInOrder, nothing_shared, sessionsInOrder, takeLists, type Lists } from "./coordination.ts";
import { viewIn, viewOf, viewOfKey } from "./views.ts";
import { ahead, describeShared, oneLine, subjectOf, why } from "./words_coordination.ts";
import type { LogEvent } from "./wire.ts";
import type { Work } from "./wire_coordination.ts";

let next = 0;
const event = (type: string, data: Record<string, unknown>, entity = ""): LogEvent =>
  ({ id: ++next, type, entity, timestamp: `2026-11-16T10:00:${String(next % 60).padStart(2, "0")}.000Z`, data });
const lists = (some: Partial<Lists> = {}): Lists => ({ sessions: [], locks: [], work: [], handoffs: [], ...some });
const lock = (file_path: string, locked_by: string, fencing_token: number) => ({ file_path, locked_by, fencing_token, session_id: `s-${locked_by}`, waiters: 0 });

test("a lock is there from acquired to released or expired, and a refresh keeps it", () => {
  let state = applyAll(nothing_shared, [event("lock.acquired", lock("src/a", "ada", 1)), event("lock.acquired", lock("src/b", "bob", 2))]);
  state = applyAll(state, [event("lock.refreshed", { ...lock("src/a", "ada", 1), expires_at: "later", waiters: 2 })]);
  assert.deepEqual(locksInOrder(state.locks).map(({ file_path, waiters, expires_at }) => [file_path, waiters, expires_at]), [["src/a", 2, "later"], ["src/b", 0, undefined]]);
  state = applyAll(state, [event("lock.released", lock("src/a", "ada", 1)), event("lock.expired", lock("src/b", "bob", 2))]);
  assert.equal(state.locks.size, 0);
});

test("waiting for a lock makes no lock", () => {
  const state = applyAll(nothing_shared, [event("lock.acquired", lock("src/**", "ada", 1)), event("lock.waiting", { file_path: "src/a", agent_id: "bob", locked_by: "ada" })]);
  assert.deepEqual([...state.locks.keys()], ["src/**"]);
});

test("the end of an earlier holder's lock, told again, does not end the present one's", () => {
  const state = takeLists(nothing_shared, lists({ locks: [lock("src/a", "bob", 7)] }), [event("lock.released", lock("src/a", "ada", 6))]);
  assert.equal(state.locks.get("src/a")?.locked_by, "bob");
});

test("events that came while the lists were on their way are applied to them", () => {
  const state = takeLists(nothing_shared, lists({ locks: [lock("src/a", "ada", 1)], work: [{ task_id: "w", status: "pending" }] }), [
    event("lock.released", lock("src/a", "ada", 1)),
    event("work.claimed", { task_id: "w", status: "claimed", claimed_by: "bob" }),
    event("work.submitted", { task_id: "v", status: "pending", description: "new" }),
  ]);
  assert.equal(state.locks.size, 0);
  assert.equal(state.work.get("w")?.status, "claimed");
  assert.equal(state.work.get("v")?.description, "new");
});

test("lists replace what was known", () => {
  const before = applyAll(nothing_shared, [event("lock.acquired", lock("gone", "ada", 1))]);
  assert.equal(before.locks.size, 1);
  assert.equal(takeLists(before, lists(), []).locks.size, 0);
  assert.equal(takeLists(before, { sessions: [] }, []).locks.size, 1, "only those that were read");
});

test("events of other rooms leave the very same state", () => {
  assert.equal(applyAll(nothing_shared, [event("agent.started", {}), event("memory.remembered", {})]), nothing_shared);
});

test("work moves over the board, and says why it waits", () => {
  let state = applyAll(nothing_shared, [
    event("work.submitted", { task_id: "a", status: "pending", priority: 5, task_type: "build", description: "A" }),
    event("work.submitted", { task_id: "b", status: "pending", priority: 1, depends_on: ["a"] }),
  ]);
  let columns = board(state.work, 0);
  assert.deepEqual([columns.pending, columns.blocked].map((list) => list.map(({ task_id }) => task_id)), [["a"], ["b"]]);
  assert.equal(why(state.work.get("b")!, state.work, 0), "waits for a (nobody has it)");
  state = applyAll(state, [event("work.claimed", { task_id: "a", status: "claimed", claimed_by: "ada" })]);
  assert.equal(why(state.work.get("b")!, state.work, 0), "waits for a (with ada)");
  state = applyAll(state, [event("work.verifying", { task_id: "a", status: "running", verify: ["make", "test"] })]);
  assert.equal(why(state.work.get("a")!, state.work, 0), "being verified: make test");
  assert.equal(board(state.work, 0)["in hand"].length, 1);
  state = applyAll(state, [event("work.completed", { task_id: "a", status: "completed" }), event("work.unblocked", { task_id: "b", status: "pending" })]);
  columns = board(state.work, 0);
  assert.deepEqual([columns.pending[0]?.task_id, columns.done[0]?.task_id], ["b", "a"]);
  state = applyAll(state, [event("work.cancelled", { task_id: "b", status: "cancelled", error_message: "not needed" })]);
  assert.equal(board(state.work, 0).failed[0]?.task_id, "b");
  assert.equal(why(state.work.get("b")!, state.work, 0), "not needed");
});

test("of a dependency that is not on the board the list's word counts, until it is unblocked", () => {
  let state = takeLists(nothing_shared, { work: [{ task_id: "b", status: "pending", depends_on: ["old", "done"], blocked_by: ["old"] }] }, []);
  assert.deepEqual(blockers(state.work.get("b")!, state.work), ["old"]);
  assert.equal(why(state.work.get("b")!, state.work, 0), "waits for old");
  state = applyAll(state, [event("work.unblocked", { task_id: "b", status: "pending", depends_on: ["old", "done"] })]);
  assert.deepEqual(board(state.work, 0).pending.map(({ task_id }) => task_id), ["b"]);
});

test("work that waits for its next attempt says when and why", () => {
  const work: Work = { task_id: "a", status: "pending", retry_at: "2026-11-16T10:00:30Z", error_message: "tests\nfailed" };
  const now = Date.parse("2026-11-16T10:00:00Z");
  assert.equal(why(work, new Map(), now), "tries again in 30 s after: tests failed");
  assert.equal(why(work, new Map(), now + 31_000), "came back: tests failed");
  const all = new Map([["a", work]]);
  assert.deepEqual([board(all, now).blocked.length, board(all, now + 31_000).pending.length], [1, 1]);
});

test("an event without a status still moves the item", () => {
  const state = applyAll(nothing_shared, [event("work.submitted", { description: "x" }, "w"), event("work.failed", { error_message: "boom" }, "w")]);
  assert.equal(state.work.get("w")?.status, "failed");
  assert.equal(state.work.get("w")?.description, "x");
});

test("a session is live until it ends; its calls are signs of life; it may come back", () => {
  let state = applyAll(nothing_shared, [event("session.started", { session_id: "s-ada", agent_id: "ada", status: "active", last_heartbeat: "2026-11-16T09:00:00.000Z", capabilities: ["test"] })]);
  const acquired = event("lock.acquired", lock("src/a", "ada", 1));
  state = applyAll(state, [acquired]);
  assert.equal(state.sessions.get("s-ada")?.last_heartbeat, acquired.timestamp);
  state = applyAll(state, [event("session.disconnected", { session_id: "s-ada", agent_id: "ada", status: "disconnected" })]);
  assert.equal(state.sessions.get("s-ada")?.status, "disconnected");
  assert.ok(state.sessions.get("s-ada")?.ended_at);
  const handoff = event("handoff.written", { id: "h", agent_name: "ada", session_id: "s-ada", summary: "over", kind: "final" });
  state = applyAll(state, [handoff]);
  assert.equal(state.sessions.get("s-ada")?.last_heartbeat, acquired.timestamp, "what the daemon writes for the dead is no sign of life");
  state = applyAll(state, [event("session.updated", { session_id: "s-ada", status: "active" })]);
  assert.deepEqual([state.sessions.get("s-ada")?.status, state.sessions.get("s-ada")?.ended_at, state.sessions.get("s-ada")?.capabilities], ["active", null, ["test"]]);
});

test("several sessions of one agent are told apart; the gone and people come last", () => {
  const state = takeLists(nothing_shared, lists({ sessions: [
    { session_id: "1", agent_id: "zoe", status: "active" }, { session_id: "2", agent_id: "ada", status: "disconnected" },
    { session_id: "3", agent_id: "ada", status: "idle", started_at: "2" }, { session_id: "4", agent_id: "ada", status: "active", started_at: "1" },
    { session_id: "5", agent_id: "ann", agent_type: "person", status: "active" },
  ] }), []);
  assert.deepEqual(sessionsInOrder(state.sessions).map(({ session_id }) => session_id), ["4", "3", "1", "5", "2"]);
});

test("handoffs are one chain for each agent, newest first", () => {
  const written = (id: string, agent_name: string, created_at: string) => event("handoff.written", { id, agent_name, summary: id, created_at });
  const state = applyAll(nothing_shared, [written("a1", "ada", "1"), written("b1", "bob", "2"), written("a2", "ada", "3")]);
  assert.deepEqual(chains(state.handoffs).map(({ agent, handoffs }) => [agent, handoffs.map(({ id }) => id)]), [["ada", ["a2", "a1"]], ["bob", ["b1"]]]);
});

test("an event of a handoff is its beginning, and does not overwrite what is known in full", () => {
  const told = event("handoff.written", { handoff_id: "h1", agent_name: "ada", summary: "cut sh" }, "ada");
  assert.equal(handoffIn(told), "h1");
  assert.equal(applyAll(nothing_shared, [told]).handoffs.get("h1")?.summary, "cut sh");
  const full = takeLists(nothing_shared, { handoffs: [{ id: "h1", agent_name: "ada", summary: "cut short", next_steps: ["go on"] }] }, [told]);
  assert.deepEqual(full.handoffs.get("h1"), { id: "h1", agent_name: "ada", summary: "cut short", next_steps: ["go on"], created_at: told.timestamp, handoff_id: "h1" });
});

test("what has ended is forgotten at a limit, what is open never", () => {
  const many = Array.from({ length: 800 }, (_, i) => event("work.completed", { task_id: `w${i}`, status: "completed", completed_at: String(1000 + i) }));
  const state = applyAll(nothing_shared, [event("work.submitted", { task_id: "open", status: "pending" }), ...many]);
  assert.equal(state.work.size, 301);
  assert.ok(state.work.has("open") && state.work.has("w799") && !state.work.has("w0"));
});

test("what agents wrote is shown as text, its controls made visible", () => {
  const hostile = event("lock.acquired", { file_path: "src/\u202egnp.exe", locked_by: "ada\x1b[2J", reason: "a\nb\x07" });
  assert.equal(subjectOf(hostile), "src/‹U+202E›gnp.exe");
  assert.equal(describeShared(hostile), "ada · a b␇");
  assert.equal(oneLine("x".repeat(500)).length, 401);
  assert.equal(subjectOf(event("work.claimed", {}, "w1")), "w1");
});

test("times ahead", () => {
  assert.equal(ahead("2026-11-16T10:00:10Z", Date.parse("2026-11-16T10:00:00Z")), "in 10 s");
  assert.equal(ahead("2026-11-16T10:00:10Z", Date.parse("2026-11-16T10:00:11Z")), "now");
  assert.equal(ahead(null, 0), "");
});

test("addresses, keys and events lead to views", () => {
  assert.deepEqual([viewIn("#view=board"), viewIn("#run=x"), viewIn(""), viewIn("#view=nonsense")], ["board", "runs", "runs", "runs"]);
  const key = (name: string, more = {}) => ({ key: name, ctrlKey: false, metaKey: false, altKey: false, ...more });
  assert.deepEqual([viewOfKey(key("4"), false), viewOfKey(key("4"), true), viewOfKey(key("4", { ctrlKey: true }), false), viewOfKey(key("9"), false), viewOfKey(key("x"), false)], ["locks", null, null, null, null]);
  assert.deepEqual([viewOf({ type: "work.claimed" }), viewOf({ type: "agent.output" }), viewOf({ type: "memory.remembered" })], ["board", "runs", null]);
});
