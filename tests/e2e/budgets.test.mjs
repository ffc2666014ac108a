// Budgets: how much chats, runs and days may spend, what happens when that is spent, and that nothing of it is forgotten.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { cru_bin, isAlive, waitFor } from "./harness.mjs";
import { changeDatabase } from "./harness/agents.mjs";
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
  assert.deepEqual(question.options.map((option) => option.replace(/\d+/, "N")), ["add N tokens", "add N tokens", "stop"]);
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

test("money runs out at known prices", async (t) => {
  const { crew, asked: requests } = await cast(t, { assistant: costs("ok", 1010) }, { models: { sonnet: { provider: "anthropic", id: "model-1", prices: { input: 10, output: 100 } } } });
  const chat = await crew.chat({ message: "one", budget: "usd=0.02,when=stop" });
  await chat.say("two");
  assert.equal((await chat.idle()).error, undefined);
  const told = await budget(crew, `chat:${chat.id}`);
  assert.deepEqual([told.usd, told.unpriced_tokens, told.percent], [0.022, 0, 110]);
  await chat.say("three");
  const { error } = await chat.idle();
  assert.equal(error.type, "budget_exhausted");
  assert.match(error.message, /\$0\.0220 of \$0\.02/);
  assert.equal(requests("assistant").length, 2);
});

/// A model on loopback that programs ask for each of their replies. It answers only when what was said before is counted, and
/// when as many as `programs` have asked; and one that asks when all is spent gets its answer only if nobody ends it: so
/// what is counted does not depend on how fast this machine is. `answered`: the pids in the order of their replies.
async function slowModel(t, { programs, isCounted, isSpent }) {
  const answered = [], asking = new Set();
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { pid } = JSON.parse(body);
    asking.add(pid);
    let is_gone = false;
    response.on("close", () => { is_gone = true; });
    await waitFor(async () => is_gone || (asking.size >= programs && (await isCounted(answered.length))), { what: "what was said is counted" }).catch(() => { is_gone = true; });
    if (!is_gone && (await isSpent())) await waitFor(() => is_gone, { what: "the program is ended" }).catch(() => {});
    if (is_gone) return;
    answered.push(pid);
    response.end(`reply ${answered.length}`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => { server.closeAllConnections(); server.close(); });
  return { answered, url: `http://127.0.0.1:${server.address().port}/` };
}

