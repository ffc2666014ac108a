// Live agents whose mind is a program: it is asked, and it ends with its agent.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noneLeft, waitFor } from "./harness.mjs";
import { Live } from "./harness/live.mjs";

const saying = (decision) => [{ say: JSON.stringify(decision) }];

test("an agent with cli_backend claude thinks with that program, in the requirement's words", async (t) => {
  const live = await Live.started({
    live: { idle_time: "1s" },
    standin: { replies: [{ when: "Analyze situation and decide next action", steps: saying({ action: "speak", content: "Claude was here" }) }] },
  }, t);
  const socket = await live.connect();
  const { agent_id, warning } = await socket.must("agent_spawned", { type: "agent_spawn_request", agent_config: { name: "Assistant", role: "helper", cli_backend: "claude", initial_position: { x: 10, y: 5 } } });
  assert.ok(!warning, warning);
  const speech = await socket.waitFor("agent_speech");
  assert.deepEqual([speech.agent_id, speech.content], [agent_id, "Claude was here"]);
  assert.ok(live.starts("claude").length >= 1);
  await socket.must("agent_terminated", { type: "agent_terminate_request", agent_id });
  await noneLeft(live, "after it has left");
});

test("termination ends the program that it thinks with", async (t) => {
  const live = await Live.started({ live: { idle_time: "500ms" }, standin: { replies: [{ when: "Analyze", steps: [{ hang: true }] }] } }, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Assistant", cli_backend: "claude" });
  await waitFor(() => live.starts("claude").length === 1, { what: "the program is started" });
  await socket.must("agent_terminated", { type: "agent_terminate_request", agent_id: id });
  await noneLeft(live, "after it has left");
});
