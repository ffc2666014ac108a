import assert from "node:assert/strict";
import { test } from "node:test";
import { parameterIn, viewIn } from "../base/views.ts";
import { chatAddress } from "../crew/texts.ts";
import { viewOf, viewOfKey } from "./routes.ts";

const key = (name: string, more = {}) => ({ key: name, ctrlKey: false, metaKey: false, altKey: false, ...more });

test("addresses lead to views, and to a chat and a subagent in it", () => {
  assert.deepEqual([viewIn("#view=board"), viewIn("#view=world"), viewIn("#run=x"), viewIn(""), viewIn("#view=nonsense")], ["board", "world", "runs", "runs", "runs"]);
  const address = chatAddress("2026-11-16-a b", "3f");
  assert.deepEqual([viewIn(address), parameterIn(address, "chat"), parameterIn(address, "subagent")], ["chats", "2026-11-16-a b", "3f"]);
});

test("the keys 1 to 9 lead to views, except with a modifier or in a field", () => {
  assert.deepEqual(["4", "6", "7", "8", "9", "0", "x"].map((name) => viewOfKey(key(name), false)), ["locks", "chats", "crew", "world", "everybody", null, null]);
  assert.deepEqual([viewOfKey(key("4"), true), viewOfKey(key("4", { ctrlKey: true }), false)], [null, null]);
});

test("events lead to the view of their subject", () => {
  const types = ["work.claimed", "agent.output", "memory.remembered", "subagent.tool", "definitions.changed", "live.agent_spoke"];
  assert.deepEqual(types.map((type) => viewOf({ type })), ["board", "runs", null, "chats", "crew", "world"]);
});
