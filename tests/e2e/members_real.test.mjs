// Who is who with the real Claude Code and Codex, as far as a model without a mind can drive them: CRU_TEST_CLAUDE and
// CRU_TEST_CODEX name the programs. Nothing leaves the machine.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { processesWith, waitFor } from "./harness.mjs";
import { codex_bin, CodexServer } from "./harness/codex.mjs";
import { agentsOf, holders } from "./harness/hosts.mjs";
import { AtTerminal, claude_bin, claudeOf, claudes, codexOf, codexs, needs_claude, needs_codex, plannedModel, realProject } from "./harness/real_clients.mjs";
import { with_cru } from "./harness/standin.mjs";

/// A promise for a reply that waits, and what lets it go on.
function gate() {
  const one = { is_reached: false };
  const open = new Promise((resolve) => { one.open = resolve; });
  one.reply = async () => { one.is_reached = true; await open; return { text: "done" }; };
  one.reached = (child) => waitFor(() => {
    if (!one.is_reached && child.exitCode !== null) throw Object.assign(new Error(`it ended: ${child.text.stdout}${child.text.stderr}`), { final: true });
    return one.is_reached;
  }, { what: "the model is asked for its last word" });
  return one;
}
const childrenOf = (pid) => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
const programs = [
  { name: "claude", type: "claude_code", needs: needs_claude, start: claudeOf, words: claudes, host: (child) => child.pid },
  // The program that npm installs is a child of a small one that only waits for it.
  { name: "codex", type: "codex", needs: needs_codex, start: codexOf, words: codexs, host: (child) => childrenOf(child.pid)[0] ?? child.pid },
];

for (const { name, type, needs, start, words, host } of programs) {
  test(`a real ${name} is one member: its own lock lets it edit, another's does not`, needs, async (t) => {
    const plans = {}, model = await plannedModel(plans, t);
    const project = await realProject(t, model);
    const last = gate();
    plans.work = [words.cru("acquire_lock", { file_path: "own.txt" }), words.edit(project, "own.txt"), words.edit(project, "others.txt"), last.reply];
    await project.witness.ask("acquire_lock", { file_path: "others.txt" });
    const child = start(project, "work");
    await last.reached(child);
    const seen = JSON.stringify(model.requests.map(({ results }) => results));
    assert.ok(existsSync(project.path("own.txt")), seen);
    assert.ok(!existsSync(project.path("others.txt")), seen);
    assert.match(JSON.stringify(model.requests.at(-1).results), /locked by agent witness|witness/);
    assert.deepEqual(await holders(project), { "own.txt": `${name}-1`, "others.txt": "witness" });
    assert.deepEqual((await agentsOf(project)).filter(({ agent_id }) => agent_id !== "witness").map(({ agent_id, agent_type }) => [agent_id, agent_type]), [[`${name}-1`, type]]);
    last.open();
    assert.equal((await child.ended).code, 0, child.text.stdout + child.text.stderr);
    await waitFor(async () => (await agentsOf(project)).every(({ agent_id }) => agent_id === "witness"), { what: "it has left" });
    assert.deepEqual(await holders(project), { "others.txt": "witness" });
  });

  test(`a real ${name} that is killed in the middle of a turn holds nothing any more`, needs, async (t) => {
    const plans = {}, model = await plannedModel(plans, t);
    const project = await realProject(t, model);
    const last = gate();
    plans.work = [words.cru("acquire_lock", { file_path: "own.txt" }), last.reply];
    const child = start(project, "work");
    await last.reached(child);
    assert.deepEqual(await holders(project), { "own.txt": `${name}-1` });
    process.kill(host(child), "SIGKILL");
    await waitFor(async () => (await agentsOf(project)).length === 0, { what: "it is gone" });
    assert.deepEqual(await holders(project), {});
    const [handoff] = (await project.witness.ask("list_handoffs", { limit: 1 })).handoffs;
    assert.deepEqual([handoff.kind, handoff.agent_name], ["final", name === "claude" ? "claude_code" : name]);
    last.open();
    await child.ended;
  });
}

test("a real claude and a real codex are two, and block each other", { skip: needs_claude.skip || needs_codex.skip }, async (t) => {
  const plans = {}, model = await plannedModel(plans, t);
  const project = await realProject(t, model);
  const [first, second] = [gate(), gate()];
  plans.one = [claudes.cru("acquire_lock", { file_path: "one.txt" }), first.reply];
  plans.two = [codexs.cru("acquire_lock", { file_path: "two.txt" }), codexs.edit(project, "one.txt"), second.reply];
  const claude = claudeOf(project, "one");
  await first.reached(claude);
  const codex = codexOf(project, "two");
  await second.reached(codex);
  assert.deepEqual(await holders(project), { "one.txt": "claude-1", "two.txt": "codex-1" });
  assert.ok(!existsSync(project.path("one.txt")));
  assert.match(JSON.stringify(model.requests.at(-1).results), /claude-1/);
  first.open();
  await claude.ended;
  await waitFor(async () => Object.keys(await holders(project)).join() === "two.txt", { what: "what Claude held is free" });
  second.open();
  await codex.ended;
  await waitFor(async () => (await agentsOf(project)).length === 0, { what: "both have left" });
});

