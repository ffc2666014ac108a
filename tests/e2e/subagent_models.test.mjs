// Which model a subagent thinks with, what that costs, and which agents there are to spawn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cast, filed, report, served, spawning, told } from "./harness/cast.mjs";
import { codeOf, messageOf } from "./harness.mjs";

const usage = { input: 2000, output: 300 };
const one = (more) => ({ assistant: [{ text: "x", tools: [spawning("worker", "w", more)], usage: { input: 100, output: 10 } }, { text: "done", usage: { input: 100, output: 10 } }], worker: { text: report("Fine."), usage } });
const close = (a, b) => Math.abs(a - b) < 1e-6;

test("SA-33: the definition's model is asked, told, and paid for at its own price", async (t) => {
  const { crew, asked } = await cast(t, one(), { agents: { worker: { model: "haiku" } } });
  const chat = await crew.chat({ message: "go" });
  assert.deepEqual([asked("worker")[0].model, asked("assistant")[0].model], ["model-2", "model-1"]);
  const { subagents: [{ front }], metadata } = await filed(chat);
  assert.deepEqual([front.model, front.model_source, front.tokens], ["haiku", "definition", 2300]);
  const cost = (2000 * 1 + 300 * 5) / 1e6;
  assert.ok(close(front.cost_usd, cost), `${front.cost_usd}`);
  const total = cost + (200 * 3 + 20 * 15) / 1e6;
  assert.ok(close(metadata.cost_usd, total), `${metadata.cost_usd}`);
  assert.equal(metadata.total_tokens, 2300 + 220);
  const record = await chat.record();
  assert.ok(close(record.cost_usd, total) && record.total_tokens === 2520);
  assert.ok(close(chat.events("subagent.completed")[0].data.cost_usd, cost));
});

test("SA-34: without a model it is sonnet, or what is configured; `inherit` is the parent's", async (t) => {
  const plain = await cast(t, one());
  const chat = await plain.crew.chat({ message: "go", model: "haiku" });
  const { front } = (await filed(chat)).subagents[0];
  assert.deepEqual([front.model, front.model_source], ["sonnet", "default"]);
  const set = await cast(t, { ...one(), heir: { text: report("h") } }, { settings: { crew: { default_model: "haiku" } }, agents: { heir: { model: "inherit" } } });
  const other = await set.crew.chat({ message: "go" });
  const configured = (await filed(other)).subagents[0].front;
  assert.deepEqual([configured.model, configured.model_source, (await other.record()).model], ["haiku", "default", "haiku"]);
  assert.equal(set.asked("worker")[0].model, "model-2");
  const { task_id } = await set.crew.must(201, set.crew.spawnAgent({ agent: "heir", task: "x" }));
  assert.equal((await set.crew.subagentOver(task_id)).model, "haiku");
});

test("SA-35: a spawn may name another model; it is kept, and a wrong one is refused with those there are", async (t) => {
  const { crew, asked } = await cast(t, one({ model: "haiku" }));
  const chat = await crew.chat({ message: "go" });
  const { subagents: [{ front }], metadata } = await filed(chat);
  assert.deepEqual([front.model, front.model_source, metadata.subagents[0].model_override], ["haiku", "override", "haiku"]);
  assert.equal(asked("worker")[0].model, "model-2");
  const wrong = await cast(t, one({ model: "hiaku" }));
  const refused = await wrong.crew.chat({ message: "go" });
  const [{ is_error, text }] = told(wrong.asked("assistant"));
  assert.ok(is_error);
  assert.match(text, /unknown model: hiaku \(valid: [^)]*haiku[^)]*sonnet[^]*field model[^]*did you mean haiku/);
  assert.deepEqual([(await filed(refused)).subagents.length, wrong.asked("worker").length, await refused.answer()], [0, 0, "done"]);
  const reply = await wrong.crew.spawnAgent({ agent: "worker", task: "x", model: "hiaku" });
  assert.deepEqual([reply.status, codeOf(reply.json), reply.json.field], [400, "invalid_argument", "model"]);
});

/// A primary that spawns the agent of this name once a turn.
const spawnsEachTurn = (agent) => ({ assistant: ({ turn }) => (turn % 2 === 0 ? { text: "x", tools: [spawning(agent, "do it")] } : { text: "done" }) });

test("SA-01: a file put into .crucible/agents is an agent: listed by the next invocation, and spawned by a primary", async (t) => {
  const { crew, asked } = await cast(t, spawnsEachTurn("release-notes"));
  const chat = await crew.chat({ message: "go" });
  assert.match(told(asked("assistant"))[0].text, /agent not found/, "not before the file is there");
  crew.define("release-notes", { prompt: "You are release-notes. Be brief." });
  const listed = await crew.cru("agents", "list");
  assert.match(listed.stdout, /^release-notes +\S+ +project +read,search +The release-notes of the tests$/m);
  await chat.say("again");
  const [, result] = told(asked("assistant"));
  assert.equal(result.is_error, false, result.text);
  assert.match(result.text, /release-notes is done/);
  assert.deepEqual(asked("release-notes").map(({ system, task }) => [system, task]), [["You are release-notes. Be brief.", "do it"]]);
});

