// What Claude Code 2.1.325 and Codex 0.166.0 really said to an MCP server, said again to ours, and the shape of what
// they were answered. The tools of the recorded server that we have not are exchanged for ones that we have.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Agent, Project, repository, sleep } from "./harness.mjs";
import { Wire } from "./harness/mcp.mjs";

const recorded = (name) => readFileSync(join(repository, "tests/fixtures/mcp", name), "utf8").trim().split("\n").map((line) => JSON.parse(line))
  .map(({ dir, line }) => ({ dir, message: dir === "ev" ? line : JSON.parse(line) }));

/// Sends the client's lines as they are, each after what it had waited for, and gives back the recorded and our answers.
async function replay(wire, lines, exchange) {
  const answers = new Map();
  for (const [index, { dir, message }] of lines.entries()) {
    if (dir === "s>c") {
      answers.set(message.id, { theirs: message, ours: await wire.answer(message.id) });
    } else if (dir === "c>s") {
      wire.send(exchange(message) ?? message);
    }
    void index;
  }
  return answers;
}

test("Claude Code's recorded conversation", async (t) => {
  const project = await Project.started({}, t);
  const lines = recorded("claude-mcp-wire.jsonl");
  const session = "9de0a853-35c2-4ac5-b250-2bbf84fb563d";
  const wire = new Wire(project, { env: { CLAUDE_CODE_SESSION_ID: session, CLAUDE_PROJECT_DIR: project.root } });
  const answers = await replay(wire, lines, (message) => (message.params?.name === "fail" ? { ...message, params: { ...message.params, name: "complete_work", arguments: { task_id: "nothing", success: true } } } : null));
  const of = (id) => answers.get(id).ours;
  assert.ok(of("server-discover-probe-1").result ?? of("server-discover-probe-1").error, "the probe is answered");
  assert.deepEqual([of(0).result.protocolVersion, of(0).result.serverInfo.name], ["2025-11-25", "cru"]);
  assert.equal(typeof of(0).result.instructions, "string");
  const handoff = of(1).result.tools.find(({ name }) => name === "write_handoff");
  const theirs = answers.get(1).theirs.result.tools.find(({ name }) => name === "write_handoff");
  for (const key of Object.keys(theirs).filter((key) => key !== "execution")) assert.equal(typeof handoff[key], typeof theirs[key], key);
  for (const key of Object.keys(theirs.outputSchema.properties)) assert.ok(handoff.outputSchema.properties[key], key);
  assert.ok(of(2).result.resources.every(({ uri, name, mimeType }) => uri && name && mimeType));
  const { content, structuredContent, isError } = of(3).result;
  assert.deepEqual([structuredContent.success, typeof structuredContent.handoff_id, isError ?? false], [true, "string", false]);
  assert.deepEqual(JSON.parse(content[0].text), structuredContent);
  assert.deepEqual([of(4).result.isError ?? false, of(4).result.content[0].type], [true, "text"], "a refusal is a tool error");
  assert.match(of(4).result.content[0].text, /task_not_found_or_not_claimed_by_agent/);
  const { handoffs: [written] } = await new Agent(project, "other").ask("list_handoffs");
  assert.deepEqual([written.summary, written.session_id], ["s1", session]);
  // The client sent SIGINT; the recorded server ended with 0.
  const { code } = await wire.signal("SIGINT");
  assert.equal(code, 0);
});

test("Codex's recorded conversation", async (t) => {
  const project = await Project.started({}, t);
  const wire = new Wire(project, { env: { AGENT_TYPE: "codex" } });
  const answers = await replay(wire, recorded("codex-mcp-wire.jsonl"), (message) => (message.params?.name === "echo" ? { ...message, params: { ...message.params, name: "check_guardrails", arguments: { operation_text: "ls" } } } : null));
  const of = (id) => answers.get(id).ours;
  assert.equal(of(0).result.protocolVersion, "2025-06-18");
  assert.ok(of(1).result.tools.length >= 16);
  assert.deepEqual(of(2).result.structuredContent.safe, true, "its _meta is no obstacle");
  wire.child.kill("SIGTERM");
  await sleep(1);
  assert.equal((await wire.end()).code, 0);
});

test("a batch is answered as one where the version has batches, and refused where it has not", async (t) => {
  const project = await Project.started({}, t);
  const batch = '[{"jsonrpc":"2.0","id":"x","method":"ping"},{"jsonrpc":"2.0","id":"y","method":"tools/list"},{"jsonrpc":"2.0","method":"notifications/initialized"}]';
  const old = new Wire(project);
  await old.initialize("2025-03-26");
  old.send(batch);
  const { result } = await old.request("ping");
  assert.deepEqual(result, {});
  const answer = old.messages.find(Array.isArray) ?? old.messages.filter(({ id }) => ["x", "y"].includes(id));
  assert.deepEqual(answer.map(({ id }) => id).sort(), ["x", "y"]);
  assert.equal((await old.end()).code, 0);
  const recent = new Wire(project);
  await recent.initialize("2025-06-18");
  recent.send(batch);
  await recent.request("ping");
  assert.ok(recent.messages.some(({ error }) => error?.code === -32600), recent.lines.join("\n"));
  assert.equal((await recent.end()).code, 0);
});