test("a budget that is spent stops a tree of programs within one reply of each, and all of their processes", async (t) => {
  const limit = 120, of_lead = 2 * 11;
  const spawn = (task) => ({ call: "spawn_agent", input: { agent: "worker", task, wait_seconds: 0 } });
  let crew, scope;
  const model = await slowModel(t, { programs: 2, isCounted: async (replies) => scope && (await budget(crew, scope)).tokens >= of_lead + replies * 11, isSpent: async () => (await budget(crew, scope)).tokens >= limit });
  const works = (when) => ({ when, steps: Array.from({ length: 100 }, () => ({ model: model.url })) });
  crew = await Crew.started(claude([{ when: "lead", steps: [spawn("part one"), spawn("part two"), { hang: true }] }, works("part one"), works("part two")], { user_settings: { crew: { max_concurrent: 2 } }, providers: { claude: { max_concurrent: 3 } } }), t);
  const chat = await crew.chat({ message: "lead the work", budget: `tokens=${limit},when=stop` }, { wait: false });
  scope = `chat:${chat.id}`;
  assert.equal((await chat.idle()).error.type, "budget_exhausted");
  const pids = crew.starts("claude").map(({ pid }) => pid);
  assert.equal(pids.length, 3, "the lead and both parts");
  await waitFor(() => pids.every((pid) => !isAlive(pid)), { what: "no process is left" });
  const within = Math.ceil((limit - of_lead) / 11);
  assert.ok(model.answered.length >= within, String(model.answered));
  const beyond = model.answered.slice(within);
  for (const pid of pids) assert.ok(beyond.filter((one) => one === pid).length <= 1, `one reply beyond the limit at most: ${beyond}`);
  const told = await waitFor(async () => { const now = await budget(crew, scope); return now.tokens === of_lead + model.answered.length * 11 && now; }, { what: "all that was said is counted" });
  assert.ok(told.tokens >= limit && told.tokens <= limit + 3 * 11, String(told.tokens));
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

test("a program whose budget was spent while the daemon was dead is ended by the next, silent or not", async (t) => {
  const crew = await Crew.started(claude([{ when: "long work", steps: [{ say: "one" }, { hang: true }] }]), t);
  const chat = await crew.chat({ message: "long work", budget: "tokens=1k,time=1h,when=stop" }, { wait: false });
  await waitFor(async () => (await budget(crew, `chat:${chat.id}`)).tokens > 0, { what: "its first words are counted" });
  const [{ pid }] = crew.starts("claude");
  await crew.killDaemon();
  await crew.startDaemon();
  assert.ok(isAlive(pid), "the next daemon follows it");
  await crew.must(200, crew.post("/budgets", { scope: `chat:${chat.id}`, budget: "tokens=1,when=stop" }));
  await waitFor(() => !isAlive(pid), { what: "a budget that is lowered ends it" });
  assert.equal((await chat.idle()).error.type, "budget_exhausted");
});

test("with `pause` a program that an earlier daemon left over its budget is ended before anybody is asked", async (t) => {
  const crew = await Crew.started(claude([{ when: "long work", steps: [{ say: "one" }, { hang: true }] }]), t);
  await crew.must(200, crew.post("/budgets", { scope: "day", budget: "tokens=1k" }));
  const chat = await crew.chat({ message: "long work" }, { wait: false });
  await waitFor(async () => (await budget(crew, `chat:${chat.id}`)).tokens > 0, { what: "its first words are counted" });
  const [{ pid }] = crew.starts("claude");
  await crew.killDaemon();
  changeDatabase(crew, "UPDATE budget_spends SET tokens = 5000 WHERE scope LIKE 'day:%'");
  assert.ok(isAlive(pid));
  await crew.startDaemon();
  await waitFor(() => !isAlive(pid), { what: "no process is left" });
  assert.match((await asked(crew)).prompt, /the day .* has spent its budget/);
  await chat.cancel();
  assert.equal((await chat.idle()).error.type, "cancelled");
});

test("a program's time is limited, across the daemon's death too, and by a limit that is set while it is silent", async (t) => {
  const crew = await Crew.started(claude([{ when: "long work", steps: [{ say: "one" }, { hang: true }] }]), t);
  const chat = await crew.chat({ message: "long work", budget: "time=1h,when=stop" }, { wait: false });
  await waitFor(() => crew.starts("claude").length, { what: "it is there" });
  const [{ pid }] = crew.starts("claude");
  await crew.must(200, crew.post("/budgets", { scope: `chat:${chat.id}`, budget: "time=8s,when=stop" }));
  await crew.killDaemon();
  await crew.startDaemon();
  const { error } = await chat.idle();
  assert.equal(error?.type, "budget_exhausted", JSON.stringify(error));
  assert.match(error.message, /of 8\.0s/);
  await waitFor(() => !isAlive(pid), { what: "no process is left" });
  const second = await crew.chat({ message: "long work" }, { wait: false });
  await waitFor(() => crew.starts("claude").length > 1, { what: "the second is there" });
  await crew.must(200, crew.post("/budgets", { scope: `chat:${second.id}`, budget: "time=1s,when=stop" }));
  assert.equal((await second.idle()).error.type, "budget_exhausted");
});

test("time that a person takes does not count: of a program that is a mind, and of one that runs by itself", async (t) => {
  const crew = await Crew.started(claude([{ when: "work", steps: [{ ask: "question" }, { hang: true }] }]), t);
  const beginnings = [
    async () => `chat:${(await crew.chat({ message: "work", budget: "time=1h,when=stop" }, { wait: false })).id}`,
    async () => `run:${(await crew.must(201, crew.post("/tasks", { backend: "claude", task: "work", budget: "time=1h,when=stop" }))).task_id}`,
  ];
  for (const begin of beginnings) {
    const began = Date.now();
    const scope = await begin();
    const question = await asked(crew);
    const { pid } = crew.starts("claude").at(-1);
    // More than it can have spent, however slow this machine is; and less than it will have waited by the end.
    const limit = Math.ceil((Date.now() - began) / 1000) + 4;
    await crew.must(200, crew.post("/budgets", { scope, budget: `time=${limit}s,when=stop` }));
    const until = Date.parse(question.asked_at) + (limit + 2) * 1000;
    await waitFor(() => Date.now() > until, { what: "more than its time has passed" });
    assert.ok(isAlive(pid), `${scope}: its time stands still`);
    const answering = Date.now();
    await answer(crew, question, "SQLite");
    await waitFor(() => !isAlive(pid), { what: "then its time is over" });
    const at_work = (Date.now() - began - (answering - Date.parse(question.asked_at))) / 1000;
    const { seconds } = await budget(crew, scope);
    assert.ok(seconds >= limit && seconds < at_work + (limit + 2) / 2, `${scope}: ${seconds} of ${limit}, at work for ${at_work}`);
  }
});

test("a chat's own budget stands beside what its agent's definition says of other limits", async (t) => {
  const { crew } = await cast(t, { careful: costs("ok", 70) }, { agents: { careful: { budget: { turns: 1, tokens: 1000 } } } });
  const chat = await crew.chat({ agent: "careful", message: "one", budget: "tokens=5k,when=stop" });
  const { limits } = await budget(crew, `chat:${chat.id}`);
  assert.deepEqual([limits.tokens, limits.turns], [5000, 1]);
  await chat.say("two");
  const { error } = await chat.idle();
  assert.match(error?.message ?? "", /1 reply of 1 reply/, "the definition's limit of replies holds");
});

test("an agent CLI that runs by itself is counted and stopped too", async (t) => {
  const crew = await Crew.started(claude([chatter("count")]), t);
  const run = await crew.must(201, crew.post("/tasks", { backend: "claude", task: "count", budget: "tokens=60,when=stop" }));
  const over = await waitFor(async () => { const now = await crew.must(200, crew.get(`/agents/${run.task_id}?wait_seconds=1`)); return now.ended_at && now; });
  assert.deepEqual([over.status, over.error], ["killed", "budget_exhausted"]);
  assert.match(over.error_detail, new RegExp(`run ${run.task_id} has spent its budget`));
  // Its last lines are counted after its end.
  const told = await waitFor(async () => { const [run_, day] = [await budget(crew, `run:${run.task_id}`), await budget(crew, "day")]; return run_.tokens === day.tokens && run_; }, { what: "the day counts the same" });
  assert.ok(told.tokens >= 60 && told.tokens < 600, JSON.stringify(told));
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
  const bad = await crew.cru("budget", "set", `chat:${chat.id}`, "tokens=none");
  assert.equal(bad.code, 2, bad.stderr);
  await crew.start("thief", [cru_bin, "budget", "set", "day", "tokens=1M"]);
  assert.equal((await crew.ended("thief")).status, "failed");
  assert.equal((await budget(crew, "day")).limits.tokens, null);
});
