// ask_user where the client shows forms, and long work as tasks: in both eras of MCP, over stdio and over HTTP.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Project, waitFor } from "./harness.mjs";
import { cast, report } from "./harness/cast.mjs";
import { gate } from "./harness/live.mjs";
import { httpClient, stdioClient, use } from "./harness/mcp.mjs";

const question = { prompt: "Which port?", options: ["80", "8080"] };
const doors = {
  stdio: (project, t, elicit) => stdioClient(project, t, { elicit }),
  HTTP: (project, t, elicit) => httpClient(project, t, { elicit, headers: { "Cru-Agent-Id": "ada", "Cru-Session-Id": randomUUID() } }),
};
const pending = (project) => waitFor(async () => (await project.questions("?pending=true"))[0], { what: "the question is in the inbox" });

for (const [door, connect] of Object.entries(doors)) {
  test(`over ${door} a question is a form at the client, and its answer closes it in the inbox`, async (t) => {
    const project = await Project.started({}, t), shown = [];
    const client = await connect(project, t, async (params) => {
      shown.push(params);
      assert.equal((await pending(project)).prompt, "Which port?", "the inbox has it too");
      return { action: "accept", content: { answer: "8080" } };
    });
    const reply = await use(client, "ask_user", question);
    assert.deepEqual([reply.status, reply.response], ["answered", "8080"]);
    assert.deepEqual([shown.length, shown[0].message, shown[0].requestedSchema.properties.answer.enum], [1, "Which port?", ["80", "8080"]]);
    const [kept] = await project.questions();
    assert.deepEqual([kept.status, kept.response, kept.delivered], ["answered", "8080", true]);
  });

  test(`over ${door} an answer in the inbox closes the form`, async (t) => {
    const project = await Project.started({}, t);
    let form;
    const client = await connect(project, t, (_, { signal }) => new Promise((resolve) => {
      form = signal;
      signal.addEventListener("abort", () => resolve({ action: "cancel" }));
    }));
    const asked = use(client, "ask_user", question);
    await waitFor(() => form, { what: "the form is shown" });
    assert.equal((await project.answer((await pending(project)).id, "80")).status, 200);
    assert.equal((await asked).response, "80");
    await waitFor(() => form.aborted, { what: "the form is closed" });
  });
}

test("a form that is declined ends the wait, one that is closed does not; the inbox keeps the question", async (t) => {
  const project = await Project.started({}, t), actions = ["decline", "cancel"];
  const client = await stdioClient(project, t, { elicit: async () => ({ action: actions.shift() }) });
  const declined = await use(client, "ask_user", question);
  assert.deepEqual([declined.status, declined.response], ["pending", null]);
  assert.match(declined.message, /declined/);
  const waited = use(client, "ask_user", { question_id: declined.question_id, wait_seconds: 600 });
  await project.answer(declined.question_id, "80");
  assert.equal((await waited).response, "80", "no form the second time");
  const closed = use(client, "ask_user", { prompt: "And now?" });
  await waitFor(() => actions.length === 0, { what: "the second form was closed" });
  await project.answer((await pending(project)).id, "later");
  assert.equal((await closed).response, "later");
});

test("the daemon dies while a form is open: its answer counts, and it is not shown twice", async (t) => {
  const project = await Project.started({}, t), answer = gate();
  let shown = 0;
  const client = await stdioClient(project, t, { elicit: async () => { ++shown; await answer.wait; return { action: "accept", content: { answer: "80" } }; } });
  const asked = use(client, "ask_user", question);
  await waitFor(() => shown === 1, { what: "the form is shown" });
  const { id } = await pending(project);
  await project.restartDaemon();
  answer.open();
  assert.equal((await asked).response, "80");
  assert.deepEqual([shown, (await project.questions()).map((one) => [one.id, one.status])], [1, [[id, "answered"]]]);
});

// ---- 2026-07-28

const version = "2026-07-28", tasks = "io.modelcontextprotocol/tasks";
/// A stateless request of `agent`, with the client's capabilities: its result.
async function stateless(project, agent, method, params, capabilities) {
  const named = params.name ?? params.taskId;
  const response = await fetch(`${project.url}/mcp`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", Authorization: `Bearer ${project.token}`, "MCP-Protocol-Version": version, "Mcp-Method": method, ...(named ? { "Mcp-Name": named } : {}), "Cru-Agent-Id": agent, "Cru-Session-Id": `session-of-${agent}` },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: { "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientInfo": { name: "e2e", version: "1" }, "io.modelcontextprotocol/clientCapabilities": capabilities } } }),
  });
  const text = await response.text();
  const messages = response.headers.get("content-type").includes("event-stream") ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data)) : [JSON.parse(text)];
  const { result, error } = messages.find((message) => "result" in message || "error" in message);
  if (error) throw Object.assign(new Error(error.message), error, { status: response.status });
  return result;
}

test("without a connection a question is a result that requires input, and the next call brings the answer", async (t) => {
  const project = await Project.started({}, t), capabilities = { elicitation: {} };
  const call = (more = {}, agent = "ada") => stateless(project, agent, "tools/call", { name: "ask_user", arguments: question, ...more }, capabilities);
  const first = await call();
  assert.equal(first.resultType, "input_required");
  const [key] = Object.keys(first.inputRequests);
  assert.equal(first.inputRequests[key].params.message, "Which port?");
  const accepted = { requestState: first.requestState, inputResponses: { [key]: { action: "accept", content: { answer: "80" } } } };
  const stranger = await call(accepted, "bob");
  assert.equal(stranger.structuredContent.error, "not_found", "nobody answers another's question");
  assert.equal((await pending(project)).status, "pending");
  const last = await call(accepted);
  assert.deepEqual([last.resultType, last.structuredContent.response], ["complete", "80"]);
  assert.equal((await project.questions()).length, 1, "asked once");
});

test("a subagent is a task for a client that knows tasks: a handle at once, its report when it is done", async (t) => {
  const held = gate();
  t.after(() => held.open());
  const { crew } = await cast(t, { worker: async () => { await held.wait; return { text: report("Done at last.") }; } });
  const ask = (method, params, more = { extensions: { [tasks]: {} } }) => stateless(crew, "ada", method, params, more);
  const handle = await ask("tools/call", { name: "spawn_agent", arguments: { agent: "worker", task: "a long one" } });
  assert.deepEqual([handle.resultType, handle.status], ["task", "working"]);
  const named = { taskId: handle.taskId };
  assert.equal((await ask("tasks/get", named)).status, "working");
  await assert.rejects(stateless(crew, "bob", "tasks/get", named, { extensions: { [tasks]: {} } }), { code: -32602 });
  await assert.rejects(ask("tasks/get", named, {}), { code: -32021, status: 400 });
  held.open();
  const done = await waitFor(async () => { const state = await ask("tasks/get", named); return state.status === "completed" && state; }, { what: "the task is completed" });
  assert.match(done.result.structuredContent.result, /Done at last\./);
});
