// `cru mcp` as agents' hosts use it: the official SDK's client over stdio.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { LoggingMessageNotificationSchema, ResourceListChangedNotificationSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { Agent, assertBetween, Project, sleep, waitFor } from "./harness.mjs";
import { attempt, growing, stdioClient, use, Wire } from "./harness/mcp.mjs";
import { all_tools, everyResource, everyTool, named_tools } from "./harness/tour.mjs";

/// Every line is a JSON-RPC message, and nothing else came.
function onlyProtocol(wire) {
  for (const message of wire.messages) {
    assert.equal(message.jsonrpc, "2.0", JSON.stringify(message));
    assert.ok(message.method || "result" in message || "error" in message, JSON.stringify(message));
  }
  assert.ok(wire.child.text.stdout === "" || wire.child.text.stdout.endsWith("\n"));
}

test("CO-20: a local agent connects over stdio and finds the tools, with no daemon running yet", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  const client = await stdioClient(project, t, { env: { AGENT_ID: "ada" } });
  assert.equal(client.getServerVersion().name, "cru");
  assert.ok(client.getInstructions().length > 0);
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  assert.deepEqual(named_tools.filter((name) => !names.includes(name)), [], "all that the requirement names");
  assert.deepEqual((await client.listTools()).tools.map(({ name }) => name), names, "in a fixed order");
  assert.equal((await use(client, "register_session")).success, true, "the daemon was started for it");
});

test("every tool works through the official client over stdio", async (t) => {
  const project = await Project.started({}, t);
  const client = await stdioClient(project, t, { env: { AGENT_ID: "ada" } });
  await everyTool(client, project);
  assert.deepEqual(client.trouble, []);
});

test("CO-21: every resource can be read over stdio", async (t) => {
  const project = await Project.started({}, t);
  await everyResource(await stdioClient(project, t), project);
});

test("every published version is agreed on, an unknown one gets the newest, and server/discover is answered before", async (t) => {
  const project = await Project.started({}, t);
  for (const version of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01"]) {
    const wire = new Wire(project);
    const probe = await wire.request("server/discover", { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" }, "io.modelcontextprotocol/clientCapabilities": {} } }, "probe");
    assert.deepEqual(probe.result.supportedVersions?.includes("2026-07-28"), true, JSON.stringify(probe));
    assert.ok(probe.result.capabilities.tools && probe.result.instructions && probe.result.resultType, JSON.stringify(probe));
    const { result } = await wire.initialize(version);
    assert.equal(result.protocolVersion, version === "1999-01-01" ? "2025-11-25" : version);
    assert.ok(result.capabilities.tools && result.capabilities.resources.subscribe && result.capabilities.prompts);
    assert.equal((await wire.request("tools/list")).result.tools.length, all_tools.length);
    assert.equal((await wire.end()).code, 0);
    onlyProtocol(wire);
  }
});

test("prompts, completion, ping, logging level and pagination", async (t) => {
  const project = await Project.started({}, t);
  const client = await stdioClient(project, t, { env: { AGENT_ID: "ada" } });
  await use(client, "write_handoff", { summary: "stopped at the semicolon", next_steps: ["the comma"] });
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some(({ name }) => name === "resume_from_handoff"), JSON.stringify(prompts));
  const prompt = await client.getPrompt({ name: "resume_from_handoff" });
  assert.match(prompt.messages.map(({ content }) => content.text).join("\n"), /stopped at the semicolon[^]*the comma/);
  await assert.rejects(client.getPrompt({ name: "no such" }), { code: -32602 });
  await assert.rejects(client.getPrompt({ name: "plan_work" }), { code: -32602 }, "a required argument is missing");
  const who = await client.complete({ ref: { type: "ref/prompt", name: "resume_from_handoff" }, argument: { name: "agent_name", value: "a" } });
  assert.deepEqual(who.completion.values, ["ada"]);
  const { task_id } = await use(client, "submit_work", { task_type: "t", description: "d", task_id: "known-one" });
  const items = await client.complete({ ref: { type: "ref/resource", uri: "work://{task_id}" }, argument: { name: "task_id", value: "kno" } });
  assert.ok(items.completion.values.includes(task_id), JSON.stringify(items));
  await client.ping();
  await client.setLoggingLevel("debug");
  client.setNotificationHandler(LoggingMessageNotificationSchema, () => {});
  await assert.rejects(client.setLoggingLevel("shouting"));

  const other = new Agent(project, "other");
  for (let n = 0; n < 60; ++n) await other.ask("submit_work", { task_type: "t", description: `page ${n}` });
  const uris = [];
  for (let cursor; ;) {
    const page = await client.listResources(cursor ? { cursor } : {});
    uris.push(...page.resources.map(({ uri }) => uri));
    if (!(cursor = page.nextCursor)) break;
  }
  assert.equal(new Set(uris).size, uris.length, "no page repeats another");
  assert.ok(uris.length > 60, `${uris.length} resources, which is more than one page`);
  for (const list of ["tools/list", "resources/list", "prompts/list", "resources/templates/list"]) {
    await assert.rejects(client.request({ method: list, params: { cursor: "nonsense" } }, { parse: (value) => value, safeParse: (value) => ({ success: true, data: value }) }), { code: -32602 }, list);
  }
});

test("a subscriber is told when another agent changes what it watches, and no more after it leaves", async (t) => {
  const project = await Project.started({}, t);
  const client = await stdioClient(project, t);
  const told = [], lists = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => { told.push(params.uri); });
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => { lists.push(1); });
  for (const uri of ["locks://current", "work://pending", "handoffs://recent"]) await client.subscribeResource({ uri });
  const other = new Agent(project, "other");
  await other.ask("acquire_lock", { file_path: "a" });
  await waitFor(() => told.includes("locks://current"));
  const { task_id } = await other.ask("submit_work", { task_type: "t", description: "d" });
  await waitFor(() => told.includes("work://pending"));
  await other.ask("write_handoff", { summary: "s" });
  await waitFor(() => told.includes("handoffs://recent"));
  await waitFor(() => lists.length, { what: "the list of resources has changed" });
  // The daemon's death is no reason to miss anything.
  await project.restartDaemon();
  told.length = 0;
  await other.ask("release_lock", { file_path: "a" });
  await waitFor(() => told.includes("locks://current"), { what: "told again after the daemon's death" });
  await client.unsubscribeResource({ uri: "work://pending" });
  // Changes are told in their order: what is still told of before comes before the lock, and after it nothing of work may.
  told.length = 0;
  await other.ask("acquire_lock", { file_path: "a" });
  await waitFor(() => told.includes("locks://current"));
  told.length = 0;
  await other.ask("cancel_work", { task_id });
  await other.ask("release_lock", { file_path: "a" });
  await waitFor(() => told.includes("locks://current"));
  assert.ok(!told.includes("work://pending"), told.join());
});

