// Programs as minds of auto mode: Claude Code and Codex talk to each other. Stand-ins in the ordinary suite; the real ones, named
// by CRU_TEST_CLAUDE and CRU_TEST_CODEX, offline against a model without a mind on loopback.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { noneLeft, waitFor } from "./harness.mjs";
import { allHome, begin, ended, startedAuto, written } from "./harness/auto.mjs";
import { codex_bin } from "./harness/codex.mjs";
import { Live } from "./harness/live.mjs";
import { claude_bin, claudes, codexs, needs_claude, needs_codex, settleClaude } from "./harness/real_clients.mjs";
import { ModelServer } from "./fixtures/model_server.mjs";

const models = ["claude", "codex"];

test("a stand-in of Claude Code and one of Codex talk to each other, to the keyword", async (t) => {
  const live = await startedAuto({ standin: { replies: [
    { when: "Second words", steps: [{ say: "Third words. [CONVERSATION_END]" }] },
    { when: "First words", steps: [{ say: "Second words." }] },
    { when: "taking part in a conversation", steps: [{ say: "First words." }] },
  ] } }, t);
  const socket = await live.connect();
  const { agentIds, modelName } = await begin(socket, { models });
  assert.equal(modelName, "claude, codex");
  const over = await ended(socket);
  assert.equal(over.reason, "keyword", over.detail);
  assert.deepEqual(socket.of("agentMessage").map(({ id, text }) => [id, text]), [[agentIds[0], "First words."], [agentIds[1], "Second words."], [agentIds[0], "Third words."]]);
  assert.deepEqual([live.starts("claude").length, live.starts("codex").length], [2, 1]);
  await noneLeft(live, "after the end");
  await allHome(live, agentIds);
});

for (const program of models)
  test(`a stand-in of ${program} ends it with end_conversation over MCP, and says its last words`, async (t) => {
    const live = await startedAuto({ standin: { replies: [{ when: "taking part in a conversation", steps: [{ call: "end_conversation", input: { reason: "nothing to add" } }, { say: "Goodbye. {{result}}" }] }] } }, t);
    const socket = await live.connect();
    await begin(socket, { models: [program] });
    const over = await ended(socket);
    assert.deepEqual([over.reason, over.detail], ["tool", "Ada ended the conversation: nothing to add"]);
    assert.match(socket.of("agentMessage")[0].text, /^Goodbye\. .*ends with your reply/);
    await noneLeft(live, "after the end");
  });

for (const on_restart of ["resume", "end"]) test(`kill -9 while a program thinks: with on_restart ${on_restart} its run is ${on_restart === "resume" ? "followed, not started again" : "ended"}`, async (t) => {
  const live = new Live({ standin: { replies: [] }, settings: { auto_mode: { on_restart } } });
  t.after(() => live.close());
  const go = join(live.home, "go");
  live.follow({ replies: [{ when: "First words", steps: [{ say: "Second words. [CONVERSATION_END]" }] }, { when: "taking part in a conversation", steps: [{ until: go }, { say: "First words." }] }] });
  await live.startDaemon();
  const socket = await live.connect();
  await begin(socket, { models: ["claude"] });
  await waitFor(() => live.starts("claude").length === 1, { what: "the program thinks" });
  await live.killDaemon();
  await live.startDaemon();
  if (on_restart === "resume") writeFileSync(go, "");
  const next = await live.connect({ query: { since: String(socket.cursor) } });
  assert.equal((await ended(next)).reason, on_restart === "resume" ? "keyword" : "restart");
  if (on_restart === "end") return noneLeft(live, "after the end");
  assert.equal(live.starts("claude").length, 2, "once for each turn");
  assert.deepEqual((await written(live)).messages.map(({ text }) => text), ["First words.", "Second words."]);
  await noneLeft(live, "after the end");
});

test("a run that happens to have a turn's name is not followed: only after a restart it may be its program", async (t) => {
  const live = new Live({ standin: { replies: [] } });
  t.after(() => live.close());
  const go = join(live.home, "go");
  live.follow({ replies: [{ when: "First words", steps: [{ say: "Second words. [CONVERSATION_END]" }] }, { when: "taking part in a conversation", steps: [{ until: go }, { say: "First words." }] }] });
  await live.startDaemon();
  const socket = await live.connect();
  const { conversationId } = await begin(socket, { models: ["claude"] });
  const reply = { type: "result", subtype: "success", is_error: false, num_turns: 1, session_id: "s", result: "I am somebody else." };
  await live.sh(`live-${conversationId}-2`, `echo '${JSON.stringify(reply)}'`);
  writeFileSync(go, "");
  assert.equal((await ended(socket)).reason, "keyword");
  assert.deepEqual(socket.of("agentMessage").map(({ text }) => text), ["First words.", "Second words."]);
});

