// Budgets and usage limits of runs that are nobody's mind: what they start draws from them too, what cannot be counted is
// refused, and a program that can be talked to waits in place of being stopped.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cru_bin, isAlive, waitFor } from "./harness.mjs";
import { cast } from "./harness/cast.mjs";
import { Crew } from "./harness/crew.mjs";
import { claude_bin, needs_claude, plannedModel, settleClaude } from "./harness/real_clients.mjs";

const budget = async (crew, scope) => crew.must(200, crew.get(`/budgets/${encodeURIComponent(scope)}`));
const asked = (crew) => waitFor(async () => (await crew.questions("?pending=true"))[0], { what: "a person is asked" });
const answer = (crew, { id }, words) => crew.must(200, crew.post(`/questions/${id}/answer`, { answer: words, only_options: true }));
const runOf = (crew, id) => crew.must(200, crew.get(`/agents/${id}`));
const over = (crew, id) => waitFor(async () => { const now = await crew.must(200, crew.get(`/agents/${id}?wait_seconds=1`)); return now.ended_at && now; }, { what: `${id} ends` });
/// A program's work of many replies: each is 11 tokens in the stand-in.
const chatter = (when, count = 500) => ({ when, steps: Array.from({ length: count }, (_, n) => [{ say: `step ${n}` }, { sleep: 20 }]).flat() });
const crewOf = (t, replies, more = {}) => Crew.started({ standin: { replies }, ...more }, t);
const start = (crew, body) => crew.must(201, crew.post("/tasks", body));

test("a run that is started by another draws from that one's budget, and both end when it is spent", async (t) => {
  const child = `${cru_bin} run --id child --detach claude count`;
  const crew = await crewOf(t, [{ when: "lead", steps: [{ really: child }, { say: "{{result}}" }, { hang: true }] }, chatter("count")], { user_settings: { confine: "off" } });
  const { task_id } = await start(crew, { id: "parent", backend: "claude", task: "lead", budget: "tokens=200,when=stop" });
  const ended = await over(crew, "child");
  assert.deepEqual([ended.status, ended.error], ["killed", "budget_exhausted"], JSON.stringify(ended));
  assert.match(ended.error_detail, new RegExp(`run ${task_id} has spent its budget`));
  assert.equal((await over(crew, task_id)).error, "budget_exhausted");
  const [own, all] = [await budget(crew, "run:child"), await budget(crew, `run:${task_id}`)];
  assert.ok(own.tokens > 0 && all.tokens > own.tokens, JSON.stringify([own.tokens, all.tokens]));
  assert.equal((await budget(crew, "day")).tokens, all.tokens, "the day counts it once");
});

test("a chat's program starts no runs of its own, which would draw from nothing of the chat's", async (t) => {
  const child = `${cru_bin} run --id child --detach claude count`;
  const crew = await crewOf(t, [{ when: "lead", steps: [{ really: child }, { say: "{{result}}" }] }, chatter("count")], { user_settings: { confine: "off" }, models: { sonnet: { provider: "claude", id: "model-1" } } });
  const chat = await crew.chat({ message: "lead", budget: "tokens=200,when=stop" });
  assert.match(await chat.answer(), /start_run is not available to agents of the crew/);
  assert.equal((await crew.get("/agents/child")).status, 404);
});

test("a limit that cannot be kept is refused: of a command and of a program at a terminal only the time", async (t) => {
  const crew = await crewOf(t, []);
  for (const [body, words] of [[{ argv: ["sleep", "600"], budget: "tokens=5" }, /what a command spends cannot be counted/], [{ argv: ["true"], budget: "usd=5,time=1h" }, /cannot be counted/],
    [{ backend: "claude", task: "x", pty: true, budget: "turns=3" }, /a program at a terminal/]]) {
    const refused = await crew.post("/tasks", body);
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.json.message, words);
    assert.match(refused.json.hint, /--budget time=1h/);
  }
  const { task_id } = await start(crew, { argv: ["sleep", "600"], budget: "time=1s" });
  const ended = await over(crew, task_id);
  assert.deepEqual([ended.status, ended.error], ["killed", "budget_exhausted"]);
  assert.match(ended.error_detail, /has spent its budget: .* of 1\.0s\. It was stopped: a command cannot be paused/);
  assert.equal((await budget(crew, `run:${task_id}`)).tokens, 0);
  const { spans: [span] } = await crew.must(200, crew.get(`/traces/${task_id}`));
  assert.deepEqual([span.status, span.error?.type], ["killed", "budget_exhausted"], "the trace says why it was stopped");
  assert.equal((await crew.cru("run", "--budget", "tokens=5", "--", "true")).code, 2);
});

