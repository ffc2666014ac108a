// Members are for convenience, not for authority: still, nobody gets at what another holds by saying that it is the other,
// and nobody makes the daemon grow.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Agent, changeDatabase, here, isAlive, waitFor } from "./harness.mjs";
import { agentsOf, Claude, Codex, holders, hostedProject, membersIn } from "./harness/hosts.mjs";
import { attempt, stdioClient, use } from "./harness/mcp.mjs";

/// What a stranger may try with a session id and a name that it has read somewhere.
async function attack(stranger, file) {
  for (const [operation, input] of [["release_lock", { file_path: file }], ["end_session", { via: "hook" }], ["end_session", { via: "hook", reason: "clear" }], ["heartbeat", {}],
    ["register_session", {}], ["release_lock", { file_path: file }], ["acquire_lock", { file_path: file }], ["end_session", {}]]) {
    const { status, json } = await stranger.call(operation, input);
    assert.ok(status < 500, `${operation}: ${status} ${JSON.stringify(json)}`);
    if (operation === "acquire_lock") assert.notEqual(json.success, true, `${operation}: ${JSON.stringify(json)}`);
  }
}

test("a process outside that claims the session, or the name, of a Claude gets nothing of it", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  await claude.call("acquire_lock", { file_path: "a.txt" });
  const [{ session_id }] = await agentsOf(project);
  for (const session of new Set([session_id, claude.session]))
    for (const name of ["mallory", "claude-1"]) {
      await attack(new Agent(project, name, { session_id: session }), "a.txt");
      const server = await stdioClient(project, t, { env: { AGENT_ID: name, SESSION_ID: session } });
      await attempt(server, "release_lock", { file_path: "a.txt" });
      await attempt(server, "register_session");
      await attempt(server, "release_lock", { file_path: "a.txt" });
      await server.close();
      const inherited = await stdioClient(project, t, { env: { CLAUDE_CODE_SESSION_ID: session } });
      await attempt(inherited, "release_lock", { file_path: "a.txt" });
      await inherited.close();
      assert.deepEqual(await holders(project), { "a.txt": "claude-1" }, `${name} as ${session}`);
      assert.equal(await claude.edit("a.txt"), null);
    }
  assert.equal((await claude.call("release_lock", { file_path: "a.txt" })).success, true, "its own it may release");
});

test("one Claude that claims the session of another is still itself", async (t) => {
  const project = await hostedProject(t);
  const victim = await Claude.started(project);
  await victim.call("acquire_lock", { file_path: "a.txt" });
  const twin = await Claude.started(project, { session: victim.session, source: "resume", SESSION_ID: victim.session });
  assert.match(await twin.edit("a.txt"), /claude-1/);
  await twin.clear();
  await twin.quit();
  assert.deepEqual(await holders(project), { "a.txt": "claude-1" });
  assert.equal(await victim.edit("a.txt"), null);
});

test("a connected client is not to be had from under a program called claude", async (t) => {
  const project = await hostedProject(t);
  const session = randomUUID();
  const plain = await stdioClient(project, t, { env: { AGENT_ID: "ann", SESSION_ID: session } });
  await use(plain, "acquire_lock", { file_path: "a.txt" });
  const fake = await Claude.started(project, { session, AGENT_ID: "ann", SESSION_ID: session });
  assert.match(await fake.edit("a.txt"), /ann/);
  await fake.quit();
  assert.deepEqual(await holders(project), { "a.txt": "ann" });
  assert.equal((await use(plain, "release_lock", { file_path: "a.txt" })).success, true, "it is still itself");
});

test("a person's session cannot be taken by its word", async (t) => {
  const project = await hostedProject(t);
  await project.cru("locks", "acquire", "mine.txt");
  const [name] = Object.values(await holders(project));
  const fake = await Claude.started(project, { session: "verbs", AGENT_ID: name, SESSION_ID: "verbs" });
  assert.notEqual(await fake.edit("mine.txt"), null);
  assert.equal((await project.cru("locks", "release", "mine.txt")).code, 0, "the person is still the person");
  await fake.kill();
});

