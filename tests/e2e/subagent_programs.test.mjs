// Primaries and subagents that think through a program (claude): supervised runs with the same tools, rights and depth.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isAlive, waitFor } from "./harness.mjs";
import { filed, report } from "./harness/cast.mjs";
import { Crew } from "./harness/crew.mjs";
import { claude_bin, needs_claude, plannedModel, settleClaude } from "./harness/real_clients.mjs";
import { all_tools, live_tools } from "./harness/tour.mjs";

const spawn = (agent, task, more = {}) => ({ call: "spawn_agent", input: { agent, task, ...more } });
const plan = { when: "plan it", steps: [spawn("worker", "part one"), { say: "Woven: {{result}}" }] };
const done = { when: "part one", steps: [{ say: report("Part one is done.") }], usage: { input: 100, output: 20 }, cost_usd: 0.25 };

/// A file that a program can wait for.
function signalFile(t) {
  const folder = mkdtempSync(join(tmpdir(), "cru-e2e-signal-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "go");
}

const crewOf = (t, replies, more = {}) => Crew.started({ standin: { replies }, models: { sonnet: { provider: "claude", id: "model-1" } }, agents: { worker: { prompt: "You are worker. Be brief." } }, ...more }, t);

test("SA-09, SA-10: a primary that is a program spawns through its tools; the subagent sees nothing of it", async (t) => {
  const crew = await crewOf(t, [plan, done]);
  const chat = await crew.chat({ message: "plan it, my cat is Schroedinger" });
  assert.match(await chat.answer(), /^Woven: [^]*Part one is done\./);
  const record = await chat.record();
  const [child, ...more] = record.subagents;
  assert.deepEqual([more.length, child.status, child.agent, child.depth, child.chat_id, child.parent_chain], [0, "completed", "worker", 1, chat.id, ["user", "assistant", "worker"]]);
  assert.equal(child.run_id, `worker-${child.task_id}`);
  assert.ok(child.tokens >= 120 && Math.abs(child.cost_usd - 0.25) < 1e-6, JSON.stringify(child));
  assert.equal(crew.starts("claude").length, 2);
  const [own] = crew.starts("claude").filter(({ env }) => JSON.stringify(env).includes(child.run_id));
  assert.ok(own && !JSON.stringify(own).includes("Schroedinger"), JSON.stringify(own));
  assert.match(JSON.stringify(own.argv), /Be brief/);
  const { subagents: [note], session } = await filed(chat);
  assert.ok(session.links.includes(note.name));
  assert.match(session.body, /^- `mcp__cru__spawn_agent` \{.*"task":"part one".*\}$/m, "its tool uses are there");
  assert.match(session.body, new RegExp(`→ Running worker agent\\.\\.\\. \\[\\[${note.name}\\]\\]`), "the link at the start");
  assert.match(session.body, new RegExp(`^- \\[\\[${note.name}\\]\\] completed: Part one is done\\.$`, "m"), "and the one at the end");
  assert.match(note.body, /## Summary\n\nPart one is done\./);
});

test("a subagent that is a program and spawns is refused", async (t) => {
  const crew = await crewOf(t, [plan, { when: "part one", steps: [spawn("worker", "deeper"), { say: report("Told: {{result}}") }] }, { when: "deeper", steps: [{ say: "never" }] }]);
  const chat = await crew.chat({ message: "plan it" });
  const { subagents: [note, ...more] } = await filed(chat);
  assert.equal(more.length, 0);
  assert.match(note.body, /Maximum agent depth \(2\) exceeded/);
  assert.equal(crew.starts("claude").length, 2);
});

test("what a subagent was not granted its program cannot do, nor can its tools grant it", async (t) => {
  const crew = await crewOf(t, [
    { when: "plan it", steps: [spawn("worker", "part two", { permissions: ["NetworkAccess"] }), { say: "First: {{result}}" }, spawn("worker", "part one"), { say: "Then: {{result}}" }] },
    { when: "part one", steps: [{ tool: "Bash", input: { command: "touch made.txt" } }, { tool: "Write", input: { file_path: "made2.txt", content: "x" } }, { say: report("Tried.") }] }]);
  const chat = await crew.chat({ message: "plan it" });
  const said = (await chat.entries()).map(({ text }) => text).join("\n");
  assert.match(said, /Then: [^]*Tried\./);
  const { subagents } = await filed(chat);
  assert.equal(subagents.length, 1, "the one that asked for too much was not spawned");
  assert.ok(!existsSync(crew.path("made.txt")) && !existsSync(crew.path("made2.txt")));
});

test("a program is offered the tools that its agent may use, and no others", async (t) => {
  const say = { say: report("Seen.") };
  const crew = await crewOf(t, [
    { when: "plan it", steps: [spawn("worker", "part one", { permissions: [] }), spawn("worker", "part two", { permissions: ["DatabaseRead"] }), spawn("worker", "part three"), { say: "Woven." }] },
    { when: "part one", steps: [say] }, { when: "part two", steps: [say] }, { when: "part three", steps: [{ call: "acquire_lock", input: { file_path: "a" } }, { say: report("{{result}}") }] }]);
  const chat = await crew.chat({ message: "plan it", permissions: ["DatabaseRead", "DatabaseWrite"] });
  const { subagents } = await chat.record();
  const offered = async (task) => {
    const lines = (await crew.output(subagents.find((one) => one.task === task).run_id)).map(({ data }) => data);
    const { tools } = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line)).find(({ subtype }) => subtype === "init");
    return tools.filter((name) => name.startsWith("mcp__cru__")).map((name) => name.slice(10)).sort();
  };
  const least = ["ask_user", "get_agent", "get_subagent", "heartbeat", "list_agents", "list_notes", "read_note", "register_session", "request_approval", "semantic_search", "spawn_agent"];
  const reading = ["check_guardrails", "check_locks", "discover_agents", "list_crew", "list_work", "read_handoff", "recall", "why_work"];
  const writing = all_tools.filter((name) => !least.includes(name) && !reading.includes(name) && !live_tools.includes(name));
  assert.deepEqual(await offered("part one"), least);
  assert.deepEqual(await offered("part two"), [...least, ...reading].sort());
  assert.deepEqual(await offered("part three"), [...least, ...reading, ...writing].sort());
  assert.match((await filed(chat)).subagents.map(({ body }) => body).join(), /"action":"acquired"/, "and what is offered works");
});

test("SA-12, SA-41: a program that fails is a failed subagent with its last words", async (t) => {
  const crew = await crewOf(t, [plan, { when: "part one", steps: [{ say: "I begin" }, { fail: { exit: 3, stderr: "out of coffee" } }] }]);
  const chat = await crew.chat({ message: "plan it" });
  const { subagents: [{ front }] } = await filed(chat);
  assert.equal(front.status, "failed");
  assert.match(`${front.error_message} ${front.stack_trace}`, /out of coffee/);
  assert.match(await chat.answer(), /^Woven: /);
});

test("cancel_turn ends the programs of both, and the chat goes on", async (t) => {
  const crew = await crewOf(t, [{ when: "hello", steps: [{ say: "Hello." }] }, plan, { when: "part one", steps: [{ hang: true }] }]);
  const chat = await crew.chat({ message: "plan it" }, { wait: false });
  await waitFor(() => crew.starts("claude").length === 2);
  const pids = crew.starts("claude").map(({ pid }) => pid);
  await chat.cancel();
  await waitFor(() => pids.every((pid) => !isAlive(pid)), { what: "both programs are gone" });
  assert.deepEqual((await waitFor(async () => { const { subagents } = await chat.record(); return subagents.every(({ status }) => status !== "running") && subagents; })).map(({ status }) => status), ["cancelled"]);
  await chat.say("hello");
  assert.equal(await chat.answer(), "Hello.");
  await filed(chat);
});

test("the daemon dies while both programs work: they go on, and nothing is started twice", async (t) => {
  const go = signalFile(t);
  const crew = await crewOf(t, [plan, { when: "part one", steps: [{ until: go }, { say: report("Part one is done.") }] }]);
  const chat = await crew.chat({ message: "plan it" }, { wait: false });
  await waitFor(() => crew.starts("claude").length === 2);
  await crew.restartDaemon();
  writeFileSync(go, "");
  await chat.idle();
  assert.match(await chat.answer(), /^Woven: [^]*Part one is done\./);
  assert.equal(crew.starts("claude").length, 2);
  const { subagents } = await filed(chat);
  assert.deepEqual(subagents.map(({ front }) => front.status), ["completed"]);
  assert.equal(chat.events("subagent.completed").length, 1);
  assert.equal((await chat.entries()).filter(({ role }) => role === "assistant").length, 1);
  assert.equal((await chat.entries()).filter(({ role, text }) => role === "note" && text.includes("spawn_agent")).length, 1, "a tool use is noted once");
});

/// A primary that gives up waiting for its subagent, which works until `go` is there.
async function impatient(t, program, headers = {}) {
  const [give_up, go] = [signalFile(t), signalFile(t)];
  const crew = await crewOf(t, [
    { when: "have ended after you stopped waiting", resumed: true, steps: [{ say: "Woven: {{task}}" }] },
    { when: "plan it", steps: [{ ...spawn("worker", "part one"), gives_up: give_up }, { say: "It takes too long: {{result}}" }] },
    { when: "part one", steps: [{ until: go }, { say: report("Part one is done.") }] },
  ], { models: { sonnet: { provider: program, id: "model-1" } } });
  const chat = await crew.chat({ message: "plan it", permissions: ["all"] }, { wait: false, headers });
  await chat.heard("subagent.started");
  writeFileSync(give_up, "");
  await waitFor(async () => (await chat.entries()).some(({ role, text }) => role === "assistant" && /It takes too long: .*timed out/i.test(text)), { what: "it has given up and said so" });
  return { crew, chat, go };
}

for (const program of ["claude", "codex"]) {
  test(`a ${program} that gives up waiting for its subagent: the turn stays open, and goes on with the report`, async (t) => {
    const { crew, chat, go } = await impatient(t, program);
    const held = await chat.record();
    assert.deepEqual([held.turn, held.subagents.map(({ status }) => status)], ["running", ["running"]], "nothing is cancelled");
    writeFileSync(go, "");
    await chat.idle();
    assert.match(await chat.answer(), /^Woven: [^]*Part one is done\./);
    assert.equal(crew.starts(program).length, 3, "the primary twice, the subagent once");
    const { session, subagents: [note] } = await filed(chat);
    assert.equal(note.front.status, "completed");
    assert.match(session.body, /^## Reports \(/m);
  });
}

test("the daemon dies while a turn is held open for a report: it comes all the same", async (t) => {
  const { crew, chat, go } = await impatient(t, "claude");
  await crew.restartDaemon();
  writeFileSync(go, "");
  await chat.idle();
  assert.match(await chat.answer(), /^Woven: [^]*Part one is done\./);
  assert.equal(crew.starts("claude").length, 3);
  await filed(chat);
});

test("the account of whoever spoke outlives the daemon while the chat is at work, and is in no file", async (t) => {
  const account = { ANTHROPIC_CRU_TEST: "sk-of-ann-0123456789" };
  const { crew, chat, go } = await impatient(t, "claude", { "Cru-Account": Buffer.from(JSON.stringify(account)).toString("base64") });
  await crew.restartDaemon();
  writeFileSync(go, "");
  await chat.idle();
  const starts = crew.starts("claude");
  assert.equal(starts.length, 3, "the last one by the second daemon");
  for (const { env_names } of starts) assert.ok(env_names.includes("ANTHROPIC_CRU_TEST"), JSON.stringify(env_names));
  for (const folder of [".coven", ".crucible"])
    for (const file of readdirSync(crew.path(folder), { recursive: true, withFileTypes: true }))
      if (file.isFile()) assert.ok(!readFileSync(join(file.parentPath, file.name)).includes(account.ANTHROPIC_CRU_TEST), file.name);
});

test("a subagent that is cancelled with its primary's program says why", async (t) => {
  const crew = await crewOf(t, [
    { when: "plan it", steps: [{ ...spawn("worker", "part one"), input: { agent: "worker", task: "part one", wait_seconds: 0 } }, { fail: { exit: 3, stderr: "out of coffee" } }] },
    { when: "part one", steps: [{ hang: true }] }]);
  const chat = await crew.chat({ message: "plan it" }, { wait: false });
  const { error } = await chat.idle();
  assert.match(error.message, /exited with code 3/);
  const { subagents: [{ front }] } = await filed(chat);
  assert.equal(front.status, "cancelled");
  assert.match(front.error_message, /the turn of its chat failed: .*exited with code 3/);
});

test("the daemon dies between a subagent's end and its parent's: the report is not lost", async (t) => {
  const go = signalFile(t);
  const crew = await crewOf(t, [{ when: "plan it", steps: [spawn("worker", "part one"), { until: go }, { say: "Woven: {{result}}" }] }, done]);
  const chat = await crew.chat({ message: "plan it" }, { wait: false });
  await chat.heard("subagent.completed");
  await crew.restartDaemon();
  writeFileSync(go, "");
  await chat.idle();
  assert.match(await chat.answer(), /^Woven: [^]*Part one is done\./);
  assert.equal(crew.starts("claude").length, 2);
  await filed(chat);
});

// With a real one, offline: CRU_TEST_CLAUDE=/path/to/claude.
test("SA-09: a real claude reports as a subagent", needs_claude, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "cru-e2e-claude-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(realpathSync(claude_bin), join(folder, "claude"));
  const model = await plannedModel({ fruit: [{ text: report("pineapple") }] }, t);
  const crew = new Crew({ bin: [folder], models: { sonnet: { provider: "claude", id: "sonnet" } }, agents: { worker: { prompt: "You are worker. Answer with one line." } } });
  t.after(() => crew.close());
  Object.assign(crew.env, settleClaude(crew, model));
  await crew.startDaemon();
  const { task_id } = (await crew.spawnAgent({ agent: "worker", task: "PLAN fruit" })).json;
  const ended = await crew.subagentOver(task_id);
  assert.equal(ended.status, "completed", JSON.stringify(ended));
  assert.match(ended.result, /pineapple/i);
  assert.ok(ended.tokens > 0 && ended.cost_usd !== null);
});
