// Usage limits of providers: work that meets one waits until the time that was told, visibly, and goes on by itself or asks.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { cast, report } from "./harness/cast.mjs";
import { begin, ended } from "./harness/auto.mjs";
import { Crew } from "./harness/crew.mjs";
import { codex_bin, needs_codex } from "./harness/codex.mjs";
import { Live, Minds } from "./harness/live.mjs";
import { claude_bin, needs_claude, plannedModel, settleClaude } from "./harness/real_clients.mjs";

const seconds = (after) => Math.floor(Date.now() / 1000) + after;
const limited = (when, after) => ({ when, resumed: false, steps: [{ limit: { status: "rejected", after } }, { error: "You've hit your session limit · resets 12:28am (UTC)" }] });
const goes_on = { when: "interrupted", resumed: true, steps: [{ say: report("Went on.") }] };
/// One reply after the other, and the last for ever.
const inOrder = (...replies) => { let at = 0; return () => replies[Math.min(at++, replies.length - 1)]; };
const refused = (after) => ({ status: 429, headers: { "retry-after": String(after) }, body: "{}" });
/// How often a request is repeated.
const patient = (retries) => ({ anthropic: { retries }, openai: { retries } });
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
  const { spans: [span] } = await crew.must(200, crew.get(`/traces/${chat.id}`));
  assert.deepEqual(span.waits.map(({ kind, id, outcome }) => [kind, id, outcome]), [["limit", "claude", "over"]], "and the trace says that it was no work");
  assert.ok(span.waited_ms > 0 && span.waited_ms <= span.duration_ms, JSON.stringify(span));
  const told = (await crew.events("?since=0")).filter(({ type }) => ["chat.parked", "chat.resumed", "agent.waiting"].includes(type));
  assert.ok(told.length >= 3, told.map(({ type }) => type).join());
  for (const { type, data: { trace_id } } of told) assert.equal(trace_id, span.trace_id, type);
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
  assert.match(question.prompt, /The usage limit of claude is over\. Should assistant continue\?/);
  await crew.must(200, crew.post(`/questions/${question.id}/answer`, { answer: "continue" }));
  assert.equal((await chat.idle()).error, undefined);
  assert.match(await chat.answer(), /Went on/);
});

test("a reset that is already past is tried again after a pause that grows", async (t) => {
  const crew = await crewOf(t, [{ when: "", steps: limited("", -60).steps }]);
  const chat = await crew.chat({ message: "long work" }, { wait: false });
  const parked = await waitFor(async () => {
    const all = (await crew.events("?since=0")).filter(({ type }) => type === "chat.parked");
    return all.length >= 3 && all;
  }, { what: "it was refused three times" });
  const pauses = parked.map(({ timestamp, data }) => (Date.parse(data.parked.until) - Date.parse(timestamp)) / 1000);
  for (const [index, pause] of pauses.slice(0, 3).entries()) assert.ok(Math.abs(pause - 2 ** index) < 0.9, String(pauses));
  await chat.cancel();
  assert.equal((await chat.idle()).error.type, "cancelled");
});

test("with `when_over: ask` a second limit is a second question", async (t) => {
  const { crew } = await cast(t, { assistant: inOrder(refused(1), { text: "one" }, refused(1), { text: "two" }) }, { user_settings: { usage_limits: { when_over: "ask" } }, providers: patient(0) });
  const goOn = async () => {
    const question = await waitFor(async () => (await crew.questions("?pending=true"))[0], { what: "a person is asked" });
    await crew.must(200, crew.post(`/questions/${question.id}/answer`, { answer: "continue" }));
    return question.id;
  };
  const chat = await crew.chat({ message: "first" }, { wait: false });
  const first = await goOn();
  assert.equal((await chat.idle()).error, undefined);
  await chat.say("second", { wait: false });
  assert.notEqual(await goOn(), first);
  assert.equal((await chat.idle()).error, undefined);
  assert.equal(await chat.answer(), "two");
});

test("HTTP 429 with a reset that is near is waited for within the reply", async (t) => {
  const { crew, server } = await cast(t, { assistant: inOrder(refused(1), { text: "here I am" }) });
  const chat = await crew.chat({ message: "hello" });
  assert.equal(await chat.answer(), "here I am");
  assert.equal(server.requests.length, 2);
  const types = (await crew.events("?since=0")).map(({ type }) => type);
  assert.ok(types.includes("chat.waiting") && !types.includes("chat.parked"), String(types));
});

