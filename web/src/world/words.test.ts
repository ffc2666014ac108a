import assert from "node:assert/strict";
import { test } from "node:test";
import { hearersOf } from "./state.ts";
import { fieldOf, hearersText, readPlace, sinceText } from "./words.ts";
import { agent, known, local } from "./world_fixture.ts";

test("places, fields, hearers and times", () => {
  assert.deepEqual(["4,7", " (4, 7) ", "4 7", "4", "a,b", "4,7,1", "-1,2", "400,1"].map(readPlace), [{ x: 4, y: 7 }, { x: 4, y: 7 }, { x: 4, y: 7 }, null, null, null, null, null]);
  assert.deepEqual(["agent_config.name", "to[3]", "x", ""].map(fieldOf), ["name", "to", "x", ""]);
  const world = known(agent("a"), agent("b"));
  const heard = (...ids: string[]) => hearersText(hearersOf(world, ids));
  assert.equal(hearersText(hearersOf(world, [], 7)), "to 7 agents", "everybody is counted, not named");
  assert.deepEqual([heard(), heard("a"), heard("a", "b", "c", "d")], ["to nobody", "to n-a", "to n-a, n-b, c and 1 other"]);
  assert.equal(sinceText(agent("a", { since: new Date(local).toISOString() }) as never, local + 12_000), "12 s");
});
