import assert from "node:assert/strict";
import { test } from "node:test";
import { event } from "../base/event_fixture.ts";
import { parameterIn, viewIn } from "../base/views.ts";
import { placeOf, targetIn, viewOfKey } from "./routes.ts";

const key = (name: string, more = {}) => ({ key: name, ctrlKey: false, metaKey: false, altKey: false, ...more });

test("addresses lead to views, and to a member by its id, its run or its thread", () => {
  assert.deepEqual([viewIn("#view=board"), viewIn("#view=world"), viewIn("#run=x"), viewIn(""), viewIn("#view=nonsense")], ["board", "world", "crew", "crew", "crew"]);
  const inHash = (hash: string) => targetIn((name) => parameterIn(hash, name));
  assert.deepEqual([inHash("#run=build"), inHash("#view=crew&member=m-1&tab=session"), inHash("#view=crew&thread=a%20b"), inHash("#view=board")],
    [{ by: "run", id: "build" }, { by: "member", id: "m-1" }, { by: "thread", id: "a b" }, null]);
});

test("the keys 1 to 6 lead to views, except with a modifier or in a field", () => {
  assert.deepEqual(["1", "2", "3", "4", "5", "6", "7", "0", "x"].map((name) => viewOfKey(key(name), false)), ["crew", "board", "locks", "handoffs", "world", "definitions", null, null, null]);
  assert.deepEqual([viewOfKey(key("4"), true), viewOfKey(key("4", { ctrlKey: true }), false)], [null, null]);
});

test("events lead to the view of their subject, or to the member", () => {
  assert.deepEqual(["work.claimed", "lock.acquired", "definitions.changed", "live.agent_spoke"].map((type) => placeOf(event(type))), ["board", "locks", "definitions", "world"]);
  assert.deepEqual(placeOf(event("agent.output", {}, "build")), { by: "run", id: "build" });
  assert.deepEqual(placeOf(event("agent.question", { member: "m-1" }, "ada")), { by: "member", id: "m-1" });
  assert.deepEqual(placeOf(event("session.updated", {}, "s1")), { by: "session", id: "s1" });
  assert.deepEqual(placeOf(event("member.joined", {}, "m-1")), { by: "member", id: "m-1" });
  assert.deepEqual(placeOf(event("chat.turn", {}, "c")), { by: "thread", id: "c" });
  assert.deepEqual(placeOf(event("subagent.tool", { task_id: "3f" }, "c")), { by: "thread", id: "3f" });
});
