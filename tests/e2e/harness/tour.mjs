// Every tool once, by its happy path, and every resource; the same over each transport. The official client checks each
// reply against the tool's own schema.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { Agent } from "./agents.mjs";
import { waitFor } from "./basics.mjs";
import { replyOf } from "./mcp.mjs";

/// CO-20's own, and what the issue adds.
export const named_tools = [
  "acquire_lock", "release_lock", "check_locks", "get_work", "complete_work", "submit_work", "write_handoff", "read_handoff",
  "discover_agents", "list_crew", "register_session", "heartbeat", "remember", "recall", "check_guardrails", "cleanup_dead_agents", "ask_user", "request_approval",
];
/// Agents, notes and subagents, for hosts that have none of their own.
export const crew_tools = ["list_agents", "get_agent", "spawn_agent", "get_subagent", "list_notes", "read_note", "semantic_search"];
/// The world of the live agents.
export const live_tools = ["list_live_agents", "say", "get_auto_mode"];
export const all_tools = [...named_tools, ...crew_tools, ...live_tools, "cancel_work", "list_work", "why_work"].sort();

async function crewTools(call, project) {
  const { agents } = await call("list_agents");
  assert.ok(agents.some(({ name }) => name === "explorer"), JSON.stringify(agents));
  assert.ok((await call("get_agent", { name: "explorer" })).prompt.length > 0);
  writeFileSync(project.path("tower.md"), "# Tower\n\nThe tower leans to the south.\n");
  await waitFor(async () => (await call("list_notes")).notes.some(({ path }) => path === "tower.md"), { what: "the note is listed" });
  assert.match((await call("read_note", { path: "tower.md" })).text, /leans to the south/);
  await waitFor(async () => (await call("semantic_search", { query: "where does the tower lean" })).results[0]?.path === "tower.md", { what: "the note is found" });
  const spawned = await call("spawn_agent", { agent: "explorer", task: "Where does the tower lean?", model: "scripted", wait_seconds: 600 });
  assert.deepEqual([spawned.status, spawned.model_source], ["completed", "override"], JSON.stringify(spawned));
  assert.match(spawned.result, /## Summary[^]*## Findings/);
  assert.equal((await call("get_subagent", { task_id: spawned.task_id })).result, spawned.result);
}


/// Where in a description `type` is a list, which many clients cannot read: they are told `anyOf`.
function listsOfTypes(value, path = "") {
  if (!value || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, member]) => (key === "type" && Array.isArray(member) && !Array.isArray(value) ? [`${path}/type`] : listsOfTypes(member, `${path}/${key}`)));
}

