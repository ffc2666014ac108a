// Traces of live agents and of auto mode: a span for each thought and each turn, one trace for each conversation.
import assert from "node:assert/strict";
import { test } from "node:test";
import { begin, ended, models, startedAuto, talkers } from "./harness/auto.mjs";
import { Collector } from "./harness/collector.mjs";
import { Live, Minds } from "./harness/live.mjs";

test("a conversation of auto mode is one trace: its turns at the collector, to the model's server and in `cru sessions trace`", async (t) => {
  const collector = await Collector.start(t);
  const minds = await talkers(t, ["SECRET one.", "SECRET two. [CONVERSATION_END]"]);
  const live = await startedAuto({ minds, env: collector.env }, t);
  const socket = await live.connect();
  const { conversationId: id, traceId, agentIds } = await begin(socket, { models, topic: "SECRET topic" });
  assert.match(traceId, /^[0-9a-f]{32}$/);
  const over = await ended(socket);
  assert.equal(over.traceId, traceId);
  const whole = await collector.named("invoke_workflow auto_mode");
  // Before the conversation begins and after it, they may have thoughts of their own, in traces of their own.
  const turnOf = (name) => collector.span((span) => span.name === `invoke_agent ${name}` && span.trace === traceId, `the turn of ${name}`);
  const [ada, bertrand] = [await turnOf("Ada"), await turnOf("Bertrand")];
  assert.deepEqual([whole.trace, whole.parent, whole.is["gen_ai.operation.name"], whole.is["gen_ai.workflow.name"], whole.is["gen_ai.conversation.id"], whole.is["cru.ending"]], [traceId, null, "invoke_workflow", "auto_mode", id, "keyword"]);
  for (const [turn, agent] of [[ada, agentIds[0]], [bertrand, agentIds[1]]])
    assert.deepEqual([turn.trace, turn.parent, turn.is["gen_ai.operation.name"], turn.is["gen_ai.agent.id"], turn.is["gen_ai.conversation.id"], turn.failed], [traceId, whole.id, "invoke_agent", agent, id, false]);
  const reply = await collector.span(({ name, parent }) => name === "chat model-1" && parent === ada.id, "the model's reply of the first turn");
  assert.deepEqual([reply.trace, reply.kind, reply.is["gen_ai.provider.name"]], [traceId, "client", reply.is["gen_ai.provider.name"]]);
  assert.equal(minds.server.requests[0].headers.traceparent, `00-${traceId}-${reply.id}-01`);
  for (const { text } of collector.requests) assert.ok(!text.includes("SECRET"), text);

  for (const asked of [id, id.slice(0, -1), traceId]) {
    const shown = await live.cru("sessions", "trace", asked);
    assert.equal(shown.code, 0, `${asked}: ${shown.stderr}`);
    assert.match(shown.stdout, new RegExp(`^trace ${traceId}  completed .*\nuser\n└─ ✓ auto mode .*\n   ├─ ✓ #1 Ada +test-model .*\n   └─ ✓ #2 Bertrand +test-model `), asked);
  }
  const trace = await live.must(200, live.get(`/traces/${id}`));
  assert.deepEqual([trace.kind, trace.spans.map(({ agent, parent }) => [agent, parent])], ["auto", [["auto mode", null], ["Ada", id], ["Bertrand", id]]]);
  assert.ok(trace.tokens > 0);
});

test("the thoughts of a live agent are one trace, and a failed one is told as such", async (t) => {
  const collector = await Collector.start(t);
  const minds = await Minds.start(t);
  minds.decide("Eve", { action: "speak", message: "SECRET hello" }, "no decision at all");
  const live = await Live.started({ minds, env: collector.env }, t);
  const socket = await live.connect();
  const eve = await live.bring(socket, { name: "Eve" });
  await socket.must("message_accepted", { type: "chat_message", message: "SECRET hello?", to: [eve] });
  const thought = await collector.named("invoke_agent Eve");
  const { trace_id } = await live.agent(eve);
  assert.deepEqual([thought.trace, thought.parent, thought.is["gen_ai.agent.id"], thought.is["gen_ai.conversation.id"], thought.failed], [trace_id, null, eve, eve, false]);
  const reply = await collector.span(({ name, parent }) => name === "chat model-1" && parent === thought.id, "the model's reply");
  assert.equal(minds.thoughts("Eve")[0].headers.traceparent, `00-${trace_id}-${reply.id}-01`);
  for (const { text } of collector.requests) assert.ok(!text.includes("SECRET"), text);
  for (const asked of [eve, trace_id]) {
    const shown = await live.cru("sessions", "trace", asked);
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(shown.stdout, new RegExp(`^trace ${trace_id} .*\nuser\n└─ \\S Eve +test-model .*\n[^]*└─ ✓ #1 Eve +test-model `), asked);
  }
});