test("an API that refuses the last attempt too, with a reset, parks the chat, and it goes on by itself", async (t) => {
  const { crew, server } = await cast(t, { assistant: inOrder(refused(1), refused(3), { text: "here I am" }) }, { providers: patient(1) });
  const chat = await crew.chat({ message: "hello" }, { wait: false });
  const { data } = await chat.heard("chat.parked");
  assert.equal((await chat.record()).parked.until, data.parked.until);
  assert.equal(server.requests.length, 2);
  assert.equal((await chat.idle()).error, undefined);
  assert.ok(Date.now() >= Date.parse(data.parked.until), "not before the time");
  assert.equal(await chat.answer(), "here I am");
  assert.equal(server.requests.length, 3);
  assert.equal((await chat.record()).parked, null);
});

test("an evaluation that meets a limit waits for it, and judges the answer then", async (t) => {
  const verdict = { text: JSON.stringify({ passed: true, score: 0.9, critique: "", issues: [] }) };
  const { crew, asked } = await cast(t, { worker: { text: report("Done.") }, evaluation: inOrder(refused(2), verdict) },
    { providers: patient(0), agents: { worker: { enable_reflection: true, reflection_criteria: ["it is done"] } } });
  const { task_id } = await crew.must(201, crew.spawnAgent({ agent: "worker", task: "do it" }));
  await waitFor(async () => (await crew.must(200, crew.get(`/subagents/${task_id}`))).parked, { what: "it waits" });
  const over = await crew.subagentOver(task_id);
  assert.deepEqual([over.status, over.reflection.outcome, over.reflection.iterations.length], ["completed", "passed", 1], JSON.stringify(over.reflection));
  assert.deepEqual([asked("worker").length, asked("evaluation").length], [1, 2]);
});

test("a live agent that meets a limit waits for it, hears meanwhile, and survives the daemon's death", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds, providers: patient(0) }, t);
  const socket = await live.connect();
  const ada = await live.bring(socket, { name: "Ada" });
  const say = (message) => socket.must("message_accepted", { type: "chat_message", message, to: [ada] });
  minds.server.script(inOrder(refused(3600), { text: JSON.stringify({ action: "wait", reason: "never asked" }) }));
  await say("hello");
  const { waiting } = await socket.waitFor("agent_waiting");
  const [, until] = /^for the usage limit of test-model, until (.*)$/.exec(waiting) ?? assert.fail(waiting);
  assert.ok(Math.abs(Date.parse(until) - Date.now() - 3600_000) < 120_000, until);
  const seen = async () => {
    const { badge, evidence } = (await live.must(200, live.get("/crew"))).crew.find(({ facets }) => facets.body === ada);
    const { waiting: why, error } = await live.agent(ada);
    assert.deepEqual([badge, evidence, why, error], ["queued", `usage limit of test-model, until ${until}`, waiting, null]);
  };
  await seen();
  await say("are you there?");
  await waitFor(async () => (await live.conversation(ada)).filter(({ receipt }) => receipt === "acknowledged").length === 2, { what: "she has heard" });
  await seen();
  await live.killDaemon();
  await live.startDaemon();
  await seen();
  assert.equal(minds.server.requests.length, 1, "her mind is not asked before");
});

test("a live agent answers what it was told when the limit of its mind is over", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds, providers: patient(0) }, t);
  const socket = await live.connect();
  const ada = await live.bring(socket, { name: "Ada" });
  minds.server.script(inOrder(refused(2), { text: JSON.stringify({ action: "speak", content: "I am back." }) }));
  await socket.must("message_accepted", { type: "chat_message", message: "hello", to: [ada] });
  const { waiting } = await socket.waitFor("agent_waiting");
  const { at } = await socket.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === ada);
  assert.ok(at >= Date.parse(/until (.*)$/.exec(waiting)[1]), "not before the time");
  assert.deepEqual(socket.of("agent_waiting").map(({ waiting: why }) => why), [waiting, null]);
  assert.match(minds.server.requests[1].raw, /hello/);
});

