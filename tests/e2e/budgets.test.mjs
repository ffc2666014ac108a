// Budgets: how much chats, runs and days may spend, what happens when that is spent, and that nothing of it is forgotten.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cru_bin, isAlive, waitFor } from "./harness.mjs";
import { cast, report, spawning } from "./harness/cast.mjs";
import { Crew } from "./harness/crew.mjs";

/// A reply of so many tokens altogether.
const costs = (text, tokens) => ({ text, usage: { input: tokens - 10, output: 10 } });
const budget = async (crew, scope) => crew.must(200, crew.get(`/budgets/${encodeURIComponent(scope)}`));
const asked = (crew) => waitFor(async () => (await crew.questions("?pending=true"))[0], { what: "a person is asked" });
const answer = (crew, { id }, words) => crew.must(200, crew.post(`/questions/${id}/answer`, { answer: words }));
const claude = (replies, more = {}) => ({ standin: { replies }, models: { sonnet: { provider: "claude", id: "model-1" } }, agents: { worker: { prompt: "You are worker." } }, ...more });
/// A program's work of many replies: each is 11 tokens in the stand-in.
const chatter = (when, count = 500) => ({ when, steps: Array.from({ length: count }, (_, n) => [{ say: `step ${n}` }, { sleep: 20 }]).flat() });

test("a chat stops after the reply that spends its budget, says why, and goes on when more is added", async (t) => {
  const { crew, asked: requests } = await cast(t, { assistant: costs("ok", 70) });
  const chat = await crew.chat({ message: "one", budget: "tokens=100,when=stop" });
  assert.deepEqual((await budget(crew, `chat:${chat.id}`)).limits.tokens, 100);
  await chat.say("two");
  assert.equal((await chat.idle()).error, undefined, "the last reply may exceed the limit");
  await chat.say("three");
  const { error } = await chat.idle();
  assert.equal(error.type, "budget_exhausted");
  assert.match(error.message, /chat .* has spent its budget: 140 tokens of 100 tokens/);
  assert.equal(requests("assistant").length, 2, "nothing more was asked of the model");
  const raised = await crew.must(200, crew.post("/budgets", { scope: `chat:${chat.id}`, add: "tokens=100" }));
  assert.deepEqual([raised.limits.tokens, raised.tokens, raised.usd > 0, raised.turns], [200, 140, true, 2]);
  await chat.say("four");
  assert.equal((await chat.idle()).error, undefined);
  const day = await budget(crew, "day");
  assert.equal(day.tokens, 210, "the day counts everything");
  const types = (await crew.events("?since=0")).map(({ type }) => type).filter((type) => type.startsWith("budget."));
  assert.ok(types.includes("budget.warning") && types.includes("budget.changed"), String(types));
});

test("with `pause` a person is asked in the inbox: adding goes on with the same turn, stopping ends it", async (t) => {
  const { crew, asked: requests } = await cast(t, { assistant: costs("ok", 100) }, { user_settings: { budgets: { chat: { tokens: 50 } } } });
  const chat = await crew.chat({ message: "one" });
  await chat.say("two", { wait: false });
  const question = await asked(crew);
  assert.match(question.prompt, /chat .* has spent its budget: 100 tokens of 50 tokens/);
  assert.deepEqual(question.options, ["add as much again", "stop"]);
  assert.equal(requests("assistant").length, 1, "nothing is spent while the person is asked");
  await answer(crew, question, "tokens=200");
  assert.equal((await chat.idle()).error, undefined);
  assert.equal((await budget(crew, `chat:${chat.id}`)).limits.tokens, 250);
  await chat.say("three");
  await chat.say("four", { wait: false });
  await answer(crew, await asked(crew), "stop");
  assert.equal((await chat.idle()).error.type, "budget_exhausted");
  await chat.say("five");
  assert.equal((await chat.idle()).error.type, "budget_exhausted", "whoever said no is not asked again");
  assert.equal((await crew.questions("?pending=true")).length, 0);
});