test("a program that fails is started anew when it is asked again", async (t) => {
  const live = await startedAuto({ standin: { replies: [{ when: "taking part in a conversation", steps: [{ fail: { exit: 3, stderr: "out of coffee" } }] }] } }, t);
  const socket = await live.connect();
  await begin(socket, { models: ["claude"] });
  const over = await ended(socket);
  assert.deepEqual([over.reason, live.starts("claude").length], ["agent_exit", 3]);
  assert.match(over.detail, /^Ada could not answer: /);
});

/// A project whose claude and codex are the real ones, and whose model says what `reply` says to a request.
async function realTalkers(t, reply) {
  const model = await ModelServer.start({ is_strict: false }, t);
  model.script((request) => reply(request) ?? { text: "ok" });
  const live = new Live({ bin: [dirname(claude_bin)], live: { think_timeout: "10m" }, models: { sonnet: { provider: "claude", id: "sonnet" }, gpt: { provider: "codex", id: "gpt-5.5" } } });
  t.after(() => live.close());
  Object.assign(live.env, settleClaude(live, model), { CODEX_API_KEY: "loopback", IS_SANDBOX: "1", PATH: `${live.home}/bin:${live.env.PATH}` });
  for (const folder of [".codex", "bin"]) mkdirSync(join(live.home, folder), { recursive: true });
  // A mind has no configuration of its user's, so where its model is has to be said on its command line.
  const loopback = `{name="loopback",base_url="${model.url}/v1",env_key="CODEX_API_KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}`;
  writeFileSync(join(live.home, "bin/codex"), `#!/bin/sh\nexec=$1; shift\nexec ${codex_bin} $exec -c 'model_provider="loopback"' -c 'model_providers.loopback=${loopback}' "$@"\n`, { mode: 0o755 });
  await live.startDaemon();
  return { live, model, socket: await live.connect() };
}
const needs_both = { skip: needs_claude.skip || needs_codex.skip };
const real = { models: ["sonnet", "gpt"], topic: "Should tools be shared?", timeoutMs: 3_600_000 };
const seen = (model) => model.requests.map(({ text, system }) => `${system?.slice(-200)}\n> ${text?.slice(-300)}`).join("\n---\n");

test("a real Claude Code and a real Codex talk to each other, to the keyword", needs_both, async (t) => {
  const { live, model, socket } = await realTalkers(t, ({ text }) =>
    text.includes("a doubt of Codex") ? { text: "Then we agree. [CONVERSATION_END]" }
    : text.includes("a claim of Claude") ? { text: "That is a doubt of Codex." }
    : text.includes("taking part in a conversation") ? { text: "That is a claim of Claude." } : null);
  const { agentIds } = await begin(socket, real);
  const over = await ended(socket);
  assert.equal(over.reason, "keyword", `${over.detail}\n${seen(model)}\n${await live.logged()}`);
  assert.deepEqual(socket.of("agentMessage").map(({ id, text }) => [id, text]), [[agentIds[0], "That is a claim of Claude."], [agentIds[1], "That is a doubt of Codex."], [agentIds[0], "Then we agree."]]);
  const { messages } = await written(live);
  assert.ok(messages.every(({ tokens }) => tokens > 0), JSON.stringify(messages));
  await noneLeft(live, "after the end");
});

for (const { name, turn, words } of [{ name: "Claude Code", turn: 0, words: claudes }, { name: "Codex", turn: 1, words: codexs }])
  test(`a real ${name} ends it with end_conversation`, needs_both, async (t) => {
    const { live, model, socket } = await realTalkers(t, ({ text, results }) => {
      if (results.length) return { text: "Those were my last words." };
      const is_first = text.includes("taking part in a conversation") && !text.includes("a claim of Claude");
      if (turn === (is_first ? 0 : 1)) return words.cru("end_conversation", { reason: "enough" });
      return is_first ? { text: "That is a claim of Claude." } : null;
    });
    await begin(socket, real);
    const over = await ended(socket);
    assert.deepEqual([over.reason, over.detail], ["tool", `${turn ? "Bertrand" : "Ada"} ended the conversation: enough`], `${seen(model)}\n${await live.logged()}`);
    assert.equal(socket.of("agentMessage").at(-1).text, "Those were my last words.");
    await noneLeft(live, "after the end");
  });
