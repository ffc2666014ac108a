// No daemon can be had, or none that answers: the agent is told so in the words of the protocol, goes on, and all is
// well again by itself when the cause is gone.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { Agent, Project, waitFor } from "./harness.mjs";
import { attempt, stdioClient, use, Wire } from "./harness/mcp.mjs";
import { named_tools } from "./harness/tour.mjs";

/// A schema from the future: no daemon of this version will serve it.
function futureSchema(project, sign) {
  const sql = `UPDATE schema_versions SET version = version ${sign} 1000`;
  const { status, stderr } = spawnSync("sqlite3", [project.path(".coven/coven.db"), sql], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
}

test("CO-04, CO-17: a daemon that cannot start is database_unavailable, and the next call after its recovery works", async (t) => {
  const project = await Project.started({}, t);
  const client = await stdioClient(project, t, { env: { AGENT_ID: "ada" } });
  const { session_id } = await use(client, "register_session");
  await project.killDaemon();
  futureSchema(project, "+");
  for (const [tool, input] of [["heartbeat", {}], ["write_handoff", { summary: "s" }], ["check_locks", {}], ["get_work", { wait_seconds: 5 }]]) {
    const refused = await attempt(client, tool, input);
    assert.deepEqual([tool, refused.success, refused.error], [tool, false, "database_unavailable"], JSON.stringify(refused));

  }
  await client.ping();
  const names = (await client.listTools()).tools.map(({ name }) => name);
  assert.deepEqual(named_tools.filter((name) => !names.includes(name)), [], "the tools are told all the same");
  futureSchema(project, "-");
  const back = await waitFor(async () => {
    const reply = await attempt(client, "heartbeat");
    return reply.success && reply;
  }, { every: 200, what: "a call works again" });
  assert.equal(back.session_id, session_id, "the same session goes on");
  const { handoffs } = await use(client, "read_handoff", { limit: 10 });
  assert.deepEqual(handoffs, [], "what was refused was not done later");
});

test("a server that is started while no daemon can be had initializes, lists its tools, and works later", async (t) => {
  const project = await Project.started({}, t);
  await project.killDaemon();
  futureSchema(project, "+");
  const client = await stdioClient(project, t, { env: { AGENT_ID: "ada" } });
  assert.equal((await attempt(client, "register_session")).error, "database_unavailable");
  futureSchema(project, "-");
  await waitFor(async () => (await attempt(client, "register_session")).success, { every: 200, what: "it works" });
  assert.ok(await new Agent(project, "other").ask("discover_agents").then(({ agents }) => agents.some(({ agent_id }) => agent_id === "ada")));
});

test("bad lines are answered as the protocol says, and the server lives on", async (t) => {
  const project = await Project.started({}, t);
  const wire = new Wire(project);
  await wire.initialize();
  wire.send("this is no JSON");
  wire.send("");
  wire.send("[]");
  wire.send('{"jsonrpc":"2.0","id":{"no":"id"},"method":"ping"}');
  wire.send(`{"jsonrpc":"2.0","id":500,"method":"ping","params":${"[".repeat(100)}${"]".repeat(100)}}`);
  wire.send({ jsonrpc: "2.0", method: "notifications/no_such" });
  wire.send({ jsonrpc: "2.0", id: 5000, result: {} });
  const codes = async (method, params) => (await wire.request(method, params)).error?.code;
  assert.equal(await codes("no/such/method"), -32601);
  assert.equal(await codes("tools/call", { name: "no_such_tool", arguments: {} }), -32602);
  assert.equal(await codes("tools/call", {}), -32602);
  assert.equal(await codes("tools/call", { name: "heartbeat", arguments: "text" }), -32602);
  assert.equal(await codes("tools/call", { name: "end_session", arguments: {} }), -32602, "a row that is no tool is unknown");
  assert.ok(wire.messages.some(({ id, error }) => id == null && error?.code === -32700), "bad JSON is -32700");
  wire.send({ jsonrpc: "2.0", id: "huge", method: "tools/call", params: { name: "write_handoff", arguments: { summary: "x".repeat(5 << 20) } } });
  await waitFor(() => wire.messages.some(({ id, error }) => (id == null || id === "huge") && error?.code === -32600), { what: "too long is refused" });
  assert.deepEqual((await wire.request("ping")).result, {});
  assert.equal((await wire.end()).code, 0);
});

test("a daemon that hangs is given up in time, and works when it wakes; what was refused was not done", async (t) => {
  const project = await Project.started({}, t);
  const { pid } = project.daemon;
  process.kill(pid, "SIGSTOP");
  t.after(() => { try { process.kill(pid, "SIGCONT"); } catch { /* gone */ } });
  const wire = new Wire(project, { env: { AGENT_ID: "ada" } });
  assert.equal((await wire.initialize()).result.serverInfo.name, "cru");
  /// How long the refusal took: a new try waits three seconds for the daemon's greeting, without one it comes at once.
  const refused = async () => {
    const began = Date.now();
    const { result } = await wire.request("tools/call", { name: "write_handoff", arguments: { summary: "s" } });
    assert.equal(result.structuredContent.error, "database_unavailable", JSON.stringify(result));
    return Date.now() - began;
  };
  await refused();
  await waitFor(async () => (await refused()) >= 2000, { every: 100, what: "it tries again, a second after it gave up" });
  process.kill(pid, "SIGCONT");
  await waitFor(async () => (await wire.use("register_session")).success, { every: 200, what: "it works" });
  assert.deepEqual((await wire.use("read_handoff", { limit: 10 })).handoffs, []);
  assert.equal((await wire.end()).code, 0);
});

test("a daemon that is stopped stays stopped until the host asks for something", async (t) => {
  const project = await Project.started({}, t);
  const wire = new Wire(project, { env: { AGENT_ID: "ada" } });
  await wire.initialize();
  await wire.use("register_session");
  const waiting = wire.request("tools/call", { name: "get_work", arguments: { wait_seconds: 60 } });
  await wire.use("check_locks");  // lines are taken in their order: the daemon has the one before
  await project.killDaemon("SIGTERM");
  // Whether to start another is decided before this is answered.
  assert.equal((await waiting).result.structuredContent.error, "database_unavailable");
  assert.deepEqual(project.daemons(), [], "nobody has started it");
  assert.equal((await wire.use("heartbeat")).success, true, "now it was");
  assert.equal((await wire.end()).code, 0);
});

test("the session is ended at a daemon that the client has not spoken to yet", async (t) => {
  for (const stop of [(wire) => wire.end(), (wire) => wire.signal("SIGTERM")]) {
    const project = await Project.started({}, t);
    const wire = new Wire(project, { env: { AGENT_ID: "ada" } });
    await wire.initialize();
    await wire.use("acquire_lock", { file_path: "a" });
    await project.restartDaemon();
    assert.equal((await stop(wire)).code, 0);
    const other = new Agent(project, "other");
    await waitFor(async () => (await other.ask("check_locks")).result.length === 0, { what: "its lock is free" });
  }
});

test("lines that no id could tell apart do not delay the end", async (t) => {
  const project = await Project.started({}, t);
  const end = async () => {
    const wire = new Wire(project, { env: { AGENT_ID: "ada" } });
    await wire.initialize("2025-03-26");
    wire.send('[{"jsonrpc":"2.0","method":"notifications/no_such"}]');
    wire.send('{"jsonrpc":"2.0","id":1.50,"method":"ping"}');
    wire.send('{"jsonrpc":"2.0","id":"\\u0061","method":"ping"}');
    wire.send('{"jsonrpc":"2.0","id":9,"method":"ping",');
    await wire.request("ping", undefined, "last");
    const began = Date.now();
    assert.equal((await wire.end()).code, 0);
    const took = Date.now() - began;
    assert.ok(wire.messages.some(({ id }) => id === "a") && wire.lines.every((line) => line.startsWith("{")), wire.lines.join("\n"));
    return took;
  };
  // For an answer that it misses it would wait a second, every time. A busy machine may be as slow, but not for ever.
  let took;
  await waitFor(async () => (took = await end()) < 900, { what: "an end without a delay" }).catch((error) => { throw new Error(`${error.message}: ${took} ms`); });
});

test("an agent id that is too long is left out: the daemon gives a name", async (t) => {
  const project = await Project.started({}, t);
  const client = await stdioClient(project, t, { env: { AGENT_ID: "a".repeat(400) } });
  const registered = await attempt(client, "register_session");
  assert.deepEqual([registered.success, registered.agent_id], [true, "e2e-1"]);
});