test("a time limit of a command outlives the daemon", async (t) => {
  const crew = await crewOf(t, []);
  const { task_id } = await start(crew, { argv: ["sleep", "600"], budget: "time=3s" });
  await crew.killDaemon();
  await crew.startDaemon();
  assert.equal((await over(crew, task_id)).error, "budget_exhausted");
});

test("a person who starts a run anew with the same id begins with a budget of its own; an agent does not", async (t) => {
  const again = `${cru_bin} run --id nightly --detach claude count`;
  const crew = await crewOf(t, [chatter("count"), { when: "short", steps: [{ say: "ok" }] }, { when: "lead", steps: [{ really: again }, { say: "{{result}}" }] }], { user_settings: { confine: "off" } });
  await start(crew, { id: "nightly", backend: "claude", task: "count", budget: "tokens=60,when=stop" });
  assert.equal((await over(crew, "nightly")).error, "budget_exhausted");
  const { task_id } = await start(crew, { backend: "claude", task: "lead" });
  await over(crew, task_id);
  assert.match((await crew.cru("logs", task_id)).stdout, /run nightly has spent its budget/);
  await start(crew, { id: "nightly", backend: "claude", task: "short", budget: "tokens=60,when=stop" });
  assert.equal((await over(crew, "nightly")).status, "completed");
  const told = await budget(crew, "run:nightly");
  assert.ok(told.tokens > 0 && told.tokens < 60, JSON.stringify(told));
  assert.equal((await crew.cru("rm", "nightly")).code, 0);
  assert.equal((await budget(crew, "day")).tokens > told.tokens, true, "the day forgets nothing");
});

const goes_on = { when: "You were interrupted", steps: [{ say: "Finished." }] };

test("a claude that meets a budget waits with its process, asks, and goes on where it was", async (t) => {
  const crew = await crewOf(t, [goes_on, chatter("count")]);
  const { task_id } = await start(crew, { backend: "claude", task: "count", budget: "tokens=60" });
  const question = await asked(crew);
  assert.match(question.prompt, new RegExp(`run ${task_id} has spent its budget`));
  assert.equal(question.task_id, task_id);
  const waiting = await runOf(crew, task_id);
  assert.equal(waiting.status, "running");
  assert.match(waiting.waits_for, /more of a budget/);
  const before = (await budget(crew, `run:${task_id}`));
  assert.ok(before.tokens >= 60 && before.tokens < 600, JSON.stringify(before));
  await answer(crew, question, "10k");
  const ended = await over(crew, task_id);
  assert.equal(ended.status, "completed", JSON.stringify(ended));
  assert.equal(crew.starts("claude").length, 1, "it is the same process");
  assert.match((await crew.cru("logs", task_id)).stdout, /Finished\./);
  const after = await budget(crew, `run:${task_id}`);
  assert.ok(after.tokens > before.tokens && after.turns > before.turns, JSON.stringify([before, after]));
});

test("a claude that waits for a budget survives the daemon's death, and ends when the person says stop", async (t) => {
  const crew = await crewOf(t, [goes_on, chatter("count")]);
  const { task_id } = await start(crew, { backend: "claude", task: "count", budget: "tokens=60" });
  const { id } = await asked(crew);
  await waitFor(async () => (await runOf(crew, task_id)).waits_for, { what: "it waits" });
  await crew.killDaemon();
  await crew.startDaemon();
  const again = await asked(crew);
  assert.equal(again.id, id, "the same question");
  await waitFor(async () => (await runOf(crew, task_id)).waits_for, { what: "it waits again" });
  await answer(crew, again, "stop");
  const ended = await over(crew, task_id);
  assert.deepEqual([ended.status, ended.error], ["killed", "budget_exhausted"], JSON.stringify(ended));
  assert.ok(crew.starts("claude").every(({ pid }) => !isAlive(pid)));
});