export async function everyTool(client, project) {
  const { tools } = await client.listTools();
  assert.deepEqual(listsOfTypes(tools), []);
  assert.deepEqual(tools.map(({ name }) => name).sort(), all_tools);
  for (const tool of tools) {
    assert.ok(tool.title && tool.description && tool.inputSchema.type === "object" && tool.outputSchema?.type === "object", JSON.stringify(tool));
    for (const hint of ["readOnlyHint", "destructiveHint", "idempotentHint"]) assert.equal(typeof tool.annotations[hint], "boolean", `${tool.name} ${hint}`);
  }
  const used = new Set();
  const call = async (name, args = {}) => {
    used.add(name);
    const result = await client.callTool({ name, arguments: args });
    assert.ok(!result.isError && result.structuredContent, `${name}: ${JSON.stringify(result)}`);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, `${name}: the text is the same`);
    return replyOf(result);
  };
  const { session_id } = await call("register_session", { capabilities: ["tour"], current_task: "touring" });
  assert.equal((await call("heartbeat")).session_id, session_id);
  const { agents } = await call("discover_agents", { capability: "tour" });
  assert.deepEqual(agents.map((agent) => [agent.session_id, agent.current_task]), [[session_id, "touring"]]);
  const { crew } = await call("list_crew");
  assert.deepEqual(crew.filter(({ facets }) => facets.session === session_id).map(({ badge, doing }) => [badge, doing]), [["thinking", "touring"]]);

  const lock = await call("acquire_lock", { file_path: "src/./x/../tour.cc", reason: "to see it", ttl_minutes: 5 });
  assert.deepEqual([lock.success, lock.action, lock.file_path, lock.reason ?? null], [true, "acquired", "src/tour.cc", null], JSON.stringify(lock));
  assert.equal((await call("acquire_lock", { file_path: "src/tour.cc" })).action, "refreshed");
  const { result: [held] } = await call("check_locks", { file_paths: ["src/tour.cc"] });
  assert.deepEqual([held.file_path, held.fencing_token, held.session_id], ["src/tour.cc", lock.fencing_token, session_id]);
  assert.equal((await call("release_lock", { file_path: "src/tour.cc", fencing_token: lock.fencing_token })).action, "released");
  assert.deepEqual((await call("check_locks")).result, []);

  const { task_id } = await call("submit_work", { task_type: "tour", description: "look", input_data: { deep: [1, { a: null }] }, priority: 2 });
  const later = await call("submit_work", { task_type: "tour", description: "later", depends_on: [task_id] });
  assert.match((await call("why_work", { task_id: later.task_id })).why, new RegExp(task_id));
  const claimed = await call("get_work", { task_types: ["tour"] });
  assert.deepEqual([claimed.task_id, claimed.task_type, claimed.description, claimed.input_data, claimed.priority], [task_id, "tour", "look", { deep: [1, { a: null }] }, 2]);
  const done = await call("complete_work", { task_id, success: true, result: "seen", fencing_token: claimed.fencing_token });
  assert.deepEqual([done.success, done.status, done.task_id], [true, "completed", task_id]);
  assert.equal((await call("cancel_work", { task_id: later.task_id, reason: "the tour is over" })).status, "cancelled");
  assert.deepEqual((await call("list_work", { status: "completed", task_type: "tour" })).work.map((item) => item.task_id), [task_id]);

  const { handoff_id } = await call("write_handoff", { summary: "toured", next_steps: ["go home"] });
  assert.deepEqual((await call("read_handoff")).handoffs.map(({ id }) => id), [handoff_id]);
  const first = await call("remember", { event_type: "discovery", summary: "the tower leans", tags: ["pisa"], lessons: ["bring a level"] });
  const second = await call("remember", { event_type: "discovery", summary: "the tower leans", tags: ["pisa"] });
  assert.deepEqual([first.action, second.action, second.memory_id], ["created", "deduplicated", first.memory_id]);
  const { memories } = await call("recall", { query: "leaning tower leans", tags: ["pisa"], limit: 3 });
  assert.deepEqual(memories.map(({ memory_id }) => memory_id), [first.memory_id]);

  assert.equal((await call("check_guardrails", { operation_text: "ls -l src" })).safe, true);
  const danger = await call("check_guardrails", { operation_text: "git push --force origin main" });
  assert.equal(danger.safe, false);
  assert.ok(danger.violations.every(({ pattern_name, category, severity, matched_text, blocked }) => pattern_name && category && severity && matched_text && blocked === true), JSON.stringify(danger));
  assert.deepEqual([(await call("cleanup_dead_agents")).agents_cleaned], [0]);

  const asked = await call("ask_user", { prompt: "which way?", options: ["left", "right"], wait_seconds: 0 });
  assert.equal(asked.status, "pending");
  const answer = await project.post(`/questions/${asked.question_id}/answer`, { answer: "left" });
  assert.equal(answer.status, 200, answer.text);
  const heard = await call("ask_user", { question_id: asked.question_id, wait_seconds: 5 });
  assert.deepEqual([heard.status, heard.response], ["answered", "left"]);
  const wanted = await call("request_approval", { action: "climb the tower", reason: "for the view", wait_seconds: 0 });
  assert.deepEqual([wanted.status, wanted.approved], ["pending", false]);
  const denied = await project.post(`/approvals/${wanted.approval_id}/deny`, { reason: "it leans" });
  assert.equal(denied.status, 200, denied.text);
  const decided = await call("request_approval", { approval_id: wanted.approval_id, wait_seconds: 5 });
  assert.deepEqual([decided.status, decided.approved, decided.reason], ["denied", false, "it leans"]);
  await crewTools(call, project);
  assert.deepEqual((await call("list_live_agents")).agents, []);
  assert.equal((await call("say", { content: "is anybody here?" })).recipient_count, 0);
  assert.equal((await call("get_auto_mode")).active, false);
  assert.deepEqual([...used].sort(), all_tools, "every tool was called");
}

/// CO-21: the three resources, one item by each template, and what is not there.
export async function everyResource(client, project) {
  const other = new Agent(project, "filler");
  const { fencing_token } = await other.ask("acquire_lock", { file_path: "src/held.cc", reason: "mine" });
  const { task_id } = await other.ask("submit_work", { task_type: "t", description: "waiting" });
  const { handoff_id } = await other.ask("write_handoff", { summary: "read me" });
  const read = async (uri) => {
    const { contents: [content, ...more] } = await client.readResource({ uri });
    assert.deepEqual([content.uri, content.mimeType, more.length], [uri, "application/json", 0]);
    return JSON.parse(content.text);
  };
  const { resources } = await client.listResources();
  const uris = resources.map(({ uri }) => uri);
  for (const uri of ["locks://current", "work://pending", "handoffs://recent"]) assert.ok(uris.includes(uri), uris.join());
  const rows = (value) => (Array.isArray(value) ? value : Object.values(value).find(Array.isArray));
  assert.ok(rows(await read("locks://current")).some((lock) => lock.file_path === "src/held.cc" && lock.fencing_token === fencing_token));
  assert.ok(rows(await read("work://pending")).some((item) => item.task_id === task_id));
  assert.ok(rows(await read("handoffs://recent")).some((handoff) => handoff.id === handoff_id));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.ok(resourceTemplates.length >= 3 && resourceTemplates.every(({ uriTemplate, name }) => uriTemplate && name), JSON.stringify(resourceTemplates));
  assert.equal((await read(`work://${task_id}`)).task_id, task_id);
  assert.equal((await read(`handoffs://${handoff_id}`)).summary, "read me");
  for (const uri of ["locks://nowhere", "work://no-such-item", "handoffs://00000000-0000-4000-8000-000000000000", "file:///etc/passwd", "work://../../etc/passwd"]) {
    await assert.rejects(client.readResource({ uri }), (error) => [-32002, -32602].includes(error.code), uri);
  }
  await other.ask("release_lock", { file_path: "src/held.cc" });
  await other.ask("cancel_work", { task_id });
}
