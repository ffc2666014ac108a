// Hooks as Claude Code fires them: a session registers, is told where things stand, cannot edit what another holds, and
// leaves nothing behind, however it ends. A hook that fails never stops its host.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { age, Agent, cru_bin, patience, Project, waitFor } from "./harness.mjs";
import { stdioClient, use } from "./harness/mcp.mjs";
import { StandIn, with_cru } from "./harness/standin.mjs";

/// A project with our hooks. A hook gives up after its own time, three seconds at most, rather than hold up its host. Here it
/// has the patience of its test, unless its own time is what is tested: `patient` is false.
async function hooked(t, { patient = true, ...options } = {}) {
  const project = await Project.started({ git: true, ...with_cru, ...options }, t);
  if (patient) project.env.CRU_HOOK_LIMIT_MS = String(patience);
  const installed = await project.cru("hooks", "install");
  assert.equal(installed.code, 0, JSON.stringify(installed));
  return project;
}

test("CO-11: a session registers by itself and is told the last handoff", async (t) => {
  const project = await hooked(t);
  const other = new Agent(project, "other");
  const before = new Agent(project, "ada");
  await before.ask("write_handoff", { summary: "the lexer is begun", next_steps: ["numbers"] });
  await before.ask("write_handoff", { summary: "the parser is half done", next_steps: ["precedence"] });
  const session = new StandIn(project, { env: { AGENT_ID: "ada" } });
  const { context } = await session.ready();
  assert.match(context, /the parser is half done/);
  assert.match(context, /precedence/);
  assert.doesNotMatch(context, /the lexer is begun|numbers/, "the most recent one, no other");
  const [start] = session.hooks("SessionStart");
  assert.deepEqual([start.exit_code, start.outcome], [0, "success"], JSON.stringify(start));
  const seen = (await other.ask("discover_agents")).agents.find(({ session_id }) => session_id === session.session_id);
  assert.deepEqual([seen?.agent_id, seen?.status], ["ada", "active"], JSON.stringify(seen));
  await session.order({ stop: true });
  const idle = (await other.ask("discover_agents")).agents.find(({ session_id }) => session_id === session.session_id);
  assert.equal(idle.status, "idle", "between two turns");
  await session.order({ prompt: "go on" });
  assert.equal((await other.ask("discover_agents")).agents.find(({ session_id }) => session_id === session.session_id).status, "active");
  await session.quit();
});

test("CO-11: a nameless Claude Code session is told what the last one left", async (t) => {
  const project = await hooked(t);
  const first = new StandIn(project);
  await first.ready();
  const mcp = await stdioClient(project, t, { env: { CLAUDE_CODE_SESSION_ID: first.session_id, CLAUDE_PROJECT_DIR: project.root } });
  assert.equal((await use(mcp, "heartbeat")).session_id, first.session_id, "hook and server are one session");
  await use(mcp, "write_handoff", { summary: "left at the semicolon" });
  await mcp.close();
  const still = (await new Agent(project, "other").ask("discover_agents")).agents.find(({ session_id }) => session_id === first.session_id);
  assert.ok(still, "a session that hooks keep outlives its MCP server");
  await first.edit(project.path("notes.txt"));
  await first.quit();
  const second = new StandIn(project);
  const { context } = await second.ready();
  const [latest] = (await new Agent(project, "other").ask("list_handoffs", { limit: 1 })).handoffs;
  assert.deepEqual([latest.session_id, latest.kind, latest.relevant_files], [first.session_id, "final", ["notes.txt"]]);
  assert.ok(context.includes("> left at the semicolon\n") && context.includes("Recorded by cru: worked ") && context.includes("notes.txt"), context);
  await second.quit();
});

test("CO-11: a session that did nothing does not hide what the one before it left", async (t) => {
  const project = await hooked(t);
  const worker = new StandIn(project, { env: { AGENT_ID: "ada" } });
  await worker.ready();
  const mcp = await stdioClient(project, t, { env: { AGENT_ID: "ada", CLAUDE_CODE_SESSION_ID: worker.session_id } });
  await use(mcp, "write_handoff", { summary: "left at the semicolon" });
  await worker.quit();
  const idle = new StandIn(project, { env: { AGENT_ID: "ada" } });
  await idle.ready();
  await idle.quit();
  const other = new Agent(project, "bob");
  const [latest] = (await other.ask("read_handoff", { agent_name: "ada" })).handoffs;
  assert.deepEqual([latest.session_id, latest.kind, latest.empty], [idle.session_id, "final", true], "CO-12: it is written all the same");
  for (const [name, words] of [["ada", "The last handoff of yours, written by ada"], ["eve", "The last handoff, written by ada"]]) {
    const next = new StandIn(project, { env: { AGENT_ID: name } });
    const { context } = await next.ready();
    assert.ok(context.includes(words) && context.includes("> left at the semicolon\n"), context);
    await next.quit();
  }
});

