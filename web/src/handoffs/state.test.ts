import assert from "node:assert/strict";
import { test } from "node:test";
import { event } from "../base/event_fixture.ts";
import { applyHandoffs, chainsOf, handoffIdIn, newestOf } from "./state.ts";

test("handoffs are grouped by agent, newest first", () => {
  const written = (id: string, agent_name: string, created_at: string) => event("handoff.written", { id, agent_name, summary: id, created_at });
  const handoffs = applyHandoffs(new Map(), [written("a1", "ada", "1"), written("b1", "bob", "2"), written("a2", "ada", "3")]);
  assert.deepEqual(chainsOf(handoffs).map(({ agent, handoffs }) => [agent, handoffs.map(({ id }) => id)]), [["ada", ["a2", "a1"]], ["bob", ["b1"]]]);
});

test("an event contains only the beginning of a handoff and does not overwrite the full one", () => {
  const written = event("handoff.written", { handoff_id: "h1", agent_name: "ada", summary: "cut sh" }, "ada");
  assert.equal(handoffIdIn(written), "h1");
  assert.equal(applyHandoffs(new Map(), [written]).get("h1")?.summary, "cut sh");
  const full = applyHandoffs(new Map([["h1", { id: "h1", agent_name: "ada", summary: "cut short", next_steps: ["go on"] }]]), [written]);
  assert.deepEqual(full.get("h1"), { id: "h1", agent_name: "ada", summary: "cut short", next_steps: ["go on"], created_at: written.timestamp, handoff_id: "h1" });
});

test("the number of handoffs is limited, oldest removed first", () => {
  const many = Array.from({ length: 300 }, (_, i) => event("handoff.written", { id: `h${i}`, agent_name: "ada", created_at: String(1000 + i) }));
  const handoffs = applyHandoffs(new Map(), many);
  assert.deepEqual([handoffs.size, handoffs.has("h299"), handoffs.has("h0")], [200, true, false]);
});

test("an empty handoff is shown first only if there is no other", () => {
  const handoff = (id: string, empty: boolean) => ({ id, agent_name: "ada", summary: id, empty });
  const ids = (...handoffs: ReturnType<typeof handoff>[]) => {
    const { shown, others } = newestOf({ agent: "ada", handoffs });
    return [shown?.id, others.map(({ id }) => id)];
  };
  assert.deepEqual(ids(handoff("c", true), handoff("b", false), handoff("a", false)), ["b", ["c", "a"]]);
  assert.deepEqual(ids(handoff("b", true), handoff("a", true)), ["b", ["a"]]);
});
