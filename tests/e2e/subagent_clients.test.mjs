// Outside clients that spawn: agents' hosts over MCP, programs over HTTP. They have the baseline, and a repeated request spawns once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { messageOf, waitFor } from "./harness.mjs";
import { cast, every_permission, report } from "./harness/cast.mjs";
import { checkSessionFolder } from "./harness/crew.mjs";
import { gate } from "./harness/live.mjs";
import { attempt, httpClient, stdioClient, use } from "./harness/mcp.mjs";

const baseline = ["FilesystemRead", "SemanticSearch"];
const parts = { worker: { text: report("Worked."), usage: { input: 10, output: 5 } } };
const notes = { "kiln.md": "# Kiln\n\nThe kiln burns at 1200 degrees.\n" };
const folderOf = ({ crew }, { chat_id }) => crew.path(".crucible/sessions", chat_id);

for (const [door, connect] of [["stdio", stdioClient], ["HTTP", httpClient]])
  test(`over MCP by ${door} a client lists, reads, spawns and gets the report, with the baseline's rights`, async (t) => {
    const scene = await cast(t, { worker: parts.worker }, { agents: { eager: { permissions: ["FilesystemWrite"] } }, notes });
    const client = await connect(scene.crew, t, door === "stdio" ? { env: { AGENT_ID: "ada" } } : { headers: { "Cru-Agent-Id": "ada", "Cru-Session-Id": "ada-1" } });
    const { agents } = await use(client, "list_agents");
    assert.ok(agents.some(({ name }) => name === "worker"));
    assert.match((await use(client, "get_agent", { name: "worker" })).prompt, /You are worker\./);
    assert.match((await attempt(client, "get_agent", { name: "nobody" })).message ?? "", /agent not found/);
    assert.match((await use(client, "read_note", { path: "kiln.md" })).text, /1200 degrees/);
    const { results } = await waitFor(async () => { const found = await use(client, "semantic_search", { query: "kiln burns" }); return found.results.length && found; });
    assert.equal(results[0].path, "kiln.md");
    const done = await use(client, "spawn_agent", { agent: "worker", task: "work", wait_seconds: 600 });
    assert.deepEqual([done.status, [...done.permissions].sort(), done.depth, done.inherited], ["completed", baseline, 1, true]);
    assert.match(done.result, /## Summary\n\nWorked\./);
    assert.deepEqual((await use(client, "get_subagent", { task_id: done.task_id })).result, done.result);
    const refused = await attempt(client, "spawn_agent", { agent: "eager", task: "write" });
    assert.match(JSON.stringify(refused), /FilesystemWrite[^]*FilesystemRead, SemanticSearch/);
    const asked = await attempt(client, "spawn_agent", { agent: "worker", task: "write", permissions: ["FilesystemWrite"] });
    assert.match(JSON.stringify(asked), /FilesystemWrite/);
    const second = await use(client, "spawn_agent", { agent: "worker", task: "more", wait_seconds: 600 });
    assert.equal(second.chat_id, done.chat_id, "a client's spawns are together");
    const { metadata, subagents } = await waitFor(() => checkSessionFolder(folderOf(scene, done)));
    assert.deepEqual([metadata.depth, subagents.length, metadata.total_tokens], [0, 2, 30]);
    assert.deepEqual(client.trouble, []);
  });

test("spawns of a client that come at once share one chat", async (t) => {
  const { crew } = await cast(t, parts);
  const headers = { "Cru-Agent-Id": "ada", "Cru-Session-Id": "ada-1" };
  const spawned = await Promise.all(Array.from({ length: 16 }, (_, i) => crew.must(201, crew.post("/subagents", { agent: "worker", task: `part ${i}`, wait_seconds: 0 }, { headers }))));
  assert.equal(new Set(spawned.map(({ chat_id }) => chat_id)).size, 1, JSON.stringify(spawned));
});

test("a client that gives up waiting finds the report by asking for its latest subagent", async (t) => {
  const held = gate();
  t.after(() => held.open());
  const { crew } = await cast(t, { worker: async () => { await held.wait; return { text: report("Worked at last.") }; } });
  const client = await stdioClient(crew, t, { env: { AGENT_ID: "ada" } });
  assert.equal((await attempt(client, "get_subagent", { task_id: "latest" })).error, "not_found");
  const patience_ends = new AbortController(), steps = [];
  const asked = client.callTool({ name: "spawn_agent", arguments: { agent: "worker", task: "a long one" } }, undefined, { signal: patience_ends.signal, onprogress: (step) => steps.push(step) });
  await waitFor(() => steps.length >= 2, { what: "it hears of the progress" });
  assert.deepEqual([steps[1].total, /^Spawn an agent: working, \d+ s$/.test(steps[1].message)], [undefined, true], JSON.stringify(steps));
  await waitFor(async () => (await attempt(client, "get_subagent", { task_id: "latest" })).status === "running", { what: "it is at work" });
  patience_ends.abort();
  await assert.rejects(asked);
  held.open();
  const done = await use(client, "get_subagent", { task_id: "latest", wait_seconds: 600 });
  assert.deepEqual([done.status, /Worked at last\./.test(done.result)], ["completed", true]);
});

test("another client that knows the session does not read its subagents", async (t) => {
  const held = gate();
  t.after(() => held.open());
  const { crew } = await cast(t, { worker: async () => { await held.wait; return { text: report("A secret.") }; } });
  const client = await stdioClient(crew, t, { env: { AGENT_ID: "ada", SESSION_ID: "ada-1" } });
  const { task_id } = await use(client, "spawn_agent", { agent: "worker", task: "a long one", wait_seconds: 0 });
  const other = await stdioClient(crew, t, { env: { AGENT_ID: "eve", SESSION_ID: "ada-1" } });
  for (const id of [task_id, "latest"]) assert.equal((await attempt(other, "get_subagent", { task_id: id })).error, "not_found", id);
  held.open();
  assert.match((await use(client, "get_subagent", { task_id, wait_seconds: 600 })).result, /A secret\./);
});

test("a client that is gone has its chat ended", async (t) => {
  const { crew } = await cast(t, { worker: parts.worker });
  const client = await stdioClient(crew, t, { env: { AGENT_ID: "ada" } });
  const { chat_id } = await use(client, "spawn_agent", { agent: "worker", task: "work", wait_seconds: 600 });
  await client.close();
  await waitFor(async () => (await crew.get(`/chats/${chat_id}`)).json.status === "completed", { what: "its chat is completed" });
});

test("what a client may do is the person's to configure", async (t) => {
  const { crew } = await cast(t, { worker: parts.worker }, { user_settings: { crew: { client_permissions: ["FilesystemWrite"] } } });
  const client = await stdioClient(crew, t, { env: { AGENT_ID: "ada" } });
  const done = await use(client, "spawn_agent", { agent: "worker", task: "work", permissions: ["FilesystemWrite"], wait_seconds: 600 });
  assert.deepEqual([...done.permissions].sort(), ["FilesystemRead", "FilesystemWrite", "SemanticSearch"]);
  assert.match(JSON.stringify(await attempt(client, "spawn_agent", { agent: "worker", task: "w", permissions: ["NetworkAccess"] })), /NetworkAccess/);
});

test("a project's configuration cannot give rights", async (t) => {
  const { crew } = await cast(t, { worker: parts.worker }, { settings: { crew: { client_permissions: ["FilesystemWrite"], chat_permissions: ["ProcessSpawn"] } } });
  const headers = { "Cru-Agent-Id": "ada", "Cru-Session-Id": "ada-1" };
  const { permissions } = await crew.must(201, crew.spawnAgent({ agent: "worker", task: "w", wait_seconds: 600 }, { headers }));
  assert.deepEqual([...permissions].sort(), baseline);
  assert.deepEqual([...(await crew.chat({ title: "Mine" })).started.permissions].sort(), baseline);
});

test("wait_seconds 0 answers at once; the report is got later, over MCP and HTTP", async (t) => {
  let finish;
  const waiting = new Promise((resolve) => { finish = resolve; });
  const { crew, server } = await cast(t, { slow: async () => { await waiting; return { text: report("At last.") }; } });
  const client = await stdioClient(crew, t, { env: { AGENT_ID: "ada" } });
  const { task_id, status, message } = await use(client, "spawn_agent", { agent: "slow", task: "work", wait_seconds: 0 });
  assert.ok(["queued", "running"].includes(status));
  assert.match(message, new RegExp(`get_subagent, task_id ${task_id}`));
  await server.when(({ requests }) => requests.length === 1);
  assert.equal((await use(client, "get_subagent", { task_id })).status, "running");
  const asked = use(client, "get_subagent", { task_id, wait_seconds: 600 });
  const over_http = crew.get(`/subagents/${task_id}?wait_seconds=600`);
  finish();
  assert.deepEqual([(await asked).status, (await over_http).json.status], ["completed", "completed"]);

  assert.equal((await attempt(client, "get_subagent", { task_id: "ffffff" })).isError, true);
  assert.equal((await crew.get("/subagents/ffffff")).status, 404);
});

test("over HTTP a person's spawn has its definition's rights and those that are added, is a session of its own, and a repeated request spawns once", async (t) => {
  const scene = await cast(t, { worker: parts.worker });
  const { crew, asked } = scene;
  const input = { agent: "worker", task: "work", wait_seconds: 600 };
  const headers = { "Cru-Request-Id": "again-1" };
  const [first, second] = await Promise.all([crew.spawnAgent(input, { headers }), crew.spawnAgent(input, { headers })]);
  assert.deepEqual([first.status, second.status], [201, 201], `${first.text} ${second.text}`);
  assert.equal(first.json.task_id, second.json.task_id);
  const third = await crew.spawnAgent(input, { headers });
  assert.deepEqual([third.json.task_id, third.json.status], [first.json.task_id, "completed"]);
  assert.equal(asked("worker").length, 1);
  assert.deepEqual([...first.json.permissions].sort(), ["FilesystemRead", "SemanticSearch"]);
  assert.deepEqual([first.json.depth, first.json.parent_chain], [0, ["user", "worker"]]);
  const other = await crew.spawnAgent({ ...input, task: "other" }, { headers });
  assert.equal(other.status, 409, other.text);
  const { metadata } = await waitFor(() => checkSessionFolder(folderOf(scene, first.json)));
  assert.deepEqual([metadata.status, metadata.kind, metadata.subagents.length], ["completed", "run", 1]);
});

test("a client's repeated request spawns once", async (t) => {
  const { crew, asked } = await cast(t, { worker: parts.worker });
  const headers = { "Cru-Agent-Id": "ada", "Cru-Agent-Type": "claude_code", "Cru-Session-Id": "ada-1", "Cru-Request-Id": "r1" };
  const input = { agent: "worker", task: "work", wait_seconds: 600 };
  const replies = await Promise.all([1, 2, 3].map(() => crew.spawnAgent(input, { headers })));
  assert.equal(new Set(replies.map(({ json }) => json.task_id)).size, 1, replies.map(({ text }) => text).join("\n"));
  assert.equal(asked("worker").length, 1);
});

test("bad input names the field and changes nothing", async (t) => {
  const { crew } = await cast(t, { worker: parts.worker });
  for (const [input, field] of [[{ task: "x" }, "agent"], [{ agent: "worker" }, "task"], [{ agent: "worker", task: "" }, "task"], [{ agent: "worker", task: "x", permissions: "all" }, "permissions"],
    [{ agent: "worker", task: "x", permissions: ["root"] }, "permissions"], [{ agent: "worker", task: "x", wait_seconds: -1 }, "wait_seconds"], [{ agent: "worker", task: "x", model: 7 }, "model"], [{ agent: "worker", task: "x", depth: 0 }, "depth"]]) {
    const reply = await crew.spawnAgent(input);
    assert.deepEqual([reply.status, reply.json.field], [400, field], reply.text);
  }
  const nobody = await crew.spawnAgent({ agent: "wroker", task: "x" });
  assert.equal(nobody.status, 404);
  assert.match(messageOf(nobody.json) + (nobody.json.hint ?? ""), /agent not found[^]*worker/);
  assert.deepEqual([(await crew.chats()).length, (await crew.get("/subagents")).json.subagents.length], [0, 0]);
});