test("an edit of what another agent holds is denied with its name and the expiry", async (t) => {
  const project = await hooked(t);
  const other = new Agent(project, "bob");
  const lock = await other.ask("acquire_lock", { file_path: "src/*.cc", reason: "big rename" });
  const session = new StandIn(project, { env: { AGENT_ID: "ada" } });
  await session.ready();
  spawnSync("mkdir", ["-p", project.path("src")]);
  const denied = await session.edit(project.path("src/a.cc"));
  assert.equal(denied.denied, true, JSON.stringify(session.told));
  assert.match(denied.reason, /bob/);
  assert.ok(denied.reason.includes(lock.expires_at) || /\d\d:\d\d/.test(denied.reason), denied.reason);
  assert.ok(!existsSync(project.path("src/a.cc")));
  assert.equal((await session.edit(project.path("README.md"))).denied, false);
  assert.equal((await session.order({ tool: "Read", input: { file_path: project.path("src/a.cc") } })).denied, false, "reading is free");
  await other.ask("release_lock", { file_path: "src/*.cc" });
  assert.equal((await session.edit(project.path("src/a.cc"))).denied, false, "free again");
  for (const told of session.hooks()) assert.equal(told.exit_code, 0, JSON.stringify(told));
  await session.quit();
});

test("with lock_on_edit an edit takes the lock for its editor", async (t) => {
  const project = await hooked(t, { config: "coordination: {lock_on_edit: true}\n" });
  const other = new Agent(project, "bob");
  const session = new StandIn(project, { env: { AGENT_ID: "ada" } });
  await session.ready();
  assert.equal((await session.edit(project.path("mine.txt"))).denied, false);
  const { result } = await other.ask("check_locks");
  assert.deepEqual(result.map(({ file_path, locked_by }) => [file_path, locked_by]), [["mine.txt", "ada"]]);
  assert.equal((await session.edit(project.path("mine.txt"), "again")).denied, false);
  assert.equal((await other.ask("check_locks")).result[0].fencing_token, result[0].fencing_token, "refreshed");
  await session.quit();
  assert.deepEqual((await other.ask("check_locks")).result, []);
});

for (const [how, end, code] of [["a proper end", (session) => session.quit(), 0], ["SIGTERM", (session) => { session.child.kill("SIGTERM"); return session.child.ended; }, 143]]) {
  test(`CO-12: ${how} releases the locks, requeues the work and leaves a final handoff`, async (t) => {
    const project = await hooked(t);
    const other = new Agent(project, "bob");
    const session = new StandIn(project, { env: { AGENT_ID: "ada" } });
    await session.ready();
    const mcp = await stdioClient(project, t, { env: { AGENT_ID: "ada", CLAUDE_CODE_SESSION_ID: session.session_id } });
    await use(mcp, "acquire_lock", { file_path: "src/a.cc" });
    await use(mcp, "submit_work", { task_type: "t", description: "finish the lexer", task_id: "lexer" });
    await use(mcp, "submit_work", { task_type: "t", description: "start the parser", task_id: "parser", priority: 9 });
    const first = await use(mcp, "get_work");
    await use(mcp, "complete_work", { task_id: first.task_id, success: true, fencing_token: first.fencing_token });
    await use(mcp, "get_work");
    await session.edit(project.path("touched.txt"));
    const ended = await end(session);
    assert.equal(ended.code, code, JSON.stringify(ended));
    const [hook] = session.hooks("SessionEnd");
    assert.deepEqual([hook.exit_code, hook.outcome], [0, "success"], JSON.stringify(hook));
    assert.deepEqual((await other.ask("check_locks")).result, []);
    assert.equal((await other.ask("get_work_item", { task_id: "parser" })).status, "pending");
    const [handoff] = (await other.ask("read_handoff", { agent_name: "ada" })).handoffs;
    assert.deepEqual([handoff.kind, handoff.session_id], ["final", session.session_id], JSON.stringify(handoff));
    assert.ok(handoff.relevant_files.includes("touched.txt"), JSON.stringify(handoff));
    assert.match(handoff.completed_work.join(), /lexer/);
    assert.match([...handoff.in_progress, ...handoff.next_steps].join(), /parser/);
    const gone = (await other.ask("discover_agents", { status: "disconnected" })).agents.map(({ session_id }) => session_id);
    assert.ok(gone.includes(session.session_id));
  });
}

test("CO-12: a session that is killed is cleaned up after by the dead-agent path", async (t) => {
  const project = await hooked(t, { config: "coordination: {lock_on_edit: true}\n" });
  const other = new Agent(project, "bob");
  const session = new StandIn(project, { env: { AGENT_ID: "ada" } });
  await session.ready();
  await session.edit(project.path("touched.txt"));
  assert.equal((await other.ask("check_locks")).result.length, 1);
  session.child.kill("SIGKILL");
  await session.child.ended;
  assert.deepEqual(session.hooks("SessionEnd"), []);
  await project.killDaemon();
  age(project, session, 20);
  await project.startDaemon();
  await waitFor(async () => (await other.ask("check_locks")).result.length === 0, { what: "the lock is free" });
  const [handoff] = (await other.ask("read_handoff", { agent_name: "ada" })).handoffs;
  assert.deepEqual([handoff.kind, handoff.session_id, handoff.relevant_files.includes("touched.txt")], ["final", session.session_id, true], JSON.stringify(handoff));
});