test("a claude that waits for a budget can be killed, and its question goes with it", async (t) => {
  const crew = await crewOf(t, [chatter("count")]);
  const { task_id } = await start(crew, { backend: "claude", task: "count", budget: "tokens=60" });
  await asked(crew);
  await crew.must(200, crew.post(`/agents/${task_id}/kill`, {}));
  assert.equal((await over(crew, task_id)).status, "killed");
  await waitFor(async () => (await crew.questions("?pending=true")).length === 0, { what: "nobody is asked any more" });
});

test("a claude that meets its provider's limit waits with its process until the stated time and goes on", async (t) => {
  const limited = { when: "long work", steps: [{ limit: { status: "rejected", after: 4 } }, { error: "You've hit your session limit" }] };
  const crew = await crewOf(t, [limited, goes_on]);
  const watching = crew.cru("run", "--id", "work", "claude", "long work");
  const waiting = await waitFor(async () => { const { json } = await crew.get("/agents/work"); return json?.waits_for && json; }, { what: "it waits" });
  assert.match(waiting.waits_for, /^usage limit of claude, until /);
  assert.equal(waiting.status, "running");
  assert.match((await crew.cru("ps")).stdout, /usage limit of claude/);
  assert.match((await crew.cru("show", "work")).stdout, /usage limit of claude, until .*; to end it: cru kill work/);
  const { code, stdout, stderr } = await watching;
  assert.equal(code, 0, stderr);
  assert.match(stdout, /Finished\./);
  assert.match(stderr, /waits: usage limit of claude, until /);
  assert.ok(Date.now() >= Date.parse(/until (\S+)/.exec(waiting.waits_for)[1]), "not before the time");
  assert.equal(crew.starts("claude").length, 1);
  const { spans: [span] } = await crew.must(200, crew.get("/traces/work"));
  assert.deepEqual(span.waits.map(({ kind, id, outcome }) => [kind, id, outcome]), [["limit", "claude", "over"]], "and its trace says that it was no work");
  assert.ok(span.waited_ms > 0 && span.waited_ms <= span.duration_ms, JSON.stringify(span));
  assert.match((await crew.cru("sessions", "trace", "work")).stdout, /⏸ \S+ waiting: usage limit of claude, over/);
});

test("what a run by itself has cost is in the metrics, and what a person was asked in its trace", async (t) => {
  const crew = await crewOf(t, [{ when: "shell", steps: [{ ask: "shell" }, { say: "one" }, { say: "two" }], usage: { input: 500, output: 50 } }]);
  const { task_id } = await start(crew, { backend: "claude", task: "shell" });
  const { id } = await waitFor(async () => (await crew.must(200, crew.get("/approvals?pending=true"))).approvals[0], { what: "an approval waits" });
  assert.equal((await crew.cru("approvals", "deny", id)).code, 0);
  await over(crew, task_id);
  const { spans: [span] } = await crew.must(200, crew.get(`/traces/${task_id}`));
  assert.deepEqual(span.waits.map(({ kind, id: of, outcome }) => [kind, of, outcome]), [["approval", id, "denied"]]);
  const tokens = async () => [...(await crew.get("/metrics")).text.matchAll(/^cru_tokens_total\{provider="claude",model="claude",type="(\w+)"\} (\d+)$/gm)].reduce((sum, [, , n]) => sum + Number(n), 0);
  const all = await waitFor(async () => { const [counted, { tokens: spent }] = [await tokens(), await budget(crew, `run:${task_id}`)]; return counted > 0 && counted === spent && counted; }, { what: "the metrics count what the budget counts" });
  assert.ok(all >= 550, String(all));
});

