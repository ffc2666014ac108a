// MCP over Streamable HTTP at /mcp: the official client, and the stateless requests of 2026-07-28 by hand.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { Agent, exchange, Project, waitFor } from "./harness.mjs";
import { attempt, growing, httpClient, use } from "./harness/mcp.mjs";
import { all_tools, everyResource, everyTool } from "./harness/tour.mjs";

const modern = "2026-07-28";
const meta = { "io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientInfo": { name: "e2e", version: "1" }, "io.modelcontextprotocol/clientCapabilities": {} };

/// One stateless request. `headers` replaces or (undefined) takes away what a proper client sends.
function stateless(project, method, params = {}, { headers = {}, id = 1, signal } = {}) {
  const all = {
    "Content-Type": "application/json", Accept: "application/json, text/event-stream", Authorization: `Bearer ${project.token}`,
    "MCP-Protocol-Version": modern, "Mcp-Method": method, ...(params.name ?? params.uri ? { "Mcp-Name": params.name ?? params.uri } : {}), ...headers,
  };
  for (const [name, value] of Object.entries(all)) if (value === undefined) delete all[name];
  return fetch(`${project.url}/mcp`, { method: "POST", headers: all, body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { _meta: meta, ...params } }), signal });
}

/// The JSON-RPC messages of a reply, whether it is JSON or a stream of events.
async function messages(response) {
  const text = await response.text();
  if (!response.headers.get("content-type")?.includes("text/event-stream")) return text ? [JSON.parse(text)].flat() : [];
  return text.split("\n\n").flatMap((frame) => frame.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).filter(Boolean).map((data) => JSON.parse(data)));
}
const answer = async (response) => (await messages(response)).find((message) => "result" in message || "error" in message);

test("every tool works through the official client over HTTP", async (t) => {
  const project = await Project.started({}, t);
  const client = await httpClient(project, t, { headers: { "Cru-Agent-Id": "ada", "Cru-Session-Id": randomUUID() } });
  await everyTool(client, project);
});

test("every resource can be read over HTTP, and a subscriber is told of changes", async (t) => {
  const project = await Project.started({}, t);
  const client = await httpClient(project, t);
  await everyResource(client, project);
  const told = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => { told.push(params.uri); });
  await client.subscribeResource({ uri: "locks://current" });
  const other = new Agent(project, "other");
  await waitFor(async () => {
    await other.ask("acquire_lock", { file_path: "a" });
    await other.ask("release_lock", { file_path: "a" });
    return told.includes("locks://current");
  }, { every: 200, what: "the change is told" });
});

test("over HTTP waiting calls tell progress, cancelled ones leave nothing, prompts and completion work", async (t) => {
  const project = await Project.started({}, t);
  const client = await httpClient(project, t, { headers: { "Cru-Agent-Id": "ada", "Cru-Session-Id": randomUUID() } });
  const other = new Agent(project, "other");
  await other.ask("acquire_lock", { file_path: "a" });
  const progress = [];
  const taken = use(client, "acquire_lock", { file_path: "a", wait_seconds: 60 }, { onprogress: (step) => progress.push(step) });
  await waitFor(() => progress.length >= 3, { what: "three steps of progress" });
  growing(progress);
  await other.ask("release_lock", { file_path: "a" });
  assert.equal((await taken).action, "acquired");
  await use(client, "release_lock", { file_path: "a" });
  await other.ask("acquire_lock", { file_path: "a" });
  const abort = new AbortController();
  const call = assert.rejects(client.callTool({ name: "acquire_lock", arguments: { file_path: "a", wait_seconds: 60 } }, undefined, { signal: abort.signal }));
  const waiters = async () => (await other.ask("check_locks")).result[0].waiters;
  await waitFor(async () => (await waiters()) === 1, { what: "it waits" });
  abort.abort();
  await call;
  await waitFor(async () => (await waiters()) === 0, { what: "it has left the line" });
  await other.ask("release_lock", { file_path: "a" });
  assert.deepEqual((await other.ask("check_locks")).result, []);
  assert.ok((await client.listPrompts()).prompts.length >= 1);
  await client.ping();
  await client.setLoggingLevel("info");
});

