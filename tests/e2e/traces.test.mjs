// Traces: who did what for whom, when, at what cost, and where it failed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cast, filed, report, spawning, told } from "./harness/cast.mjs";

/// A chat whose second subagent fails.
async function scene(t) {
  const { crew, asked } = await cast(t, {
    assistant: [{ text: "I verify the login fix.", tools: [spawning("explorer", "find it"), spawning("tester", "test it")], usage: { input: 1000, output: 100 } }, { text: "One failed.", usage: { input: 10, output: 1 } }],
    explorer: { text: report("Found it."), usage: { input: 500, output: 50 } },
    tester: { status: 400, error: { type: "invalid_request_error", message: "the prompt is bad" } },
  });
  const chat = await crew.chat({ message: "Check the login." });
  await chat.end();
  return { crew, asked, chat, files: await filed(chat) };
}

test("SA-58, SA-59: every spawn has a trace id of its own and its chain of parents, in records, files, events, results and the log", async (t) => {
  const { crew, chat, files: { metadata, subagents: notes, session } } = await scene(t);
  const ids = [metadata.trace_id, ...metadata.subagents.map(({ trace_id }) => trace_id)];
  assert.equal(new Set(ids).size, 3, "unique");
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/, "as W3C trace context writes it");
  assert.equal(session.front.trace_id, metadata.trace_id);
  for (const { agent, task_id, trace_id, parent_chain } of metadata.subagents) {
    assert.deepEqual(parent_chain, ["user", "assistant", agent]);
    const note = notes.find(({ front }) => front.task_id === task_id);
    assert.deepEqual([note.front.trace_id, note.front.parent_chain], [trace_id, parent_chain]);
    const told_of = (await crew.events("?since=0")).filter(({ data }) => data.task_id === task_id);
    assert.ok(told_of.length >= 3, "queued, started, ended");
    for (const { type, data } of told_of) assert.equal(data.trace_id, trace_id, type);
  }
  const of_primary = (await crew.events("?since=0")).filter(({ type, data }) => type.startsWith("chat.") && data.chat_id === chat.id && !data.task_id);
  assert.ok(of_primary.some(({ type }) => type === "chat.text"), of_primary.map(({ type }) => type).join());
  for (const { type, data } of of_primary) assert.equal(data.trace_id, metadata.trace_id, type);
  const { trace_id } = metadata.subagents.find(({ agent }) => agent === "tester");
  assert.match(readFileSync(crew.path(".coven/log/daemon.log"), "utf8"), new RegExp(`"an agent's work has failed".*"trace_id":"${trace_id}"`));
  assert.equal((await crew.must(200, crew.get(`/chats/${chat.id}/trace`))).trace_id, metadata.trace_id, "and the chat joins them");
});

test("SA-60: `cru sessions trace` shows the tree in spawn order with time and tokens, and failures apart", async (t) => {
  const { crew, chat } = await scene(t);
  const shown = await crew.cru("sessions", "trace", chat.id);
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, new RegExp(["^trace [0-9a-f]{32}  completed, 1 failed  .* tok.*", "user", "└─ ✓ assistant +sonnet +\\S+ +1\\.1k  █+", "   ├─ ✓ #1 explorer +sonnet +\\S+ +550 .*█", "   └─ ✗ #2 tester +sonnet +\\S+ +0 .*▒", "        invalid_request: .*the prompt is bad.*", "        while assistant was attempting: I verify the login fix\\.", "        chain user → assistant → tester  trace [0-9a-f]{32}", "        \\.crucible/sessions/.*/tester-\\w+\\.md"].join("\n")));
  const trace = JSON.parse((await crew.cru("sessions", "trace", chat.id, "--json")).stdout);
  assert.deepEqual(trace.spans.map(({ order, agent, status, tokens, parent }) => [order, agent, status, tokens, parent]),
    [[0, "assistant", "completed", 1111, null], [1, "explorer", "completed", 550, chat.id], [2, "tester", "failed", 0, chat.id]]);
  for (const { duration_ms, offset_ms } of trace.spans) assert.ok(duration_ms >= 0 && offset_ms >= 0);
  const by_task = JSON.parse((await crew.cru("sessions", "trace", trace.spans[2].id, "--json")).stdout);
  assert.equal(by_task.session_id, chat.id, "a subagent's task id leads to its chat");
  const missing = await crew.cru("sessions", "trace", "nothing-like-it");
  assert.equal(missing.code, 3, missing.stderr);
  assert.match(missing.stderr, /cru sessions list/);
});

test("SA-61: a failure says which agent failed, for whom, with its trace, and what its parent was attempting", async (t) => {
  const { crew, asked, files: { metadata } } = await scene(t);
  const { trace_id, task_id } = metadata.subagents.find(({ agent }) => agent === "tester");
  const said = told(asked("assistant")).find(({ is_error, text }) => is_error || /tester failed/.test(text)).text;
  assert.match(said, new RegExp(`tester failed: [^]*user → assistant → tester, trace ${trace_id}, while assistant was attempting: I verify the login fix\\.`));
  const { data } = (await crew.events("?since=0")).find(({ type }) => type === "subagent.failed");
  assert.deepEqual([data.task_id, data.agent, data.trace_id, data.parent_chain, data.attempting], [task_id, "tester", trace_id, ["user", "assistant", "tester"], "I verify the login fix."]);
});

test("what an agent does with a tool is told with its trace", async (t) => {
  const { crew } = await cast(t, { assistant: [{ text: "I look.", tools: [{ name: "list_agents", input: {} }] }, { text: "Seen." }] });
  const chat = await crew.chat({ message: "Who is there?" });
  const { trace_id } = await crew.must(200, crew.get(`/traces/${chat.id}`));
  const used = (await crew.events("?since=0")).filter(({ type }) => type === "chat.tool");
  assert.deepEqual(used.map(({ data }) => [data.name, data.trace_id]), [["list_agents", trace_id]]);
});

test("a chat between two turns has lasted as long as something happened in it", async (t) => {
  const { crew } = await cast(t, { assistant: { text: "Yes.", delayMs: 300 } });
  const chat = await crew.chat({ message: "Is it?" });
  const trace = await crew.must(200, crew.get(`/traces/${chat.id}`));
  assert.ok(trace.duration_ms > 0, JSON.stringify(trace));
  assert.equal(trace.spans[0].duration_ms, trace.duration_ms);
});