test("a real claude that resumes a conversation has its name again", needs_claude, async (t) => {
  const plans = {}, model = await plannedModel(plans, t);
  const project = await realProject(t, model);
  plans.one = [claudes.cru("acquire_lock", { file_path: "one.txt" }), { text: "done" }];
  const other = gate(), again = gate();
  plans.other = [claudes.cru("acquire_lock", { file_path: "other.txt" }), other.reply];
  plans.again = [claudes.cru("acquire_lock", { file_path: "one.txt" }), again.reply];
  const { stdout } = await claudeOf(project, "one").ended;
  const session = stdout.match(/"session_id":"([^"]+)"/)[1];
  const between = claudeOf(project, "other");
  await other.reached(between);
  const resumed = claudeOf(project, "again", "--resume", session);
  await again.reached(resumed);
  assert.deepEqual(await holders(project), { "one.txt": "claude-1", "other.txt": "claude-2" });
  other.open();
  again.open();
  await Promise.all([between.ended, resumed.ended]);
  await waitFor(async () => (await agentsOf(project)).length === 0, { what: "both have left" });
});

test("a real claude at a terminal is itself after /clear, with its locks", needs_claude, async (t) => {
  const plans = {}, model = await plannedModel(plans, t);
  const project = await realProject(t, model);
  plans.one = [claudes.cru("acquire_lock", { file_path: "own.txt" }), { text: "done" }];
  plans.two = [claudes.edit(project, "own.txt"), { text: "done" }];
  const claude = new AtTerminal(project, claude_bin);
  const names = async () => (await agentsOf(project)).map(({ agent_id }) => agent_id).join();
  await waitFor(async () => await names() === "claude-1", { what: "its session begins" });
  await claude.say("PLAN one", async () => (await holders(project))["own.txt"] === "claude-1");
  await claude.say("/clear", async () => (await project.witness.ask("list_handoffs")).handoffs.length > 0);
  await claude.say("PLAN two", () => existsSync(project.path("own.txt")));
  assert.ok(model.requests.every(({ raw }) => !raw.includes("PLAN one") || !raw.includes("PLAN two")), "it was cleared");
  assert.deepEqual([await names(), await holders(project)], ["claude-1", { "own.txt": "claude-1" }]);
  await claude.say("/exit", () => claude.child.exitCode !== null);
  await waitFor(async () => await names() === "", { what: "it has left" });
  assert.deepEqual(await holders(project), {});
});