test("a session id is given, honoured, and gone after it is deleted", async (t) => {
  const project = await Project.started({}, t);
  const post = (body, headers = {}) => exchange(project.tcp, "POST", "/mcp", { body, headers: { Accept: "application/json, text/event-stream", Authorization: `Bearer ${project.token}`, ...headers } });
  const begun = await post({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } } });
  assert.equal(begun.status, 200, begun.text);
  const id = begun.headers["mcp-session-id"];
  assert.ok(id, JSON.stringify(begun.headers));
  const headers = { "Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25" };
  const initialized = await post({ jsonrpc: "2.0", method: "notifications/initialized" }, headers);
  assert.equal(initialized.status, 202, initialized.text);
  assert.equal((await post({ jsonrpc: "2.0", id: 2, method: "ping" }, headers)).status, 200);
  const strange = await post({ jsonrpc: "2.0", id: 3, method: "ping" }, { ...headers, "Mcp-Session-Id": "no-such-session" });
  assert.equal(strange.status, 404, strange.text);
  const deleted = await exchange(project.tcp, "DELETE", "/mcp", { headers: { Authorization: `Bearer ${project.token}`, ...headers } });
  assert.ok([200, 202, 204].includes(deleted.status), `${deleted.status} ${deleted.text}`);
  assert.equal((await post({ jsonrpc: "2.0", id: 4, method: "ping" }, headers)).status, 404);
});

test("a web page, a wrong host and a missing token are refused before anything is done", async (t) => {
  const project = await Project.started({}, t);
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "acquire_lock", arguments: { file_path: "a" }, _meta: meta } };
  const good = { Accept: "application/json, text/event-stream", Authorization: `Bearer ${project.token}`, "MCP-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "acquire_lock" };
  for (const [headers, status] of [
    [{ ...good, Origin: "http://evil.example" }, 403], [{ ...good, Origin: "null" }, 403], [{ ...good, Host: "evil.example" }, 403],
    [{ ...good, Authorization: "Bearer wrong" }, 401], [{ ...good, Authorization: "" }, 401],
  ]) {
    const reply = await exchange(project.tcp, "POST", "/mcp", { body, headers });
    assert.equal(reply.status, status, `${JSON.stringify(headers)} ${reply.text}`);
  }
  const plain = await exchange(project.tcp, "POST", "/mcp", { raw: JSON.stringify(body), headers: { ...good, "Content-Type": "text/plain" } });
  assert.ok([400, 415].includes(plain.status), plain.text);
  assert.deepEqual((await new Agent(project, "other").ask("check_locks")).result, [], "nothing was done");
});

test("stateless requests of 2026-07-28: discovery, tools with their cache hints, calls", async (t) => {
  const project = await Project.started({}, t);
  const { result: found } = await answer(await stateless(project, "server/discover"));
  assert.ok(found.supportedVersions.includes(modern) && found.capabilities.tools && found.instructions && found.resultType, JSON.stringify(found));
  const { result: list } = await answer(await stateless(project, "tools/list"));
  assert.deepEqual(list.tools.map(({ name }) => name).sort(), all_tools);
  assert.deepEqual([list.resultType, typeof list.ttlMs, typeof list.cacheScope], ["complete", "number", "string"]);
  const headers = { "Cru-Agent-Id": "ada", "Cru-Session-Id": randomUUID() };
  const taken = await answer(await stateless(project, "tools/call", { name: "acquire_lock", arguments: { file_path: "a" } }, { headers }));
  assert.deepEqual([taken.result.structuredContent.action, taken.result.resultType], ["acquired", "complete"], JSON.stringify(taken));
  const again = await answer(await stateless(project, "tools/call", { name: "acquire_lock", arguments: { file_path: "a" } }, { headers }));
  assert.equal(again.result.structuredContent.action, "refreshed", "the headers say who it is, whatever the connection");
  const { result: read } = await answer(await stateless(project, "resources/read", { uri: "locks://current" }, { headers }));
  assert.match(read.contents[0].text, /"ada"/);
  assert.ok("ttlMs" in read && read.resultType);
  const missing = await answer(await stateless(project, "resources/read", { uri: "work://no-such-item" }, { headers }));
  assert.equal(missing.error.code, -32602);
  // Without a name all nameless callers would be one agent, who could free each other's locks.
  const nameless = await answer(await stateless(project, "tools/call", { name: "release_lock", arguments: { file_path: "a" } }));
  assert.deepEqual([nameless.result.isError, nameless.result.structuredContent.field], [true, "Cru-Agent-Id"], JSON.stringify(nameless));
  assert.match(nameless.result.structuredContent.message, /invalid_agent_id/);
});