test("a short limit that a live agent's mind waits for within its reply is no time in which it thinks", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds, providers: patient(1), live: { think_timeout: "20s", max_retry_delay: "1h" } }, t);
  const socket = await live.connect();
  const ada = await live.bring(socket, { name: "Ada" });
  minds.server.script(inOrder(refused(24), { text: JSON.stringify({ action: "speak", content: "Here I am." }) }));
  await socket.must("message_accepted", { type: "chat_message", message: "hello", to: [ada] });
  await socket.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === ada);
  assert.equal((await live.agent(ada)).error, null);
  assert.equal(minds.server.requests.length, 2, "it was one thought, and the provider was asked twice");
});

test("a conversation of auto mode whose speaker meets a limit goes on when that is over", async (t) => {
  const talks = (steps) => ({ replies: [{ when: "taking part in a conversation", steps }] });
  const live = await Live.started({ standin: talks(limited("", 4).steps) }, t);
  const socket = await live.connect();
  const { agentIds: [ada] } = await begin(socket, { models: ["claude"] });
  const { agent_id, waiting } = await socket.waitFor(({ type, waiting: why }) => type === "agent_waiting" && why);
  assert.equal(agent_id, ada);
  const [, until] = /^for the usage limit of .*, until (.*)$/.exec(waiting) ?? assert.fail(waiting);
  assert.equal((await live.must(200, live.get("/crew"))).crew.find(({ facets }) => facets.body === ada).badge, "queued");
  live.follow(talks([{ say: "At last. [CONVERSATION_END]" }]));
  const over = await ended(socket);
  assert.equal(over.reason, "keyword", over.detail);
  assert.ok(Date.now() >= Date.parse(until), "not before the time");
  assert.equal(live.starts("claude").length, 2);
});

test("HTTP 429 with a reset that is far away parks the chat", async (t) => {
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

// Codex tells the time in words, to the minute, in local time: what waits goes on when that minute is over.
test("the real Codex meets a limit of its subscription, waits until the minute that it tells is over, and goes on", needs_codex, async (t) => {
  let until = 0;
  const model = await plannedModel({ go: [() => {
    until ||= seconds(3);
    if (seconds(0) >= until) return { text: report("It went on after the limit.") };
    return { status: 429, headers: { "content-type": "application/json" }, body: JSON.stringify({ error: { type: "usage_limit_reached", message: "The usage limit has been reached", plan_type: "plus", resets_at: until } }) };
  }] }, t);
  const crew = new Crew({ models: { sonnet: { provider: "codex", id: "gpt-5.5" } }, agents: { worker: { prompt: "You are worker." } } });
  t.after(() => crew.close());
  for (const folder of [".codex", "bin"]) mkdirSync(join(crew.home, folder), { recursive: true });
  // A mind has no configuration of its user's, so where its model is has to be said on its command line.
  const loopback = `{name="loopback",base_url="${model.url}/v1",env_key="CODEX_API_KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}`;
  writeFileSync(join(crew.home, "bin/codex"), `#!/bin/sh\nexec=$1; shift\nexec ${codex_bin} $exec -c 'model_provider="loopback"' -c 'model_providers.loopback=${loopback}' "$@"\n`, { mode: 0o755 });
  Object.assign(crew.env, { CODEX_API_KEY: "loopback", PATH: `${crew.home}/bin:${crew.env.PATH}` });
  await crew.startDaemon();
  const { task_id } = await crew.must(201, crew.spawnAgent({ agent: "worker", task: "PLAN go" }));
  const parked = await waitFor(async () => { const now = await crew.must(200, crew.get(`/subagents/${task_id}`)); assert.notEqual(now.status, "failed", now.error_message); return now.parked; }, { what: "it waits for the reset" });
  const minute = (time) => Math.floor(time / 60_000);
  assert.equal(minute(Date.parse(parked.until)), minute(until * 1000) + 1, `${parked.until}: ${parked.why}`);
  const over = await waitFor(async () => { const now = await crew.must(200, crew.get(`/subagents/${task_id}`)); return ["completed", "failed", "cancelled"].includes(now.status) && now; }, { within: 300_000, what: "it goes on" });
  assert.equal(over.status, "completed", `${over.error_type}: ${over.error_message}`);
  assert.match(over.result, /It went on after the limit/);
});