test("a question of a budget is withdrawn with the turn that waits for it", async (t) => {
  const { crew } = await cast(t, { assistant: costs("ok", 100) });
  const chat = await crew.chat({ message: "one", budget: "turns=1" });
  await chat.say("two", { wait: false });
  const { id } = await asked(crew);
  await chat.cancel();
  assert.equal((await chat.idle()).error.type, "cancelled");
  assert.equal((await crew.must(200, crew.get(`/questions/${id}`))).status, "expired");
  await chat.say("three", { wait: false });
  const again = await asked(crew);
  assert.notEqual(again.id, id);
  await answer(crew, again, "1");
  assert.equal((await chat.idle()).error, undefined);
});

test("the budget of a chat covers its whole tree; an agent's own is set aside and comes back", async (t) => {
  const { crew, asked: requests } = await cast(t, {
    assistant: [{ text: "I ask.", tools: [spawning("worker", "one"), spawning("worker", "two")], usage: { input: 5, output: 5 } }, costs("Done.", 20)],
    worker: costs(report("Part done."), 100),
  }, { agents: { worker: { budget: { tokens: 150, turns: 5 } } } });
  const chat = await crew.chat({ message: "go", budget: "tokens=100,when=stop" });
  const { error } = await chat.idle();
  assert.equal(error?.type, "budget_exhausted");
  const { subagents } = await chat.record();
  assert.deepEqual(subagents.map(({ status, error_type }) => [status, error_type]), [["completed", null], ["failed", "budget_exhausted"]]);
  assert.equal(requests("worker").length, 1);
  assert.equal((await budget(crew, `chat:${chat.id}`)).tokens, 110);
  const own = await budget(crew, `run:${subagents[0].task_id}`);
  assert.deepEqual([own.tokens, own.limits.tokens, own.source], [100, 150, "definition"]);
  assert.equal((await budget(crew, `chat:${chat.id}`)).reserved_tokens, 0, "nothing is left set aside");
});

test("what failed replies and evaluations cost counts, and is not forgotten when the daemon is killed", async (t) => {
  const { crew } = await cast(t, {
    judged: costs(report("Fine."), 100), evaluation: costs(JSON.stringify({ passed: true, score: 1, critique: "" }), 40),
  }, { agents: { judged: { enable_reflection: true, reflection_criteria: ["it is fine"] } } });
  const { task_id } = await crew.must(201, crew.spawnAgent({ agent: "judged", task: "do it", budget: "tokens=1000" }));
  await crew.subagentOver(task_id);
  assert.equal((await budget(crew, `run:${task_id}`)).tokens, 140);
  await crew.killDaemon();
  await crew.startDaemon();
  assert.equal((await budget(crew, `run:${task_id}`)).tokens, 140);
  assert.equal((await budget(crew, "day")).tokens, 140);
});

test("money is counted, and where the price is not known that is said: tokens are enforced, money alone is refused", async (t) => {
  const { crew } = await cast(t, { assistant: costs("ok", 1000) }, { models: { sonnet: { provider: "anthropic", id: "model-1" } } });
  const refused = await crew.chat({ message: "one", budget: "usd=5" });
  const { error } = await refused.idle();
  assert.equal(error.type, "budget_exhausted");
  assert.match(error.message, /the price of sonnet is not known/);
  const counted = await crew.chat({ message: "one", budget: "usd=5,tokens=500,when=stop" });
  const told = await budget(crew, `chat:${counted.id}`);
  assert.deepEqual([told.tokens, told.usd, told.unpriced_tokens], [1000, 0, 1000]);
  await counted.say("two");
  assert.equal((await counted.idle()).error.type, "budget_exhausted");
});

test("a budget that is spent stops a tree of programs within one reply of each, and all of their processes", async (t) => {
  const spawn = (task) => ({ call: "spawn_agent", input: { agent: "worker", task, wait_seconds: 0 } });
  const crew = await Crew.started(claude([{ when: "lead", steps: [spawn("part one"), spawn("part two"), { hang: true }] }, chatter("part one"), chatter("part two")], { user_settings: { crew: { max_concurrent: 2 } } }), t);
  const chat = await crew.chat({ message: "lead the work", budget: "tokens=300,when=stop" });
  assert.equal((await chat.idle()).error.type, "budget_exhausted");
  const pids = crew.starts("claude").map(({ pid }) => pid);
  assert.ok(pids.length >= 2, "the lead and a part at least: it may be spent before the other part begins");
  await waitFor(() => pids.every((pid) => !isAlive(pid)), { what: "no process is left" });
  const told = await budget(crew, `chat:${chat.id}`);
  assert.ok(told.tokens >= 300 && told.tokens <= 300 + 3 * 11 * 10, `within a reply or so of each: ${told.tokens}`);
  const { subagents } = await chat.record();
  assert.ok(subagents.every(({ status }) => status === "failed" || status === "cancelled"), JSON.stringify(subagents.map(({ status, error_type }) => [status, error_type])));
});