test("a waiting call tells its progress and gets what it waits for", async (t) => {
  const project = await Project.started({}, t);
  const client = await stdioClient(project, t);
  const other = new Agent(project, "other");
  await other.ask("acquire_lock", { file_path: "a" });
  const progress = [];
  const taken = use(client, "acquire_lock", { file_path: "a", wait_seconds: 60 }, { onprogress: (step) => progress.push(step), resetTimeoutOnProgress: true });
  await waitFor(() => progress.length >= 3, { what: "three steps of progress" });
  growing(progress);
  await other.ask("release_lock", { file_path: "a" });
  assert.equal((await taken).action, "acquired");
  const began = Date.now();
  const none = await attempt(client, "get_work", { wait_seconds: 1 });
  assert.deepEqual([none.isError, none.success, none.reason], [false, false, "no_tasks_available"]);
  assert.ok(Date.now() - began >= 900, "it has waited");
});

test("a cancelled call leaves no lock and no claim behind", async (t) => {
  const project = await Project.started({}, t);
  const client = await stdioClient(project, t);
  const other = new Agent(project, "other");
  await other.ask("acquire_lock", { file_path: "a" });
  const abort = new AbortController();
  // In this order, in which they are cancelled too: when the lock's line is empty the wait for work has ended before.
  const calls = [["get_work", { wait_seconds: 60 }], ["acquire_lock", { file_path: "a", wait_seconds: 60 }]]
    .map(([name, args]) => assert.rejects(client.callTool({ name, arguments: args }, undefined, { signal: abort.signal })));
  await waitFor(async () => (await other.ask("check_locks")).result[0].waiters === 1, { what: "it waits" });
  abort.abort();
  await Promise.all(calls);
  await waitFor(async () => (await other.ask("check_locks")).result[0].waiters === 0, { what: "it has left the queue" });
  await other.ask("release_lock", { file_path: "a" });
  const { task_id } = await other.ask("submit_work", { task_type: "t", description: "d" });
  assert.deepEqual((await other.ask("check_locks")).result, []);
  // Whoever waits gets it in the order of waiting: this one only if nobody does.
  assert.equal((await other.ask("get_work", { wait_seconds: 60 })).task_id, task_id);
  await client.ping();
});

