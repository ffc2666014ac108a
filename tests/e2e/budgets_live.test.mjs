// What live agents and their conversations spend: thoughts that nobody asked for are few where they cost something, and every
// conversation counts to its members and the day.
import assert from "node:assert/strict";
import { test } from "node:test";
import { begin, ended, models, startedAuto, talkers, written } from "./harness/auto.mjs";
import { Live, Minds } from "./harness/live.mjs";

const budget = async (live, scope) => live.must(200, live.get(`/budgets/${encodeURIComponent(scope)}`));

test("a live agent whose mind costs something thinks by itself live.paid_thoughts times, then only every live.paid_idle_time, whatever the project says", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds, live: { idle_time: "200ms", paid_idle_time: "100ms" }, user_settings: { live: { paid_idle_time: "1h", paid_thoughts: 1 } } }, t);
  const socket = await live.connect();
  const paid = await live.bring(socket, { name: "Paid" });
  const free = await live.bring(socket, { name: "Free", cli_backend: "scripted" });
  const rounds = () => socket.of("agent_state_update", ({ agent_id, state }) => agent_id === free && state === "thinking").length;
  await socket.until(() => rounds() >= 5);
  assert.equal(minds.thoughts("Paid").length, 1, "nobody asked it for more");
  await socket.must("message_accepted", { type: "chat_message", message: "Paid, are you there?", to: [paid] }).catch(() => {});
  await minds.thought("Paid", 2);
});

test("conversations of auto mode count to their members and the day, scripted ones too", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  const { agentIds } = await begin(socket, { maxTurns: 4 });
  const over = await ended(socket);
  assert.equal(over.reason, "budget");
  const { tokens: spoken } = await written(live, over.conversationId);
  assert.ok(spoken > 0, JSON.stringify(over));
  const day = await budget(live, "day");
  assert.deepEqual([day.tokens, day.usd, day.unpriced_tokens], [spoken, 0, 0]);
  const members = await Promise.all(agentIds.map((id) => budget(live, `member:m-${id}`)));
  assert.equal(members.reduce((sum, { tokens }) => sum + tokens, 0), spoken);
});

test("conversations of models count to their members and the day", async (t) => {
  const minds = await talkers(t, ["I say something."]);
  const live = await startedAuto({ minds }, t);
  const socket = await live.connect();
  const { agentIds } = await begin(socket, { models, maxTurns: 3 });
  const over = await ended(socket);
  const { tokens: spoken } = await written(live, over.conversationId);
  const day = await budget(live, "day");
  assert.ok(day.tokens > 0 && day.tokens === spoken, JSON.stringify([day, spoken]));
  const members = await Promise.all(agentIds.map((id) => budget(live, `member:m-${id}`)));
  assert.equal(members.reduce((sum, { tokens }) => sum + tokens, 0), day.tokens);
});
