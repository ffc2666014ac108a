// Usage limits of providers: work that meets one waits until the time that was told, visibly, and goes on by itself or asks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { cast, report } from "./harness/cast.mjs";
import { Crew } from "./harness/crew.mjs";
import { claude_bin, needs_claude, plannedModel, settleClaude } from "./harness/real_clients.mjs";

const seconds = (after) => Math.floor(Date.now() / 1000) + after;
const limited = (when, after) => ({ when, resumed: false, steps: [{ limit: { status: "rejected", after } }, { error: "You've hit your session limit · resets 12:28am (UTC)" }] });
const goes_on = { when: "interrupted", resumed: true, steps: [{ say: report("Went on.") }] };
const crewOf = (t, replies, more = {}) => Crew.started({ standin: { replies }, models: { sonnet: { provider: "claude", id: "model-1" } }, agents: { worker: { prompt: "You are worker." } }, ...more }, t);

test("a program that meets its provider's limit waits until the stated time, is seen to, and goes on in its conversation", async (t) => {
  const crew = await crewOf(t, [limited("long work", 4), goes_on]);
  const chat = await crew.chat({ message: "long work" }, { wait: false });
  const { data } = await chat.heard("chat.parked");
  assert.equal(data.parked.provider, "claude");
  const waiting = await chat.record();
  assert.equal(waiting.turn, "running");
  assert.equal(waiting.parked.until, data.parked.until);
  const { agents: [run] } = await crew.must(200, crew.get("/agents"));
  assert.match(run.waits_for, /^usage limit of claude, until /);
  assert.match((await crew.cru("ps")).stdout, /usage limit of claude/);
  const { crew: everybody } = await crew.must(200, crew.get("/crew"));
  assert.equal(everybody.find(({ facets }) => facets.thread === chat.id).badge, "queued");
  assert.equal((await chat.idle()).error, undefined);
  assert.match(await chat.answer(), /Went on/);
  assert.ok(Date.now() >= Date.parse(data.parked.until), "not before the time");
  assert.deepEqual(crew.starts("claude").map(({ argv }) => argv.includes("--resume")), [false, true]);
  assert.equal((await chat.record()).parked, null);
});

test("what waits survives the daemon's death, and other providers go on meanwhile", async (t) => {
  const crew = await crewOf(t, [limited("part", 6), goes_on], { scripts: { quick: { replies: [{ say: report("Quick.") }] } }, models: { sonnet: { provider: "claude", id: "model-1" }, quick: "quick" } });
  const { task_id } = await crew.must(201, crew.spawnAgent({ agent: "worker", task: "part one" }));
  await waitFor(async () => (await crew.must(200, crew.get(`/subagents/${task_id}`))).parked, { what: "it waits" });
  await crew.killDaemon();
  await crew.startDaemon();
  assert.ok((await crew.must(200, crew.get(`/subagents/${task_id}`))).parked, "it still waits");
  const other = await crew.must(201, crew.spawnAgent({ agent: "worker", task: "something else", model: "quick" }));
  assert.equal((await crew.subagentOver(other.task_id)).status, "completed");
  assert.equal(crew.starts("claude").length, 1, "nothing was tried before the time");
  const over = await crew.subagentOver(task_id);
  assert.equal(over.status, "completed", over.error_message);
  assert.match(over.result, /Went on/);
});

test("what waits can be cancelled at any time", async (t) => {
  const crew = await crewOf(t, [limited("long work", 3000)]);
  const chat = await crew.chat({ message: "long work" }, { wait: false });
  await chat.heard("chat.parked");
  await chat.cancel();
  assert.equal((await chat.idle()).error.type, "cancelled");
  assert.equal((await chat.record()).parked, null);
});

test("with `when_over: ask` a person decides whether it goes on", async (t) => {
  const crew = await crewOf(t, [limited("long work", 1), goes_on], { user_settings: { usage_limits: { when_over: "ask" } } });
  const chat = await crew.chat({ message: "long work" }, { wait: false });
  const question = await waitFor(async () => (await crew.questions("?pending=true"))[0], { what: "a person is asked" });
  assert.match(question.prompt, /The usage limit of claude is over\. Should assistant go on\?/);
  await crew.must(200, crew.post(`/questions/${question.id}/answer`, { answer: "go on" }));
  assert.equal((await chat.idle()).error, undefined);
  assert.match(await chat.answer(), /Went on/);
});

test("HTTP 429 with a reset that is far away parks the chat; one that is near is waited for as before", async (t) => {
  const replies = [{ status: 429, headers: { "retry-after": "3600" }, body: "{}" }, { text: "never" }];
  const { crew, server } = await cast(t, { assistant: () => replies[Math.min(server.requests.length - 1, 1)] });
  const chat = await crew.chat({ message: "hello" }, { wait: false });
  const { data } = await chat.heard("chat.parked");
  assert.ok(Math.abs(Date.parse(data.parked.until) - Date.now() - 3600_000) < 120_000, data.parked.until);
  assert.equal(server.requests.length, 1, "it is not tried again before");
  await chat.cancel();
  assert.equal((await chat.idle()).error.type, "cancelled");
});

test("the real Claude Code meets a limit of its subscription, waits for its reset and goes on", needs_claude, async (t) => {
  let until = 0;
  const model = await plannedModel({ go: [() => {
    until ||= seconds(8);
    if (seconds(0) < until) return { status: 429, headers: { "retry-after": String(until - seconds(0)), "anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": String(until), "anthropic-ratelimit-unified-representative-claim": "five_hour" }, error: { type: "rate_limit_error", message: "This request would exceed your account's rate limit." } };
    return { text: report("It went on after the limit.") };
  }] }, t);
  const crew = new Crew({ models: { sonnet: { provider: "claude", id: "claude-sonnet-4-5" } }, agents: { worker: { prompt: "You are worker." } }, bin: [claude_bin.replace(/\/claude$/, "")] });
  t.after(() => crew.close());
  const { ANTHROPIC_API_KEY: _, ...env } = settleClaude(crew, model);
  Object.assign(crew.env, env, { CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-loopback", IS_SANDBOX: "1" });
  await crew.startDaemon();
  const { task_id } = await crew.must(201, crew.spawnAgent({ agent: "worker", task: "PLAN go" }));
  const parked = await waitFor(async () => (await crew.must(200, crew.get(`/subagents/${task_id}`))).parked, { what: "it waits for the reset" });
  assert.equal(Date.parse(parked.until), until * 1000);
  const over = await crew.subagentOver(task_id);
  assert.equal(over.status, "completed", `${over.error_type}: ${over.error_message}`);
  assert.match(over.result, /It went on after the limit/);
});