/// Whatever was logged locally: in the project, or in the user's state folder where there is none.
function logged(project) {
  const texts = [];
  for (const folder of [project.path(".coven/log"), join(project.home, ".state")]) {
    if (!existsSync(folder)) continue;
    for (const name of readdirSync(folder, { recursive: true })) {
      try { texts.push(readFileSync(join(folder, String(name)), "utf8")); } catch { /* a folder */ }
    }
  }
  return texts.join("\n");
}

async function goesOn(project, why) {
  const session = new StandIn(project, { env: { AGENT_ID: "ada" } });
  await session.ready();
  assert.equal((await session.edit(project.path("anyway.txt"))).denied, false, `${why}: the edit is made`);
  assert.equal((await session.quit()).code, 0);
  assert.ok(session.hooks().length >= 4, JSON.stringify(session.told));
  for (const told of session.hooks()) assert.deepEqual([told.hook, told.exit_code, told.outcome, told.stderr], [told.hook, 0, "success", ""], `${why}: ${JSON.stringify(told)}`);
  return session;
}

test("CO-13: no daemon can be had: the session goes on without, and the error is logged", async (t) => {
  const project = await hooked(t);
  await project.killDaemon();
  const sql = (sign) => spawnSync("sqlite3", [project.path(".coven/coven.db"), `UPDATE schema_versions SET version = version ${sign} 1000`]);
  sql("+");
  await goesOn(project, "a daemon that will not start");
  assert.match(logged(project), /session-start/);
  sql("-");
  const session = new StandIn(project, { env: { AGENT_ID: "ada" } });
  await session.ready();
  assert.ok((await new Agent(project, "other").ask("discover_agents")).agents.some(({ session_id }) => session_id === session.session_id), "and works when it can");
  await session.quit();
});

test("CO-13: a daemon that hangs does not hang the session", async (t) => {
  const project = await hooked(t, { patient: false });
  const pid = project.daemonPid;
  process.kill(pid, "SIGSTOP");
  t.after(() => { try { process.kill(pid, "SIGCONT"); } catch { /* gone */ } });
  await goesOn(project, "a hanging daemon");
  // On a busy machine the time may be over before the request is sent, which is said in other words.
  const gaveUp = (event, limit) => new RegExp(`"event":"${event}","error":"(timed out after ${limit} ms|the daemon did not respond in time)"`);
  assert.match(logged(project), gaveUp("session-start", 3000));
  assert.match(logged(project), gaveUp("session-end", 950));
  process.kill(pid, "SIGCONT");
});

test("bad input on stdin is exit 0 and a line in the log, and decides nothing", async (t) => {
  const project = await hooked(t);
  const verbs = ["session-start", "session-end", "pre-tool-use", "post-tool-use", "user-prompt-submit", "stop"];
  const inputs = ["", "no json", "[]", "{}", '{"session_id":7}', '{"session_id":"../../x","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":7}}', `{"session_id":"${"x".repeat(5000)}"}`, `{"a":${"[".repeat(500)}`, "\u0000\u0001"];
  for (const input of inputs) {
    // What is hostile beyond its shape concerns those that look into it.
    await Promise.all(verbs.slice(0, inputs.indexOf(input) < 5 ? 6 : 4).map(async (verb) => {
      const told = await project.cru("hook", verb, { input });
      assert.deepEqual([verb, input.slice(0, 40), told.code], [verb, input.slice(0, 40), 0], JSON.stringify(told));
      assert.ok(!/"deny"/.test(told.stdout), told.stdout);
    }));
  }
  assert.equal((await project.cru("hook", "no-such-hook", { input: "{}" })).code, 0);
  assert.match(logged(project), /pre-tool-use/);
});

test("outside any project, or with no state folder, a hook still ends well", async (t) => {
  const project = await hooked(t);
  await project.killDaemon("SIGTERM");
  rmSync(project.path(".coven"), { recursive: true, force: true });
  writeFileSync(project.path(".coven"), "a file where the folder should be\n");
  t.after(() => rmSync(project.path(".coven"), { force: true }));
  const told = await project.cru("hook", "session-start", { input: JSON.stringify({ session_id: "9de0a853-35c2-4ac5-b250-2bbf84fb563d", cwd: project.root, hook_event_name: "SessionStart", source: "startup" }) });
  assert.deepEqual([told.code, told.stderr], [0, ""], JSON.stringify(told));
  await waitFor(() => logged(project).includes("session-start"), { what: "logged in the user's state folder" });
});

test("a hook that is missing altogether does not stop the session", async (t) => {
  const project = await hooked(t, { bin: [] });
  const text = readFileSync(project.path(".claude/settings.json"), "utf8");
  writeFileSync(project.path(".claude/settings.json"), text.replaceAll(cru_bin, "/no/such/cru").replaceAll('"cru hook', '"/no/such/cru hook'));
  const session = new StandIn(project);
  await session.ready();
  assert.equal((await session.edit(project.path("x.txt"))).denied, false);
  assert.equal((await session.quit()).code, 0);
});
