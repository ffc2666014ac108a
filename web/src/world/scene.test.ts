import assert from "node:assert/strict";
import { test } from "node:test";
import { tileSize, wrap } from "./canvas.ts";
import { bodyAt, bubble_ms, fade_ms, sceneAt } from "./scene.ts";
import { applyWorld } from "./state.ts";
import { after, agent, known, local, walk } from "./world_fixture.ts";

test("frames are requested only while somebody walks or a bubble fades", () => {
  let world = known(agent("a"));
  assert.equal(sceneAt(world, local, false).next, null);
  world = after(world, { type: "agent_moved", seq: 11, agent_id: "a", x: 2, y: 2, ...walk });
  assert.equal(sceneAt(world, local + 500, false).next, 0);
  assert.equal(sceneAt(world, local + 1000, false).next, null, "arrived");
  const still = sceneAt(world, local + 250, true);
  assert.deepEqual([still.next, still.bodies[0]!.x, still.bodies[0]!.y], [null, 2, 2]);
  world = after(world, { type: "agent_speech", seq: 12, agent_id: "a", content: "hm", recipients: [] });
  const said = local + 500;
  assert.equal(sceneAt(world, said + 1000, false).next, bubble_ms - 1000, "a timer, not frames");
  const fading = sceneAt(world, said + bubble_ms + fade_ms / 2, false);
  assert.deepEqual([fading.next, fading.bubbles[0]!.opacity], [0, 0.5]);
  assert.deepEqual(sceneAt(world, said + bubble_ms + 1, true).bubbles, [], "without motion it goes at once");
  assert.deepEqual([sceneAt(world, said + bubble_ms + fade_ms, false).next, sceneAt(world, said + bubble_ms + fade_ms, false).bubbles.length], [null, 0]);
});

test("if many agents speak, the newest bubbles are shown", () => {
  let world = known(...Array.from({ length: 30 }, (_, i) => agent(`a${i}`)));
  for (let i = 0; i < 30; ++i) world = applyWorld(world, [{ type: "agent_speech", seq: 11 + i, agent_id: `a${29 - i}`, content: `word ${i}`, recipients: [] }], local + i);
  const { bubbles } = sceneAt(world, local + 100, false);
  assert.deepEqual([bubbles.length, bubbles[0]!.text, bubbles.at(-1)!.text], [12, "word 18", "word 29"]);
});

test("a click finds the agent at its position", () => {
  const scene = sceneAt(known(agent("a"), agent("b", { position: { x: 2, y: 1 } }), agent("nowhere", { position: null })), local, false);
  assert.deepEqual([scene.bodies.length, bodyAt(scene, 2.4, 1.6)?.id, bodyAt(scene, 0.2, 0.2)], [2, "b", null]);
});

test("the map fits, in whole pixels; text in bubbles is wrapped", () => {
  assert.deepEqual([tileSize({ cols: 20, rows: 11 }, 655, 900), tileSize({ cols: 64, rows: 64 }, 300, 300), tileSize({ cols: 2, rows: 2 }, 900, 900)], [32, 6, 40]);
  const measure = (text: string) => text.length;
  assert.deepEqual(wrap("one two three", 7, measure), ["one two", "three"]);
  assert.deepEqual(wrap("abcdefghij kl", 4, measure), ["abcd", "efgh", "i…"]);
  assert.deepEqual(wrap("", 7, measure), []);
});
