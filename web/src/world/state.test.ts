import assert from "node:assert/strict";
import { test } from "node:test";
import { readWalk } from "./reading.ts";
import { agentsByName, clockOffset, empty_world, nameOf, positionAt, positionOnWalk } from "./state.ts";
import type { WorldMessage } from "./wire.ts";
import { activityText, behind, errorOf, positionText, receiptsText, recipientsText } from "./texts.ts";
import { after, agent, known, local, snapshot, walk } from "./world_fixture.ts";

test("a snapshot in several pages is applied when it is complete", () => {
  const first = snapshot(10, [agent("a")], { pages: 3 });
  const page = (page: number, id: string): WorldMessage => ({ type: "world_snapshot", seq: 10, page, pages: 3, space_id: "office", agents: [agent(id)] });
  let world = after(empty_world, first, page(2, "b"));
  assert.deepEqual([world.loaded, world.agents.size], [false, 0]);
  world = after(world, page(3, "c"));
  assert.deepEqual([world.loaded, [...world.agents.keys()], world.layout?.cols, world.cursor, world.incoming_snapshot], [true, ["a", "b", "c"], 4, 10, null]);
  assert.equal(after(empty_world, page(2, "b")).loaded, false, "the end of a snapshot whose beginning was lost");
});

test("a snapshot with a lower number is from another log, and is followed by its messages", () => {
  const world = after(known(agent("a")), snapshot(3, [agent("b")]), { type: "agent_left", seq: 4, agent_id: "b", reason: "terminated" });
  assert.deepEqual([world.agents.size, world.cursor], [0, 4]);
});

test("agents join, change and leave; repeated messages change nothing", () => {
  let world = after(known(agent("a")), { type: "agent_joined", seq: 11, agent: agent("b", { role: "cook" }) });
  const update: WorldMessage = { type: "agent_state_update", seq: 12, agent_id: "b", state: "thinking", old_state: "idle", position: { x: 2, y: 1 }, current_task: "soup", error: null };
  world = after(world, update, { ...update, seq: 11, state: "speaking" });
  const b = world.agents.get("b")!;
  assert.deepEqual([b.state, b.position, b.current_task, b.since, world.cursor], ["thinking", { x: 2, y: 1 }, "soup", new Date(local + 500).toISOString(), 12]);
  world = after(world, { type: "agent_state_update", seq: 13, agent_id: "b", state: "thinking", position: null, current_task: null, error: "the model is away" });
  assert.deepEqual([world.agents.get("b")!.since, world.agents.get("b")!.current_task, errorOf(world.agents.get("b")!)], [b.since, null, "the model is away"]);
  world = after(world, { type: "agent_left", seq: 14, agent_id: "b", reason: "terminated" });
  assert.deepEqual([...world.agents.keys()], ["a"]);
  assert.deepEqual(world.activities.map((activity) => `${activity.name} ${activityText(activity)}`), ["n-b joined (cook)", "n-b left"]);
});

test("heartbeats advance the cursor and set the clock; unknown messages are ignored", () => {
  const world = after(known(), { type: "heartbeat", seq: 40, now: "", now_ms: local + 500 + 9000 }, { type: "agent_dreamt", seq: 41, agent_id: "a" }, { type: "pong", now_ms: local + 500 + 8990 });
  assert.deepEqual([world.cursor, world.offset], [41, 9000]);
});

test("the clock offset is that of the fastest message, unless a clock was set", () => {
  assert.equal(clockOffset(50, 1040, 1000), 50, "this one was ten ms longer on its way");
  assert.equal(clockOffset(50, 1070, 1000), 70);
  assert.equal(clockOffset(50, 900_000, 1000), 899_000);
});

test("a position on a walk follows from path, time and speed", () => {
  const at = (ms: number) => { const { x, y, direction, is_walking } = positionOnWalk(walk, local + ms); return [x, y, direction, is_walking]; };
  assert.deepEqual(at(-100), [1, 1, "right", true]);
  assert.deepEqual(at(250), [1.5, 1, "right", true]);
  assert.deepEqual(at(750), [2, 1.5, "down", true]);
  assert.deepEqual(at(1000), [2, 2, "down", false]);
  assert.deepEqual(at(Infinity), [2, 2, "down", false]);
  assert.equal(readWalk({ ...walk, path: [{ x: 1, y: 1 }] }), null);
  assert.equal(readWalk({ ...walk, speed: 0 }), null);
  assert.equal(readWalk({ path: walk.path, t0: "2026-11-16T10:00:00.000Z", speed: 3 })?.t0_ms, Date.parse("2026-11-16T10:00:00Z"));
});