test("SA-04: of two agents of one name the project's is listed with its path, and is the one that a spawn runs", async (t) => {
  const { crew, asked } = await cast(t, spawnsEachTurn("tester"), { user_agents: { tester: { prompt: "You are tester. Of the user.", model: "haiku" } } });
  const chat = await crew.chat({ message: "go" });
  assert.match((await crew.cru("agents", "list")).stdout, /^tester +haiku +system /m);
  crew.define("tester", { prompt: "You are tester. Of the project.", model: "sonnet" });
  await crew.trust();
  const { stdout } = await crew.cru("agents", "list");
  assert.match(stdout, /^tester +sonnet +project\* /m);
  assert.match(stdout, /^\* \.crucible\/agents\/tester\.md overrides the system agent$/m);
  await chat.say("again");
  assert.deepEqual(asked("tester").map(({ system, model }) => [system, model]), [["You are tester. Of the user.", "model-2"], ["You are tester. Of the project.", "model-1"]]);
  const by_hand = await crew.cru("run", "tester", "and by hand");
  assert.equal(by_hand.code, 0, by_hand.stderr);
  assert.equal(asked("tester").at(-1).system, "You are tester. Of the project.");
});

test("SA-36, SA-37, SA-38: a disabled agent is not there, and is again once it is enabled", async (t) => {
  const { crew, asked } = await cast(t, { assistant: ({ turn }) => (turn % 2 === 0 ? { text: "x", tools: [spawning("worker", "w"), { name: "get_agent", input: { name: "worker" } }, { name: "list_agents", input: {} }] } : { text: "done" }), worker: { text: report("Fine.") } },
    { agents: { worker: { enabled: false } } });
  const chat = await crew.chat({ message: "go" });
  const [spawned, got, listed] = told(asked("assistant"));
  assert.ok(spawned.is_error && got.is_error);
  assert.match(spawned.text, /agent not found/);
  assert.match(got.text, /agent not found/);
  assert.doesNotMatch(listed.text, /"worker"/);
  const reply = await crew.spawnAgent({ agent: "worker", task: "x" });
  assert.equal(reply.status, 404, reply.text);
  assert.match(messageOf(reply.json), /^agent not found/);
  const isListed = async () => /^worker /m.test((await crew.cru("agents", "list")).stdout);
  assert.equal(await isListed(), false);
  await crew.killDaemon("SIGTERM");
  crew.define("worker", { enabled: true });
  await crew.startDaemon();
  assert.equal(await isListed(), true);
  await chat.say("again");
  assert.deepEqual(told(asked("assistant")).slice(3).map(({ is_error }) => is_error), [false, false, false]);
  crew.define("worker", {});
  assert.equal(await isListed(), true);
  await chat.say("without the field");
  assert.equal(told(asked("assistant"))[6].is_error, false);
  assert.equal((await filed(chat)).subagents.length, 2);
});

test("SA-08: the primary can read a definition, its prompt too", async (t) => {
  const { crew, asked } = await cast(t, { assistant: [{ text: "x", tools: [{ name: "get_agent", input: { name: "worker" } }, { name: "list_agents", input: {} }, { name: "get_agent", input: { name: "nobody" } }, { name: "get_agent", input: { name: "off" } }] }, { text: "done" }], worker: {} },
    { agents: { worker: { prompt: "You are worker. Use the [[kiln]].", model: "haiku" }, off: { enabled: false } } });
  await crew.chat({ message: "go" });
  const [got, listed, nobody, off] = told(asked("assistant"));
  for (const field of ["name", "description", "permissions", "model", "source", "path"]) assert.ok(got.text.includes(`"${field}"`), `${field}: ${got.text}`);
  assert.match(got.text, /Use the \[\[kiln\]\]/);
  assert.match(got.text, /haiku/);
  assert.match(listed.text, /"worker"/);
  for (const { is_error, text } of [nobody, off]) assert.ok(is_error && /agent not found/.test(text), text);
});

test("a mind that cannot be had is the subagent's failure, with what to do", async (t) => {
  const { crew } = await cast(t, one(), { models: { sonnet: served(), haiku: { provider: "openai", id: "x" } }, keys: { anthropic: "sk-test-0123456789" }, agents: { worker: { model: "haiku" } } });
  const chat = await crew.chat({ message: "go" });
  assert.equal(await chat.answer(), "done");
  const { front } = (await filed(chat)).subagents[0];
  assert.deepEqual([front.status, front.error_type], ["failed", "not_configured"]);
  assert.match(front.error_message, /OPENAI_API_KEY|key/);
});
