// Auto mode and kill -9 of the daemon in every phase of a conversation: it goes on or ends, as configured, and is never left
// between the two.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { allHome, begin, ended, startedAuto, written } from "./harness/auto.mjs";

/// Until when the daemon lives, for a conversation whose start was answered.
const phases = {
  "when it has just begun": async () => {},
  "while the first one thinks": (socket) => socket.waitFor("autoModeTurnChange"),
  "while the first one speaks": (socket) => socket.waitFor("agentMessage"),
  "while the second one walks": (socket, ids) => socket.waitFor(({ type, agent_id }) => type === "agent_moved" && agent_id === ids[1]),
  "in the middle": (socket) => socket.until(() => socket.of("agentMessage").length >= 4),
};

for (const [on_restart, outcome] of [["resume", "goes on to its end"], ["end", "ends with a reason"]])
  for (const [phase, reached] of Object.entries(phases))
    test(`kill -9 ${phase}: with on_restart ${on_restart} it ${outcome}`, async (t) => {
      const live = await startedAuto({ settings: { auto_mode: { on_restart } }, live: { scripted_delay: "100ms", min_speech_time: "200ms" } }, t);
      const socket = await live.connect();
      const { agentIds, conversationId } = await begin(socket, { topic: "boredom" });
      await reached(socket, agentIds);
      await live.killDaemon();
      const before = socket.of("agentMessage").map(({ text }) => text);
      await live.startDaemon();
      const next = await live.connect({ query: { since: String(socket.cursor) } });
      const over = await ended(next);
      assert.deepEqual([over.conversationId, over.reason], [conversationId, on_restart === "resume" ? "keyword" : "restart"]);
      await allHome(live, agentIds);
      const { messages, active, reason } = await written(live);
      const said = messages.map(({ text }) => text);
      assert.deepEqual([active, reason], [false, over.reason]);
      assert.deepEqual(said.slice(0, before.length), before, "nothing is lost");
      assert.equal(new Set(said).size, said.length, "nothing is said twice");
      assert.equal((await live.events("?type=live.auto_mode_ended&limit=100")).length, 1);
    });

test("kill -9 before the start is answered: it began or it did not, and both ways everything can go on", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  socket.send({ type: "startAutoMode", topic: "zoo" });
  await live.killDaemon();
  await live.startDaemon();
  const next = await live.connect();
  const { active } = (await next.snapshot()).auto_mode;
  if (active) await next.must("autoModeState", { type: "stopAutoMode" });
  const { agentIds } = await begin(next, { topic: "boredom" });
  assert.equal(agentIds.length, 2);
  await next.must("autoModeState", { type: "stopAutoMode" });
  await allHome(live, agentIds);
});

test("kill -9 while three conversations go on: each goes on to its own end", async (t) => {
  const live = await startedAuto({ live: { scripted_delay: "50ms", min_speech_time: "100ms" } }, t);
  const socket = await live.connect();
  const ids = [(await begin(socket, { topic: "boredom" })).conversationId];
  for (const topic of ["zoo", "privacy"]) ids.push((await socket.must("autoModeState", { type: "startAutoMode", topic, beside: true })).conversationId);
  await socket.until(() => ids.every((id) => socket.of("agentMessage", ({ conversationId }) => conversationId === id).length >= 1));
  await live.killDaemon();
  await live.startDaemon();
  const all = await waitFor(async () => {
    const { conversations } = await live.must(200, live.get("/auto/conversations"));
    return conversations.every(({ active }) => !active) && conversations;
  }, { what: "all have ended" });
  assert.deepEqual(all.map(({ conversationId, reason }) => [conversationId, reason]).sort(), ids.map((id) => [id, "keyword"]).sort());
  await allHome(live, all.flatMap(({ agentIds }) => agentIds));
});