test("a limit of the provider without a time ends the run as before", async (t) => {
  const crew = await crewOf(t, [{ when: "work", steps: [{ error: "Rate limited, no time is told" }] }]);
  const { task_id } = await start(crew, { backend: "claude", task: "work" });
  assert.equal((await over(crew, task_id)).status, "failed");
});

test("a program that cannot be paused is stopped, and says so", async (t) => {
  const crew = await crewOf(t, [chatter("count", 20), { program: "codex", when: "slow", steps: [{ say: "one" }, { hang: true }] }]);
  await crew.must(200, crew.post("/budgets", { scope: "day", budget: "tokens=50" }));
  const { task_id } = await start(crew, { id: "cannot-wait", backend: "codex", task: "slow" });
  await waitFor(() => crew.starts("codex").length, { what: "codex is there" });
  await start(crew, { id: "spends", backend: "claude", task: "count" });
  const ended = await over(crew, task_id);
  assert.equal(ended.error, "budget_exhausted", JSON.stringify(ended));
  assert.match(ended.error_detail, /It was stopped: codex cannot be paused/);
  assert.match((await asked(crew)).prompt, /the day .* has spent its budget/);
});

test("the budget of a team covers its members", async (t) => {
  const crew = await crewOf(t, [chatter("You are")], { settings: {} });
  crew.write("teams.yaml", "team: compiler\nagents:\n  - {name: lead, role: coordinator, capabilities: [], description: leads}\n  - {name: coder, role: worker, capabilities: [], description: writes}\ncoordination: {max_parallel: 2, lock_ttl_minutes: 30}\n");
  assert.equal((await crew.cru("trust", "--yes")).code, 0);
  const unknown = await crew.post("/budgets", { scope: "team:nobody", budget: "tokens=100" });
  assert.equal(unknown.status, 404, unknown.text);
  await crew.must(200, crew.post("/budgets", { scope: "team:compiler", budget: "tokens=150,when=stop" }));
  const up = await crew.cru("teams", "up", "--json");
  assert.equal(up.code, 0, JSON.stringify(up));
  const ids = JSON.parse(up.stdout).agents.map(({ task_id }) => task_id);
  const ended = await Promise.all(ids.map((id) => over(crew, id)));
  assert.deepEqual(ended.map(({ error }) => error), ["budget_exhausted", "budget_exhausted"], JSON.stringify(ended.map(({ error, error_detail }) => [error, error_detail])));
  assert.match(ended[0].error_detail, /team compiler has spent its budget/);
  // What a program printed last may be counted after its run has ended, between two of these.
  await waitFor(async () => {
    const [team, ...members] = await Promise.all(["team:compiler", ...ids.map((id) => `run:${id}`)].map((scope) => budget(crew, scope)));
    return team.tokens === members[0].tokens + members[1].tokens;
  }, { what: "the team has spent what its members have" });
});

test("cru budget takes only what there is, by its beginning or its name too, and says the near names", async (t) => {
  const { crew } = await cast(t, { assistant: { text: "ok", usage: { input: 1040, output: 10 } } });
  const chat = await crew.chat({ message: "one" });
  for (const scope of ["chat:nope", "run:nope", "member:nope", "team:nobody"]) {
    const refused = await crew.cru("budget", "set", scope, "tokens=5k");
    assert.equal(refused.code, 3, JSON.stringify(refused));
    assert.match(refused.stderr, /no (chat|run|member|team) is called "no(pe|body)"/);
  }
  assert.equal((await crew.cru("budget", "set", "day:tomorrow", "tokens=5k")).code, 2);
  const near = await crew.cru("budget", "set", `chat:${chat.id}x`, "tokens=5k");
  assert.match(near.stderr, new RegExp(`did you mean: chat:${chat.id}`));
  const set = await crew.cru("budget", "set", `chat:${chat.id.slice(0, 12)}`, "tokens=2k,usd=1");
  assert.equal(set.code, 0, set.stderr);
  assert.match(set.stdout, new RegExp(`^chat:${chat.id}: 52 % used\n`));
  assert.match(set.stdout, /budget +2000 tokens, \$1\.00\n.*spent +1050 tokens, \$0\.\d+, 1 reply/s);
  assert.doesNotMatch(set.stdout, /unpriced_tokens|reserved_tokens|limits/);
  const { crew: members } = await crew.must(200, crew.get("/crew"));
  const { member_id, id = member_id, name } = members.find(({ facets }) => facets.thread === chat.id);
  assert.equal((await budget(crew, `member:${name}`)).scope, `member:${id}`);
});

