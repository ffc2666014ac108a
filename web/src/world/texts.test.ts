import assert from "node:assert/strict";
import { test } from "node:test";
import { recipientsOf } from "./state.ts";
import { fieldOf, parseTile, recipientsText, sinceText } from "./texts.ts";
import { agent, known, local } from "./world_fixture.ts";

test("tiles, fields, recipients and times", () => {
  assert.deepEqual(["4,7", " (4, 7) ", "4 7", "4", "a,b", "4,7,1", "-1,2", "400,1"].map(parseTile), [{ x: 4, y: 7 }, { x: 4, y: 7 }, { x: 4, y: 7 }, null, null, null, null, null]);
  assert.deepEqual(["agent_config.name", "to[3]", "x", ""].map(fieldOf), ["name", "to", "x", ""]);
  const world = known(agent("a"), agent("b"));
  const heard = (...ids: string[]) => recipientsText(recipientsOf(world, ids));
  assert.equal(recipientsText(recipientsOf(world, [], 7)), "to 7 agents", "without names, the recipients are counted");
  assert.deepEqual([heard(), heard("a"), heard("a", "b", "c", "d")], ["to nobody", "to n-a", "to n-a, n-b, c and 1 other"]);
  assert.equal(sinceText(agent("a", { since: new Date(local).toISOString() }) as never, local + 12_000), "12 s");
});