test("a process that calls itself claude is nobody else", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  await claude.call("acquire_lock", { file_path: "a.txt" });
  // A shell by that name: what it runs is a member of its own, and leaves with it.
  mkdirSync(project.path("bin"));
  copyFileSync("/bin/sh", project.path("bin/claude"));
  const shell = project.spawn(["-c", "cru locks acquire b.txt; cru locks release a.txt; cat; true"], { argv0: project.path("bin/claude"), stdio: ["pipe", "pipe", "pipe"] });
  await waitFor(async () => (await holders(project))["b.txt"]);
  await waitFor(() => /a\.txt/.test(shell.text.stdout + shell.text.stderr), { what: "it is told that a.txt is not its own" });
  assert.deepEqual(await holders(project), { "a.txt": "claude-1", "b.txt": "claude-2" });
  shell.stdin.end();
  await shell.ended;
  await waitFor(async () => !("b.txt" in await holders(project)), { what: "it is gone" });
  assert.deepEqual(await holders(project), { "a.txt": "claude-1" });
});

test("a pid that somebody else has by now is not the program that was there", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  await claude.call("acquire_lock", { file_path: "a.txt" });
  await claude.order({ close: "cru", signal: "SIGINT" });
  await project.killDaemon();
  changeDatabase(project, "UPDATE members SET host_start = host_start - 1, scope = 'process:old' WHERE host_pid IS NOT NULL");
  await project.startDaemon();
  await waitFor(async () => Object.keys(await holders(project)).length === 0, { what: "what the dead one held is free" });
  assert.ok(isAlive(claude.pid));
});

test("many connections of one program are one member, and gone with it", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  await claude.call("acquire_lock", { file_path: "a.txt" });
  const names = Array.from({ length: 24 }, (_, n) => `server-${n}`);
  await Promise.all(names.map((open) => claude.order({ open, session: claude.session })));
  await Promise.all(names.map((server) => claude.use(server, "acquire_lock", { file_path: "a.txt" })));
  assert.equal((await agentsOf(project)).length, 1);
  await claude.kill();
  await waitFor(async () => (await agentsOf(project)).length === 0, { what: "all are gone" });
  assert.deepEqual(await holders(project), {});
});

test("a crowd of connections holds nothing once its process is killed, and others work meanwhile", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  const crowd = project.spawn([join(here, "fixtures/hosts/crowd.mjs"), project.path(".coven/door/mcp.sock"), "200"], { argv0: process.execPath });
  await waitFor(() => crowd.text.stdout.includes("held 200"), { what: `all hold one: ${crowd.text.stdout.slice(-300)}` });
  assert.equal(Object.keys(await holders(project)).length, 200);
  crowd.kill("SIGKILL");
  await claude.call("acquire_lock", { file_path: "a.txt" });
  await waitFor(async () => Object.keys(await holders(project)).join() === "a.txt", { what: "the crowd's locks are free" });
  await waitFor(async () => (await agentsOf(project)).length === 1);
});

test("what a member is known by does not grow without end, nor do those who were refused", async (t) => {
  const project = await hostedProject(t);
  const codex = await Codex.started(project);
  let thread = await codex.thread();
  await thread.call("acquire_lock", { file_path: "a.txt" });
  // Sessions that come and go in one host: the oldest keys are forgotten, the newest is known.
  await project.killDaemon();
  const [member] = membersIn(project, "id");
  changeDatabase(project, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO member_keys SELECT 'connection:x' || i, '${member}', 1, i FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO member_numbers SELECT 'word' || i, 1 FROM n`);
  await project.startDaemon();
  thread = await codex.clear(thread);
  assert.equal(await thread.edit("a.txt"), null);
  const plain = await stdioClient(project, t);
  await use(plain, "register_session");
  assert.ok((await agentsOf(project)).some(({ agent_id }) => agent_id === "agent-1"), "a new word too many is no word");
  // Changes that are refused leave a member without a session, which the clean-up takes away.
  for (let n = 0; n < 20; ++n) await new Agent(project, `nobody-${n}`).call("acquire_lock", { file_path: "../../outside" });
  await project.killDaemon();
  assert.ok(Number(changeDatabase(project, `SELECT count(*) FROM member_keys WHERE member = '${member}'`)[0]) <= 256);
  changeDatabase(project, "UPDATE members SET started_at = started_at - 3600000 WHERE name LIKE 'nobody%'");
  await project.startDaemon();
  await project.witness.ask("cleanup_dead_agents", { stale_threshold_minutes: 15 });
  await project.killDaemon();
  assert.deepEqual(membersIn(project, "name").filter((name) => name.startsWith("nobody")), []);
});
