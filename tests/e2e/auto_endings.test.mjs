// How conversations of auto mode end besides keyword, timer, user and exit: the tool end_conversation, a budget, conditions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { allHome, begin, ended, models, startedAuto, talkers } from "./harness/auto.mjs";

const endTool = (reason) => [{ name: "end_conversation", input: { reason } }];

test("a mind that takes tools ends it with end_conversation: its last words are spoken first", async (t) => {
  const minds = await talkers(t, ["I begin.", { text: "And I end.", tools: endTool("all is said") }]);
  const live = await startedAuto({ minds }, t);
  const socket = await live.connect();
  const { agentIds } = await begin(socket, { models });
  const over = await ended(socket);
  assert.deepEqual([over.reason, over.detail], ["tool", "Bertrand ended the conversation: all is said"]);
  assert.deepEqual(socket.of("agentMessage").map(({ text }) => text), ["I begin.", "And I end."]);
  assert.equal(socket.of("agent_speech").at(-1).content, "And I end.");
  assert.ok(minds.server.requests.every(({ tools }) => tools.includes("end_conversation")));
  assert.match(minds.server.requests[0].system, /the tool end_conversation/);
  await allHome(live, agentIds);
});

test("a mind that uses the tool without a word ends it too", async (t) => {
  const minds = await talkers(t, [{ text: "", tools: endTool("") }]);
  const live = await startedAuto({ minds }, t);
  const socket = await live.connect();
  await begin(socket, { models });
  assert.deepEqual([(await ended(socket)).reason, socket.of("agentMessage").length], ["tool", 0]);
});

test("a model that takes no tools is asked without them", async (t) => {
  const minds = await talkers(t, ["unused"]);
  let n = 0;
  minds.server.script(({ tools }) => (tools.length ? { status: 400, body: JSON.stringify({ error: { type: "invalid_request_error", message: "model-1 does not support tools" } }) } : { text: ++n < 3 ? `words ${n}` : "Done. [CONVERSATION_END]" }));
  const live = await startedAuto({ minds }, t);
  const socket = await live.connect();
  await begin(socket, { models });
  assert.equal((await ended(socket)).reason, "keyword");
  assert.deepEqual(socket.of("agentMessage").map(({ text }) => text), ["words 1", "words 2", "Done."]);
  assert.equal(minds.server.requests.filter(({ tools }) => tools.length).length, 1, "it is offered once in a conversation");
});

test("a budget of turns or tokens ends it", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  const { endsWhen } = await begin(socket, { maxTurns: 3 });
  assert.equal(endsWhen, "3 turns");
  const over = await ended(socket);
  assert.deepEqual([over.reason, over.detail, over.turns], ["budget", "the budget was used up: 3 turns", 3]);
  assert.equal(socket.of("agentMessage").length, 3);
  const from = socket.mark;
  const started = await live.cru("auto", "start", "zoo", "--max-tokens", "1");
  assert.match(started.stdout, /until {3}1 token\n/, started.stderr);
  assert.deepEqual([(await ended(socket, from)).turns, (await live.must(200, live.get("/auto"))).reason], [1, "budget"]);
  for (const [field, value] of [["maxTurns", 0], ["maxTurns", "three"], ["maxTokens", -1]]) assert.equal((await socket.ask({ type: "startAutoMode", [field]: value })).field, field);
});

test("composed conditions end it: any of, all of, words, turns, tokens and time; nonsense is refused with its place", async (t) => {
  const minds = await talkers(t, ["I say nothing yet.", "So WE AGREE on nothing.", "Why?", "I go on."]);
  const live = await startedAuto({ minds }, t);
  const socket = await live.connect();
  await begin(socket, { models, until: { all: [{ text: "we agree" }, { turns: 3 }] } });
  const over = await ended(socket);
  assert.deepEqual([over.reason, over.detail, over.turns], ["condition", 'its end condition was met: all of (the text "we agree"; 3 turns)', 3]);
  const from = socket.mark;
  const words = JSON.stringify({ any: [{ tokens: 1000000 }, { time_ms: 700 }] });
  const started = await live.cru("auto", "start", "zoo", "--until", words, "--cli-backends", "test-model");
  assert.match(started.stdout, /until {3}any of \(1000000 tokens; 700ms\)/, started.stderr + started.stdout);
  assert.equal((await ended(socket, from)).reason, "condition");
  for (const [until, field] of [["soon", "until"], [{ turns: 0 }, "until.turns"], [{ any: [{ turns: 2 }, { words: "x" }] }, "until.any[1]"], [{ turns: 2, tokens: 3 }, "until"], [{ any: [] }, "until.any"]]) {
    const { type, code, field: named } = await socket.ask({ type: "startAutoMode", until });
    assert.deepEqual([type, code, named], ["error", "invalid_argument", field], JSON.stringify(until));
  }
  assert.equal((await live.must(200, live.get("/auto"))).active, false);
});

test("end_conversation is for whoever's turn it is, and for nobody else", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  await begin(socket, { topic: "zoo", timeoutMs: 3_600_000 });
  assert.equal((await live.post("/auto/end", { reason: "mine" })).status, 403, "a person stops it by other means");
  await live.sh("sly", `curl -s -X POST -H 'Content-Type: application/json' -d '{"reason":"sly"}' --unix-socket ${live.path(".coven/covend.sock")} http://localhost/auto/end; echo; echo the end`);
  await live.outputWith("sly", "the end");
  assert.match((await live.output("sly")).map(({ data }) => data).join("\n"), /forbidden/);
  assert.ok([null, "keyword"].includes((await live.must(200, live.get("/auto"))).reason));
});