test("cru budget lists budgets only, and with --all what was spent, readable in 80 columns", async (t) => {
  const { crew } = await cast(t, { assistant: { text: "ok", usage: { input: 1040, output: 10 } } });
  const none = await crew.cru("budget");
  assert.match(none.stderr, /no budget is set/);
  assert.equal(none.stdout, "");
  const chat = await crew.chat({ message: "a rather long message that gives its chat a rather long name for its folder" });
  const wide = await crew.cru("budget", "--all");
  assert.match(wide.stdout, /day:\d{4}-\d\d-\d\d .*1050 tokens, \$0\.\d+/);
  assert.match(wide.stdout, new RegExp(`chat:${chat.id} .*1050 tokens`));
  const narrow = await crew.spawn(["-qec", `stty cols 80 rows 24; ${cru_bin} budget --all`, "/dev/null"], { argv0: "script", env: { TERM: "xterm" } });
  await narrow.ended;
  const lines = narrow.text.stdout.split(/\r?\n/).filter((line) => /^(chat|member|day):/.test(line));
  assert.ok(lines.length >= 3, narrow.text.stdout);
  for (const line of lines) assert.match(line, /1050 tokens/, narrow.text.stdout);
});

test("a terminal that waits for a budget says so, with the whole command that goes on", async (t) => {
  const { crew } = await cast(t, { assistant: { text: "ok", usage: { input: 90, output: 10 } }, worker: { text: "## Summary\n\nDone.\n", usage: { input: 90, output: 10 } } }, { agents: { worker: {} }, user_settings: { budgets: { day: { tokens: 100 } } } });
  await crew.chat({ message: "one" });
  const running = crew.spawn(["run", "worker", "do it"]);
  const line = await waitFor(() => /cru questions answer (q-\S+) 1 +# add \d+ tokens/.exec(running.text.stdout + running.text.stderr), { what: "it says that it waits" });
  assert.match(running.text.stdout + running.text.stderr, /waits: the day \S+ has spent its budget: 100 tokens of 100 tokens/);
  assert.equal((await crew.cru("questions", "answer", line[1], "1")).code, 0);
  assert.equal(await running.ended.then(({ code }) => code ?? running.exitCode), 0, running.text.stderr);
});

test("the real Claude Code waits for a budget with its process and goes on", needs_claude, async (t) => {
  const step = (n) => ({ text: `step ${n}`, tools: [{ name: "Bash", input: { command: "sleep 0.2; echo more", description: "more" } }] });
  const model = await plannedModel({ count: [step(1), step(2), step(3), { text: "never" }] }, t);
  const plan = model.reply_of;
  model.script((request) => (request.text.includes("Go on where you stopped") ? { text: "It went on." } : plan(request)));
  const crew = new Crew({ bin: [claude_bin.replace(/\/claude$/, "")] });
  t.after(() => crew.close());
  const env = settleClaude(crew, model);
  Object.assign(crew.env, env, { IS_SANDBOX: "1" });
  await crew.startDaemon();
  const { task_id } = await start(crew, { backend: "claude", task: "PLAN count", env: { ...env, IS_SANDBOX: "1" }, budget: "turns=2" });
  const question = await asked(crew);
  assert.match((await waitFor(async () => (await runOf(crew, task_id)).waits_for, { what: "it waits" })), /more of a budget/);
  await answer(crew, question, "100");
  const ended = await over(crew, task_id);
  assert.equal(ended.status, "completed", JSON.stringify(ended));
  assert.match((await crew.cru("logs", task_id)).stdout, /It went on\./);
  assert.ok((await budget(crew, `run:${task_id}`)).turns >= 3);
});