test("a program that is paused by its budget goes on in its own conversation when more is added", async (t) => {
  const crew = await Crew.started(claude([{ when: "interrupted", resumed: true, steps: [{ say: "Finished." }] }, chatter("long work")]), t);
  const chat = await crew.chat({ message: "long work", budget: "tokens=60" }, { wait: false });
  const question = await asked(crew);
  await answer(crew, question, "tokens=1M");
  assert.equal((await chat.idle()).error, undefined);
  assert.equal(await chat.answer(), "Finished.");
  const [first, second, ...more] = crew.starts("claude");
  assert.equal(more.length, 0);
  assert.ok(second.argv.includes("--resume"), String(second.argv));
  assert.ok(!isAlive(first.pid));
});

test("an agent CLI that runs by itself is counted and stopped too", async (t) => {
  const crew = await Crew.started(claude([chatter("count")]), t);
  const run = await crew.must(201, crew.post("/tasks", { backend: "claude", task: "count", budget: "tokens=60" }));
  const over = await waitFor(async () => { const now = await crew.must(200, crew.get(`/agents/${run.task_id}?wait_seconds=1`)); return now.ended_at && now; });
  assert.deepEqual([over.status, over.error], ["killed", "budget_exhausted"]);
  assert.match(over.error_detail, new RegExp(`run ${run.task_id} has spent its budget`));
  const told = await budget(crew, `run:${run.task_id}`);
  assert.ok(told.tokens >= 60 && told.tokens < 600, JSON.stringify(told));
  assert.equal((await budget(crew, "day")).tokens, told.tokens);
});

test("the day's budget of the configuration holds for everybody, and a repository cannot set it", async (t) => {
  const { crew } = await cast(t, { assistant: costs("ok", 100) }, { user_settings: { budgets: { when_exhausted: "stop", day: { tokens: 100 } } }, settings: { budgets: { day: { tokens: 1000000 } } } });
  await crew.chat({ message: "one" });
  const second = await crew.chat({ message: "two" });
  assert.equal((await second.idle()).error.type, "budget_exhausted");
  const refused = await crew.spawnAgent({ agent: "code-reviewer", task: "x" });
  assert.match(refused.text, /the day \d{4}-\d\d-\d\d has spent its budget/);
});

test("cru budget and cru top tell what is spent; agents can neither read nor raise a budget", async (t) => {
  const { crew } = await cast(t, { assistant: costs("ok", 1050) });
  const chat = await crew.chat({ message: "one" });
  const set = await crew.cru("budget", "set", `chat:${chat.id}`, "tokens=2k,usd=1");
  assert.equal(set.code, 0, set.stderr);
  const listed = await crew.cru("budget", "list");
  assert.match(listed.stdout, new RegExp(`chat:${chat.id}.*2000 tokens, \\$1\\.00.*52`));
  const top = await crew.cru("top", "--once");
  assert.match(top.stdout, /^today: 1050 tokens, \$0\.00/);
  const { crew: everybody } = JSON.parse((await crew.cru("top", "--json")).stdout);
  assert.equal(everybody.find(({ facets }) => facets.thread === chat.id).tokens, 1050);
  const bad = await crew.cru("budget", "set", "chat:x", "tokens=none");
  assert.equal(bad.code, 2, bad.stderr);
  await crew.start("thief", [cru_bin, "budget", "set", "day", "tokens=1M"]);
  assert.equal((await crew.ended("thief")).status, "failed");
  assert.equal((await budget(crew, "day")).limits.tokens, null);
});