for (const [how, stop] of Object.entries({ "end of file": (wire) => wire.end(), SIGINT: (wire) => wire.signal("SIGINT"), SIGTERM: (wire) => wire.signal("SIGTERM") })) {
  test(`the server ends on ${how} with exit 0, its session closed, and only protocol on stdout`, async (t) => {
    const project = await Project.started({}, t);
    const other = new Agent(project, "other");
    const wire = new Wire(project, { env: { AGENT_ID: "ada" } });
    await wire.initialize();
    const { session_id } = await wire.use("register_session");
    await wire.use("acquire_lock", { file_path: "a" });
    wire.send({ jsonrpc: "2.0", id: 77, method: "tools/call", params: { name: "get_work", arguments: { wait_seconds: 60 } } });
    await wire.use("check_locks");  // the one before is with the daemon, and waits
    const { code, signal } = await stop(wire);
    assert.deepEqual([code, signal], [0, null], wire.child.text.stderr);
    assert.ok(!wire.messages.some(({ id, result }) => id === 77 && result?.structuredContent?.reason === "no_tasks_available"), "it has not waited for that");
    onlyProtocol(wire);
    await waitFor(async () => (await other.ask("check_locks")).result.length === 0, { what: "its lock is free" });
    const { agents } = await other.ask("discover_agents", { status: "disconnected" });
    assert.deepEqual(agents.map((agent) => agent.session_id), [session_id]);
  });
}

test("who it is comes from the environment", async (t) => {
  const project = await Project.started({}, t);
  const other = new Agent(project, "other");
  const session_id = randomUUID();
  const named = await stdioClient(project, t, { env: { AGENT_ID: "ada", AGENT_TYPE: "codex", SESSION_ID: session_id, AGENT_CAPABILITIES: "c++, tests", LOCK_TTL_MINUTES: "7" } });
  assert.equal((await use(named, "register_session")).session_id, session_id);
  const { agents: [ada] } = await other.ask("discover_agents", { capability: "tests" });
  assert.deepEqual([ada.agent_id, ada.agent_type, ada.session_id, ada.capabilities], ["ada", "codex", session_id, ["c++", "tests"]]);
  const before = Date.now();
  const lock = await use(named, "acquire_lock", { file_path: "a" });
  assertBetween(Date.parse(lock.expires_at) - 7 * 60_000, before);
  assert.equal((await other.ask("check_locks")).result[0].locked_by, "ada");

  const claude_session = randomUUID();
  const claude = await stdioClient(project, t, { env: { CLAUDE_CODE_SESSION_ID: claude_session, CLAUDE_PROJECT_DIR: project.root } });
  assert.equal((await use(claude, "register_session")).session_id, claude_session);
  const seen = (await other.ask("discover_agents")).agents.find((agent) => agent.session_id === claude_session);
  assert.match(seen.agent_id, /^claude-\d+$/);

  const [one, two] = [await stdioClient(project, t), await stdioClient(project, t)];
  const sessions = [await use(one, "register_session"), await use(two, "register_session")].map((reply) => reply.session_id);
  assert.notEqual(sessions[0], sessions[1], "two nameless servers are two agents");
  const pretending = await attempt(one, "acquire_lock", { file_path: "b", agent_id: "ada" });
  assert.deepEqual([pretending.isError, pretending.field], [true, "agent_id"]);
});

test("the daemon dies between two calls and during them: each is done exactly once", async (t) => {
  const project = await Project.started({}, t);
  const client = await stdioClient(project, t, { env: { AGENT_ID: "ada" } });
  const { session_id } = await use(client, "register_session");
  await project.killDaemon();
  const lock = await use(client, "acquire_lock", { file_path: "a" });
  assert.equal(lock.action, "acquired", "a new daemon, the same session");
  const other = new Agent(project, "other");
  assert.equal((await other.ask("check_locks")).result[0].session_id, session_id);

  const claim = use(client, "get_work", { wait_seconds: 60, task_types: ["wanted"] });
  await use(client, "check_locks");  // lines are taken in their order: the daemon has the one before
  await project.killDaemon();
  await waitFor(() => project.get("/health"), { what: "the client has started it again" });
  const { task_id } = await other.ask("submit_work", { task_type: "wanted", description: "d" });
  const claimed = await claim;
  assert.equal(claimed.task_id, task_id);
  assert.equal((await use(client, "complete_work", { task_id, success: true, fencing_token: claimed.fencing_token })).status, "completed");

  for (let round = 0; round < 5; ++round) {
    const calls = Array.from({ length: 40 }, (_, n) => use(client, "submit_work", { task_type: "many", description: `${round} ${n}` }));
    await sleep(round * 7);
    await project.killDaemon();
    const ids = (await Promise.all(calls)).map((reply) => reply.task_id);
    assert.equal(new Set(ids).size, 40);
  }
  await use(client, "check_locks");  // starts a daemon where the last kill came after the last answer
  const { work } = await other.ask("list_work", { task_type: "many", limit: 1000 });
  assert.equal(work.length, 200, "none lost, none doubled");
  assert.equal(new Set(work.map(({ description }) => description)).size, 200);
  assert.deepEqual(client.trouble, []);
});