test("a stateless client without a name reads everything, and nobody notices it", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  await ada.ask("acquire_lock", { file_path: "a" });
  await ada.ask("write_handoff", { summary: "half done" });
  const { task_id } = await ada.ask("submit_work", { task_type: "t", description: "d" });
  const { tools } = (await answer(await stateless(project, "tools/list"))).result;
  const input = { why_work: { task_id }, recall: { query: "x" }, check_guardrails: { operation_text: "ls" }, get_agent: { name: "explorer" }, semantic_search: { query: "x" }, read_note: { path: "none.md" } };
  const read = {};
  for (const { name } of tools.filter(({ annotations }) => annotations.readOnlyHint)) {
    const { result } = await answer(await stateless(project, "tools/call", { name, arguments: input[name] ?? {} }));
    read[name] = result.structuredContent;
    assert.notEqual(read[name].field, "Cru-Agent-Id", `${name}: ${JSON.stringify(read[name])}`);
  }
  assert.deepEqual([read.check_locks.result[0].locked_by, read.read_handoff.handoffs[0].summary, read.list_work.work[0].task_id, read.why_work.task_id], ["ada", "half done", task_id, task_id]);
  assert.deepEqual(read.discover_agents.agents.map(({ agent_id, is_self }) => [agent_id, is_self]), [["ada", false]]);
  for (const uri of ["locks://current", "work://pending", "handoffs://recent"]) {
    const { result } = await answer(await stateless(project, "resources/read", { uri }));
    assert.match(result.contents[0].text, /"ada"/, uri);
  }
  assert.ok((await answer(await stateless(project, "resources/list"))).result.resources.some(({ uri }) => uri === `work://${task_id}`));
  assert.match(JSON.stringify((await answer(await stateless(project, "prompts/get", { name: "resume_from_handoff" }))).result), /half done/);
  for (const { name } of tools.filter(({ annotations }) => !annotations.readOnlyHint && annotations.idempotentHint)) {
    const { result } = await answer(await stateless(project, "tools/call", { name, arguments: {} }));
    assert.ok(result.isError, `${name}: ${JSON.stringify(result)}`);
  }
  assert.deepEqual((await ada.ask("discover_agents")).agents.map(({ agent_id }) => agent_id), ["ada"], "still nobody else");
});

test("stateless requests whose headers and body disagree, or whose version is unknown, are refused", async (t) => {
  const project = await Project.started({}, t);
  const cases = [
    [stateless(project, "tools/list", {}, { headers: { "Mcp-Method": "tools/call" } }), -32020],
    [stateless(project, "tools/call", { name: "heartbeat", arguments: {} }, { headers: { "Mcp-Name": "acquire_lock" } }), -32020],
    [stateless(project, "tools/list", { _meta: { ...meta, "io.modelcontextprotocol/protocolVersion": "2099-01-01" } }, { headers: { "MCP-Protocol-Version": "2099-01-01" } }), -32022],
  ];
  for (const [response, code] of cases) {
    const { status } = await response;
    const { error } = await answer(await response);
    assert.deepEqual([error.code, status], [code, 400], JSON.stringify(error));
  }
  const unknown = await stateless(project, "no/such");
  assert.deepEqual([(await answer(unknown)).error.code], [-32601]);
  const bad = await fetch(`${project.url}/mcp`, { method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", Authorization: `Bearer ${project.token}` }, body: "{no json" });
  assert.equal((await answer(bad)).error.code, -32700);
});

test("subscriptions/listen tells changes for as long as it is open", async (t) => {
  const project = await Project.started({}, t);
  const abort = new AbortController();
  t.after(() => abort.abort());
  const response = await stateless(project, "subscriptions/listen", { notifications: { resourcesListChanged: true, resourceSubscriptions: ["locks://current"] } }, { signal: abort.signal });
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type"), /text\/event-stream/);
  let text = "";
  const reading = (async () => {
    for await (const chunk of response.body) text += Buffer.from(chunk).toString("utf8");
  })().catch(() => {});
  await waitFor(() => text.includes("acknowledged"), { what: "the acknowledgement" });
  const other = new Agent(project, "other");
  await other.ask("acquire_lock", { file_path: "a" });
  await waitFor(() => text.includes("notifications/resources/updated") && text.includes("locks://current"), { what: "the change" });
  const quiet = text.length;
  await other.ask("write_handoff", { summary: "not asked for" });
  await other.ask("release_lock", { file_path: "a" });
  // Changes are told in their order: by the time of the second one the handoff was passed over.
  await waitFor(() => text.slice(quiet).includes("locks://current"), { what: "the next change" });
  assert.ok(!text.includes("handoffs://"), "only what was asked for");
  abort.abort();
  await reading;
  assert.equal((await project.get("/health")).status, 200);
});

test("the daemon dies under an HTTP client, and the next call finds the new one", async (t) => {
  const project = await Project.started({}, t);
  const headers = { "Cru-Agent-Id": "ada", "Cru-Session-Id": randomUUID() };
  const client = await httpClient(project, t, { headers });
  const lock = await use(client, "acquire_lock", { file_path: "a" });
  await project.restartDaemon();
  const next = await httpClient(project, t, { headers });
  const reply = await attempt(next, "acquire_lock", { file_path: "a", fencing_token: lock.fencing_token });
  assert.deepEqual([reply.action, reply.fencing_token], ["refreshed", lock.fencing_token]);
});
