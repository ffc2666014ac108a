// Who is who, with processes like Claude Code's and Codex's: one conversation is one member, two are two, and what a member
// holds lasts as long as its program.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { age, isAlive, waitFor } from "./harness.mjs";
import { agentsOf, Claude, Codex, holders, hostedProject, membersIn } from "./harness/hosts.mjs";
import { stdioClient, use } from "./harness/mcp.mjs";

test("hook and MCP server of one Claude are one member, which its own lock does not block", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  await claude.call("acquire_lock", { file_path: "a.txt" });
  assert.equal(await claude.edit("a.txt"), null);
  assert.deepEqual((await agentsOf(project)).map(({ agent_id, agent_type }) => [agent_id, agent_type]), [["claude-1", "claude_code"]]);
  assert.deepEqual(await holders(project), { "a.txt": "claude-1" });
  await claude.quit();
  assert.deepEqual([await holders(project), await agentsOf(project)], [{}, []]);
});

test("hook and MCP server of one Codex are one member, though its server knows nothing", async (t) => {
  const project = await hostedProject(t);
  const codex = await Codex.started(project);
  const thread = await codex.thread();
  await thread.call("acquire_lock", { file_path: "a.txt" });
  assert.equal(await thread.edit("a.txt"), null);
  assert.deepEqual((await agentsOf(project)).map(({ agent_id, agent_type }) => [agent_id, agent_type]), [["codex-1", "codex"]]);
  await codex.quit(thread);
  assert.deepEqual([await holders(project), await agentsOf(project)], [{}, []]);
});

test("a Codex server that acts before its thread's first hook is the same member", async (t) => {
  const project = await hostedProject(t);
  const codex = await Codex.started(project);
  const thread = await codex.thread({ begins: false });
  await thread.call("acquire_lock", { file_path: "a.txt" });
  await thread.begin("startup");
  assert.equal(await thread.edit("a.txt"), null);
  assert.equal((await agentsOf(project)).length, 1);
});

test("two clients are two, whichever they are, and block each other", async (t) => {
  const project = await hostedProject(t);
  const [one, two] = [await Claude.started(project), await Claude.started(project)];
  const codex = await Codex.started(project);
  const thread = await codex.thread();
  await one.call("acquire_lock", { file_path: "one" });
  await two.call("acquire_lock", { file_path: "two" });
  await thread.call("acquire_lock", { file_path: "three" });
  assert.deepEqual(await holders(project), { one: "claude-1", two: "claude-2", three: "codex-1" });
  for (const [who, own] of [[one, "one"], [two, "two"], [thread, "three"]])
    for (const [file, name] of [["one", "claude-1"], ["two", "claude-2"], ["three", "codex-1"]]) {
      const denied = await who.edit(file);
      if (file === own) assert.equal(denied, null, file);
      else assert.match(denied, new RegExp(name));
    }
  assert.match(two.context, /claude-1/, "who begins is told who is there");
});

test("/clear and /resume keep the member, its name and its locks", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  const first = claude.session;
  await claude.call("acquire_lock", { file_path: "a.txt" });
  for (const change of [() => claude.clear(), () => claude.resume(first), () => claude.clear(), () => claude.resume(randomUUID())]) {
    await change();
    assert.deepEqual(await holders(project), { "a.txt": "claude-1" });
    assert.equal(await claude.edit("a.txt"), null);
    assert.equal((await claude.call("acquire_lock", { file_path: "a.txt" })).success, true);
    assert.equal((await agentsOf(project)).length, 1);
  }
  await claude.quit();
  assert.deepEqual([await holders(project), await agentsOf(project)], [{}, []]);
});

test("a conversation that is resumed in a new process has its old name", async (t) => {
  const project = await hostedProject(t);
  const first = await Claude.started(project);
  await Claude.started(project);
  await first.quit();
  const again = await Claude.started(project, { session: first.session, source: "resume" });
  await again.call("acquire_lock", { file_path: "a.txt" });
  assert.deepEqual(await holders(project), { "a.txt": "claude-1" });
  assert.equal(await again.edit("a.txt"), null);
});

test("a cleared Codex goes on as itself, and the late end of its old thread frees nothing", async (t) => {
  const project = await hostedProject(t);
  for (const [env, name] of [[{}, "codex-1"], [{ AGENT_ID: "ada" }, "ada"]]) {
    const codex = await Codex.started(project, env);
    const thread = await codex.thread();
    await thread.call("acquire_lock", { file_path: "a.txt" });
    const next = await codex.clear(thread);
    assert.equal(await next.edit("a.txt"), null, "the lock of the cleared thread is its own");
    await thread.end();
    assert.deepEqual(await holders(project), { "a.txt": name });
    assert.equal(await next.edit("a.txt"), null);
    await codex.quit(next);
    assert.deepEqual([await holders(project), await agentsOf(project)], [{}, []]);
  }
});