/// A project whose hooks are those that the real Claude's own version has.
async function projectOfClaude(t, model) {
  const folder = mkdtempSync(join(tmpdir(), "cru-e2e-claude-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(realpathSync(claude_bin), join(folder, "claude"));
  return realProject(t, model, { bin: [folder, ...with_cru.bin] });
}
const crewOf = async (project) => (await project.get("/crew")).json.crew;

test("a real claude's own subagent is what it does", needs_claude, async (t) => {
  const plans = {}, model = await plannedModel(plans, t);
  const project = await projectOfClaude(t, model);
  const inner = gate();
  plans.outer = [{ tools: [{ name: "Task", input: { description: "look around", prompt: "PLAN inner", subagent_type: "general-purpose" } }] }, { text: "done" }];
  plans.inner = [inner.reply];
  const child = claudeOf(project, "outer");
  await inner.reached(child);
  await waitFor(async () => (await crewOf(project)).some(({ badge, doing }) => badge === "using a tool" && /^subagent general-purpose/.test(doing)), { what: "the subagent is shown" });
  inner.open();
  assert.equal((await child.ended).code, 0, child.text.stdout + child.text.stderr);
});

test("a real claude whose model fails is shown as failed, and goes on with the next prompt", needs_claude, async (t) => {
  const plans = {}, model = await plannedModel(plans, t);
  const project = await projectOfClaude(t, model);
  plans.bad = [{ status: 400, error: { type: "invalid_request_error", message: "no such thing" } }];
  plans.good = [claudes.cru("acquire_lock", { file_path: "own.txt" }), { text: "done" }];
  const claude = new AtTerminal(project, claude_bin);
  const badge = async () => (await crewOf(project)).find(({ name }) => name === "claude-1");
  await waitFor(badge, { what: "its session begins" });
  await claude.say("PLAN bad", async () => (await badge())?.badge === "failed");
  assert.match((await badge()).evidence, /no such thing|400/);
  await claude.say("PLAN good", async () => (await holders(project))["own.txt"] === "claude-1");
  await waitFor(async () => (await badge()).badge === "idle", { what: "the turn is over" });
  await claude.say("/exit", () => claude.child.exitCode !== null);
});

test("a real claude that asks for a permission needs its user", needs_claude, async (t) => {
  const plans = {}, model = await plannedModel(plans, t);
  const project = await projectOfClaude(t, model);
  plans.ask = [{ tools: [{ name: "Write", input: { file_path: project.path("asked.txt"), content: "x" } }] }, { text: "done" }];
  const claude = new AtTerminal(project, claude_bin, "--permission-mode", "default");
  const badge = async () => (await crewOf(project)).find(({ name }) => name === "claude-1");
  await waitFor(badge, { what: "its session begins" });
  await claude.say("PLAN ask", async () => (await badge())?.badge === "needs you");
  assert.match((await badge()).evidence, /(permission to use Write|asked: approval A-1): .*asked\.txt/);
  assert.ok(!existsSync(project.path("asked.txt")));
  claude.child.stdin.write("\r");  // the first choice: yes
  await waitFor(() => existsSync(project.path("asked.txt")), { what: "it goes on" });
  await waitFor(async () => (await badge()).badge === "idle", { what: "the turn is over" });
  await claude.say("/exit", () => claude.child.exitCode !== null);
});

test("a real codex at a terminal is itself after /clear, with its locks", needs_codex, async (t) => {
  const plans = {}, model = await plannedModel(plans, t);
  const project = await realProject(t, model);
  plans.one = [codexs.cru("acquire_lock", { file_path: "own.txt" }), { text: "done" }];
  plans.two = [codexs.edit(project, "own.txt"), { text: "done" }];
  const server = await CodexServer.started(project, project.real_env);
  await server.trust();
  await server.stop();
  const codex = new AtTerminal(project, codex_bin, "--no-daemon", "--dangerously-bypass-approvals-and-sandbox");
  const names = async () => (await agentsOf(project)).map(({ agent_id }) => agent_id).join();
  await codex.say("PLAN one", async () => (await holders(project))["own.txt"] === "codex-1");
  // A thread has a server of its own.
  const servers = () => processesWith(`HOME=${project.home}`).filter((pid) => { try { return /cru\0mcp\0/.test(readFileSync(`/proc/${pid}/cmdline`, "latin1")); } catch { return false; } }).length;
  const before = servers();
  await codex.say("/clear", () => servers() > before);
  await codex.say("PLAN two", () => existsSync(project.path("own.txt")));
  assert.ok(model.requests.every(({ raw }) => !raw.includes("PLAN one") || !raw.includes("PLAN two")), "it was cleared");
  assert.deepEqual([await names(), await holders(project)], ["codex-1", { "own.txt": "codex-1" }]);
  await codex.say("/exit", () => codex.child.exitCode !== null);
  await waitFor(async () => await names() === "", { what: "it has left" });
  assert.deepEqual(await holders(project), {});
});

test("two threads of a real Codex server are two members", needs_codex, async (t) => {
  const plans = {}, model = await plannedModel(plans, t);
  const project = await realProject(t, model);
  const codex = await CodexServer.started(project, project.real_env);
  await codex.trust();
  const gates = { one: gate(), two: gate(), three: gate() };
  plans.one = [codexs.cru("acquire_lock", { file_path: "one.txt" }), codexs.edit(project, "one.txt"), gates.one.reply];
  plans.two = [codexs.cru("acquire_lock", { file_path: "two.txt" }), codexs.edit(project, "two.txt"), codexs.edit(project, "one.txt"), gates.two.reply];
  const begin = async (plan) => {
    const { thread: { id } } = await codex.ask("thread/start", { cwd: project.root, approvalPolicy: "never", sandbox: "danger-full-access" });
    await codex.ask("turn/start", { threadId: id, input: [{ type: "text", text: `PLAN ${plan}` }] });
    await gates[plan].reached(codex.child);
    return id;
  };
  await begin("one");
  await begin("two");
  const held = await holders(project);
  assert.deepEqual([Object.keys(held).sort(), Object.values(held).sort()], [["one.txt", "two.txt"], ["codex-1", "codex-2"]]);
  assert.ok(existsSync(project.path("two.txt")));
  assert.match(JSON.stringify(model.requests.at(-1).results), new RegExp(held["one.txt"]), "the first thread's lock is another's");
  gates.one.open();
  gates.two.open();
  await codex.stop();
  await waitFor(async () => (await agentsOf(project)).length === 0, { what: "both are gone with their server" });
  assert.deepEqual(await holders(project), {});
});