test("a walk continues if a reported position is on it, and ends otherwise", () => {
  let world = after(known(agent("a")), { type: "agent_moved", seq: 11, agent_id: "a", x: 2, y: 2, ...walk });
  world = after(world, { type: "agent_state_update", seq: 12, agent_id: "a", state: "listening", position: { x: 2, y: 1 }, current_task: null, error: null });
  const a = () => world.agents.get("a")!;
  assert.deepEqual([positionAt(a(), local + 250)?.x, positionAt(a(), local + 5000)?.y], [1.5, 2]);
  assert.deepEqual([positionText(a(), local + 250), positionText(a(), local + 5000)], ["going to 2,2", "at 2,2"]);
  world = after(world, { type: "agent_state_update", seq: 13, agent_id: "a", state: "idle", position: { x: 0, y: 2 }, current_task: null, error: null });
  assert.deepEqual(positionAt(a(), local + 250), { x: 0, y: 2, direction: "down", is_walking: false });
  assert.equal(positionAt({ position: null }, local), null);
});

test("speech sets the last message, a bubble and an activity; receipts belong to their message", () => {
  let world = after(known(agent("a"), agent("b")), { type: "agent_speech", seq: 11, agent_id: "a", content: "hello\u202e", recipients: ["b"], recipient_count: 1, message_id: "m1", position: { x: 1, y: 1 } },
    { type: "chat_broadcast", seq: 12, user_id: "player_0", name: "player_0", message: "hi", recipients: ["a", "b"], message_id: "m2", position: null },
    { type: "message_receipt", seq: 13, message_id: "m1", agent_id: "b", status: "acknowledged" }, { type: "message_receipt", seq: 14, message_id: "unknown", agent_id: "b", status: "delivered" });
  assert.equal(world.agents.get("a")!.last_message, "hello\u202e");
  assert.equal(activityText(world.activities[0]!), "hello‹U+202E›");
  assert.deepEqual([recipientsText(world.activities[1]!.to!), receiptsText(world.activities[0]!.receipts), world.activities[1]!.receipts], ["to n-a and n-b", "acknowledged by n-b", undefined]);
  world = after(world, snapshot(20, [agent("a")]));
  assert.equal(world.agents.get("a")!.bubble?.text, "hello\u202e", "a bubble outlives a snapshot");
});

test("what is said to one is shown as said to that one, whoever else hears it", () => {
  const world = after(known(agent("a"), agent("b"), agent("c")), { type: "agent_speech", seq: 11, agent_id: "a", content: "yes", recipient: "b", recipients: ["b", "c"], recipient_count: 2, message_id: "m1", position: null });
  assert.equal(recipientsText(world.activities[0]!.to!), "to n-b");
});

test("an agent that waits for a place to think says so until it has one, or does something else", () => {
  const waits: WorldMessage = { type: "agent_waiting", seq: 11, agent_id: "a", waiting: "for a place to think", mind: "sonnet" };
  let world = after(known(agent("a")), waits);
  assert.equal(world.agents.get("a")!.waiting, "for a place to think");
  assert.equal(after(world, { ...waits, seq: 12, waiting: null }).agents.get("a")!.waiting, null);
  world = after(world, { type: "agent_state_update", seq: 12, agent_id: "a", state: "listening", position: { x: 1, y: 1 }, current_task: null, error: null });
  assert.equal(world.agents.get("a")!.waiting, null);
});