test("two threads of one Codex server are two, and one that ends leaves the other its locks", async (t) => {
  const project = await hostedProject(t);
  const codex = await Codex.started(project);
  const [one, two] = [await codex.thread(), await codex.thread()];
  await one.call("acquire_lock", { file_path: "one" });
  await two.call("acquire_lock", { file_path: "two" });
  const held = await holders(project);
  assert.deepEqual(Object.values(held).sort(), ["codex-1", "codex-2"]);
  assert.equal(await one.edit("one"), null);
  assert.match(await one.edit("two"), new RegExp(held.two));
  assert.match(await two.edit("one"), new RegExp(held.one));
  await one.end();
  assert.deepEqual(await holders(project), { two: held.two });
  assert.equal(await two.edit("two"), null);
  await codex.kill();
  await waitFor(async () => Object.keys(await holders(project)).length === 0, { what: "both are gone with their server" });
});

test("two threads that were given one name are still two", async (t) => {
  const project = await hostedProject(t);
  // A server that two terminals share has the variables of the first.
  const codex = await Codex.started(project, { AGENT_ID: "ada" });
  const [one, two] = [await codex.thread(), await codex.thread()];
  await one.call("acquire_lock", { file_path: "one" });
  assert.notEqual(await two.edit("one"), null);
  assert.equal(await one.edit("one"), null);
  await two.end();
  assert.deepEqual(await holders(project), { one: "ada" });
});

test("a subagent of Codex, which is a thread of its parent's session, is its parent", async (t) => {
  const project = await hostedProject(t);
  const codex = await Codex.started(project);
  const thread = await codex.thread();
  await thread.call("acquire_lock", { file_path: "a.txt" });
  const server = randomUUID();
  await codex.order({ open: server });
  const answer = await codex.use(server, "acquire_lock", { file_path: "a.txt" }, { threadId: server, sessionId: thread.session });
  assert.equal(answer.success, true, JSON.stringify(answer));
  await codex.order({ close: server });
  assert.deepEqual(await holders(project), { "a.txt": "codex-1" });
  assert.equal((await agentsOf(project)).length, 1);
});

for (const is_down of [false, true]) {
  test(`a program that is killed ${is_down ? "while no daemon runs " : ""}leaves nothing held, and a final handoff, at once`, async (t) => {
    const project = await hostedProject(t);
    const claude = await Claude.started(project);
    await claude.call("acquire_lock", { file_path: "a.txt" });
    await claude.call("submit_work", { task_type: "t", description: "start the parser", task_id: "parser" });
    await claude.call("get_work");
    await claude.edit("touched.txt");
    if (is_down) await project.killDaemon();
    await claude.kill();
    // Its server ends with its input, and must not be the one that starts the daemon again: that one would not be ours.
    await waitFor(() => !isAlive(claude.server_pid), { what: "its MCP server is gone too" });
    if (is_down) {
      await project.killDaemon();
      await project.startDaemon();
    }
    await waitFor(async () => (await agentsOf(project)).length === 0, { what: "the member is gone" });
    assert.deepEqual(await holders(project), {});
    assert.equal((await project.witness.ask("get_work_item", { task_id: "parser" })).status, "pending");
    const [handoff] = (await project.witness.ask("list_handoffs", { limit: 1 })).handoffs;
    assert.deepEqual([handoff.kind, handoff.agent_name], ["final", "claude_code"], JSON.stringify(handoff));
    assert.match(JSON.stringify(handoff), /parser/);
  });
}

test("a program that says nothing for long is there, and its locks are its own", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  const codex = await Codex.started(project);
  const thread = await codex.thread();
  await claude.call("acquire_lock", { file_path: "a.txt" });
  await thread.call("acquire_lock", { file_path: "b.txt" });
  // A run's agent has no process of its own to be watched by: the run is its presence.
  await project.sh("silent", "cru locks acquire run.txt >&2 && echo begun; sleep 600");
  await project.outputWith("silent", "begun");
  const sessions = (await agentsOf(project)).map(({ session_id }) => ({ session_id }));
  assert.equal(sessions.length, 3);
  await project.killDaemon();
  for (const session of sessions) age(project, session, 300);
  await project.startDaemon();
  const cleaned = await project.witness.ask("cleanup_dead_agents", { stale_threshold_minutes: 1 });
  assert.deepEqual([cleaned.agents_cleaned, cleaned.locks_released], [0, 0], JSON.stringify(cleaned));
  assert.deepEqual(await holders(project), { "a.txt": "claude-1", "b.txt": "codex-1", "run.txt": "silent" });
  await claude.kill();
  await project.post("/agents/silent/kill");
  await waitFor(async () => Object.keys(await holders(project)).join() === "b.txt", { what: "but not once they are dead" });
  assert.equal(await thread.edit("b.txt"), null);
});

