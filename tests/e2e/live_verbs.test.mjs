// Live agents by the verbs of the command line.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Live } from "./harness/live.mjs";

test("the verbs: cru spawn --live, cru say, cru world, cru live", async (t) => {
  const live = await Live.started({ agents: { poet: { prompt: "You speak in rhymes." } } }, t);
  const socket = await live.connect();
  const spawned = await live.cru("spawn", "--live", "poet", "--name", "Ada", "--at", "7,5", "--task", "write an ode");
  assert.equal(spawned.code, 0, spawned.stderr);
  const { agent } = await socket.waitFor("agent_joined");
  assert.deepEqual([agent.name, agent.definition, agent.position], ["Ada", "poet", { x: 7, y: 5 }]);
  const said = await live.cru("say", "--to", "Ada", "How does it go?");
  assert.equal(said.code, 0, said.stderr);
  await socket.waitFor(({ type, message }) => type === "chat_broadcast" && message === "How does it go?");
  await socket.waitFor("agent_speech");
  const world = await live.cru("world");
  assert.equal(world.code, 0, world.stderr);
  assert.match(world.stdout, /Ada/);
  assert.match((await live.cru("live", "list")).stdout, new RegExp(`${agent.agent_id}.*Ada`));
  assert.match((await live.cru("live", "conversation", agent.agent_id)).stdout, /How does it go\?/);
  const refused = await live.cru("spawn", "--live", "nobody");
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /nobody/);
});
