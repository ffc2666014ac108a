import assert from "node:assert/strict";
import { test } from "node:test";
import { event } from "../base/event_fixture.ts";
import { describe, subjectOf } from "./event_texts.ts";

test("events are described by their capability", () => {
  assert.equal(describe(event("lock.waiting", { agent_id: "bob", locked_by: "ada" })), "bob · waiting for ada");
  assert.equal(describe(event("work.claimed", { claimed_by: "bob", description: "Build" })), "bob · Build");
  assert.equal(describe(event("session.updated", { status: "idle", current_task: "rest" })), "idle · rest");
  assert.equal(describe(event("memory.remembered", { agent_id: "ada", summary: "it leans" })), "ada · it leans");
  assert.equal(describe(event("subagent.tool", { name: "read_note", summary: "a.md" })), "read_note · a.md");
  assert.equal(describe(event("definitions.changed", { agents: 4, skipped: 1 })), "4 agents, 1 invalid");
  assert.equal(describe(event("definitions.changed", { agents: 1, skipped: 0 })), "1 agent");
  assert.equal(describe(event("live.agent_spoke", { content: "hello" })), "hello");
  assert.equal(describe(event("agent.completed", { exit_code: 0 })), "exit code 0");
});

test("the subject has a readable name, with control characters made visible", () => {
  assert.equal(subjectOf(event("lock.acquired", { file_path: "src/\u202egnp.exe" })), "src/‹U+202E›gnp.exe");
  assert.equal(subjectOf(event("work.claimed", {}, "w1")), "w1");
  assert.equal(subjectOf(event("member.joined", { name: "claude-1" }, "m-1")), "claude-1");
  assert.equal(subjectOf(event("live.agent_joined", { name: "Ada" }, "agent_001")), "Ada");
});