test("reading registers nobody", async (t) => {
  const project = await hostedProject(t);
  const codex = await Codex.started(project);
  const thread = await codex.thread({ begins: false });
  for (const tool of ["discover_agents", "check_locks", "list_work", "read_handoff", "recall"]) await thread.call(tool, {});
  const plain = await stdioClient(project, t);
  for (const tool of ["discover_agents", "check_locks"]) await use(plain, tool);
  await plain.listResources();
  assert.deepEqual(await agentsOf(project), []);
  await plain.close();
  await codex.kill();
  await project.killDaemon();
  assert.deepEqual(membersIn(project), []);
});

test("an MCP server that dies alone takes nothing with it", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  await claude.call("acquire_lock", { file_path: "a.txt" });
  process.kill(claude.server_pid, "SIGKILL");
  await waitFor(() => !isAlive(claude.server_pid));
  assert.equal(await claude.edit("a.txt"), null);
  assert.deepEqual(await holders(project), { "a.txt": "claude-1" });
  const { pid } = await claude.order({ open: "cru", session: claude.session });
  claude.server_pid = pid;
  assert.equal((await claude.call("acquire_lock", { file_path: "a.txt" })).success, true, "and the next one is the same member's");
  assert.equal((await agentsOf(project)).length, 1);
});

test("an unnamed client is what it calls itself, numbered, and lives as long as its process", async (t) => {
  const project = await hostedProject(t);
  const [one, two] = [await stdioClient(project, t), await stdioClient(project, t)];
  await use(one, "acquire_lock", { file_path: "one" });
  await use(two, "acquire_lock", { file_path: "two" });
  assert.deepEqual((await agentsOf(project)).map(({ agent_id, agent_type }) => [agent_id, agent_type]).sort(), [["e2e-1", "mcp_client"], ["e2e-2", "mcp_client"]]);
  assert.deepEqual(await holders(project), { one: "e2e-1", two: "e2e-2" });
  process.kill(one.transport.pid, "SIGKILL");
  await waitFor(async () => !("one" in await holders(project)), { what: "the killed one holds nothing" });
  assert.deepEqual(await holders(project), { two: "e2e-2" });
});

test("what an agent runs in its shell is the agent's", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  const codex = await Codex.started(project);
  const thread = await codex.thread();
  for (const [host, session, name] of [[claude, claude.session, "claude-1"], [codex, thread.session, "codex-1"]]) {
    const { exit_code, stderr } = await host.order({ run: `cru locks acquire ${name}.txt`, session });
    assert.equal(exit_code, 0, stderr);
    assert.equal((await holders(project))[`${name}.txt`], name);
  }
  assert.equal(await claude.edit("claude-1.txt"), null);
  assert.equal(await thread.edit("codex-1.txt"), null);
  // A Codex that Claude starts is itself.
  const inner = await Codex.started(project, { CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: claude.session });
  const inside = await inner.thread();
  assert.match(await inside.edit("claude-1.txt"), /claude-1/);
});

test("what an agent starts has the agent as its parent", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  await claude.call("acquire_lock", { file_path: "a.txt" });
  const { exit_code, stderr } = await claude.order({ run: "cru run --id outer --detach -- sh -c 'cru run --id inner --detach -- sleep 600; sleep 600'", session: claude.session });
  assert.equal(exit_code, 0, stderr);
  await project.sh("own", "sleep 600");
  const parents = async () => Object.fromEntries((await project.get("/crew")).json.crew.map(({ name, parent }) => [name, parent]));
  await waitFor(async () => "inner" in (await parents()), { what: "the inner run is there" });
  const { outer, inner, own } = await parents();
  assert.deepEqual({ outer, inner, own }, { outer: "claude-1", inner: "outer", own: null });
});

test("members outlive the daemon: names, locks and who is who", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  const codex = await Codex.started(project);
  const [one, two] = [await codex.thread(), await codex.thread()];
  await claude.call("acquire_lock", { file_path: "a" });
  await one.call("acquire_lock", { file_path: "b" });
  await two.call("acquire_lock", { file_path: "c" });
  const held = await holders(project);
  await project.restartDaemon();
  assert.deepEqual(await holders(project), held);
  assert.equal(await claude.edit("a"), null);
  assert.equal(await one.edit("b"), null);
  assert.match(await two.edit("b"), /codex-/);
  assert.equal((await claude.call("acquire_lock", { file_path: "a" })).success, true);
  assert.equal((await two.call("acquire_lock", { file_path: "c" })).success, true);
  assert.equal((await agentsOf(project)).length, 3);
});