test("tasks, postponed moves and stuck agents", () => {
  let world = after(known(agent("a")), { type: "task_assigned", seq: 11, agent_id: "a", task_id: "t1", task_name: "sweep" }, { type: "action_held", seq: 12, agent_id: "a", action: "move", x: 3, y: 1, reason: "it speaks" }, { type: "agent_stuck", seq: 13, agent_id: "a", reason: "no answer", since: "" });
  assert.deepEqual([world.agents.get("a")!.current_task, errorOf(world.agents.get("a")!)], ["sweep", "stuck: no answer"]);
  world = after(world, { type: "task_completed", seq: 14, agent_id: "a", task_id: "other", task_name: "x", result: "", status: "completed" });
  assert.equal(world.agents.get("a")!.current_task, "sweep", "another task was completed");
  world = after(world, { type: "task_completed", seq: 15, agent_id: "a", task_id: "t1", task_name: "sweep", result: "no broom", status: "failed" }, { type: "agent_state_update", seq: 16, agent_id: "a", state: "idle", position: { x: 1, y: 1 }, current_task: null, error: null });
  assert.deepEqual([world.agents.get("a")!.current_task, errorOf(world.agents.get("a")!)], [null, ""]);
  assert.deepEqual(world.activities.map(activityText), ["was assigned a task: sweep", "postponed move to 3,1: it speaks", "is stuck: no answer", "completed a task: x", "failed a task: sweep: no broom"]);
});

test("a broadcast is shown unchanged", () => {
  const world = after(known(agent("a")), { type: "agent_broadcast", seq: 11, agent_id: "a", data: { mood: "\u001b[31mgood" } });
  assert.equal(activityText(world.activities[0]!), 'broadcast: {"mood":"\\u001b[31mgood"}');
});

test("an agent that walks in a snapshot arrives at its destination", () => {
  const a = known(agent("a", { position: { x: 2, y: 1 }, walk })).agents.get("a")!;
  assert.deepEqual([positionAt(a, local + 250)?.x, positionAt(a, local + 9000)?.y], [1.5, 2]);
});

test("users of a long snapshot may be on its later pages", () => {
  const world = after(empty_world, snapshot(10, [], { pages: 2, users: [{ user_id: "u1" }], warning: "no such file" }), { type: "world_snapshot", seq: 10, page: 2, pages: 2, users: [{ user_id: "u2" }], agents: [agent("a")] });
  assert.deepEqual([[...world.users.keys()], world.agents.size, world.warning], [["u1", "u2"], 1, "no such file"]);
});

test("users join, move and leave", () => {
  let world = after(known(), { type: "user_joined", seq: 11, user_id: "player_0", name: "Kim", is_agent: false, position: { x: 1, y: 1 } }, { type: "position_update", seq: 12, user_id: "player_0", x: 2, y: 1, direction: "right" });
  assert.deepEqual([world.users.get("player_0")?.position, nameOf(world, "player_0")], [{ x: 2, y: 1 }, "Kim"]);
  world = after(world, { type: "user_left", seq: 13, user_id: "player_0" });
  assert.deepEqual([world.users.size, nameOf(world, "player_0"), nameOf(world, "x")], [0, "player_0", "x"]);
});

test("number and length of activities are limited", () => {
  const many = Array.from({ length: 300 }, (_, i): WorldMessage => ({ type: "agent_speech", seq: 11 + i, agent_id: "a", content: "x".repeat(20_000), recipients: [], message_id: `m${i}` }));
  const world = after(known(agent("a")), ...many);
  assert.deepEqual([world.activities.length, world.activities[0]!.seq, world.activities[0]!.text.length], [100, 211, 8000]);
});

test("fields of the wrong type are treated as missing", () => {
  const world = after(known(agent("a")), { type: "world_snapshot", seq: 20, layout: 3, agents: [null, 7, { name: "no id" }, { agent_id: "b", state: "dreaming", position: "here", walk: { path: 3 } }], users: "none" },
    { type: "agent_moved", seq: 21, agent_id: "b", x: "1", path: null }, { type: "agent_joined", seq: 22, agent: null }, { type: "position_update", seq: 23 });
  assert.deepEqual([...world.agents.values()].map(({ agent_id, name, state, position }) => [agent_id, name, state, position]), [["b", "b", "idle", null]]);
});

test("a state update contains how far behind an agent is", () => {
  const world = after(known(agent("a")), { type: "agent_state_update", seq: 11, agent_id: "a", state: "speaking", lag: 7 });
  assert.equal(behind(world.agents.get("a")!), "7 events behind");
});

test("agents are listed by name, then by id", () => {
  const { agents } = known(agent("1", { name: "zoe" }), agent("3", { name: "ada" }), agent("2", { name: "ada" }));
  assert.deepEqual(agentsByName(agents).map(({ agent_id }) => agent_id), ["2", "3", "1"]);
});
