import assert from "node:assert/strict";
import { test } from "node:test";
import { event, sub } from "./crew_fixture.ts";
import type { SubagentRow } from "./state.ts";
import type { Entry } from "./wire.ts";
import { composerHint, describeCrew, inputLine, linkedSubagent, placeSubagents, toolUseKey } from "./texts.ts";

test("subagents are placed by result, by task, by agent, else after the last entry", () => {
  const use = (id: string, agent: string, task: string) => ({ id, name: "spawn_agent", input: { agent, task } });
  const entries: Entry[] = [
    { n: 1, role: "user", text: "go" },
    { n: 2, role: "assistant", tools: [use("u1", "tester", "A"), use("u2", "tester", "B"), { id: "u3", name: "read_note", input: {} }] },
    { n: 3, role: "tool", results: [{ id: "u2", text: "see [[tester-t1]] t1" }] },
    { n: 4, role: "assistant", tools: [{ ...use("u1", "explorer", "C"), name: "mcp__cru__spawn_agent" }, use("u5", "tester", "refused")] },
  ];
  const one = (task_id: string, agent: string, more: Partial<SubagentRow> = {}): SubagentRow => ({ task_id, agent, status: "completed", ...more });
  const { by_use, after } = placeSubagents(entries, [one("t1", "tester"), one("t2", "tester", { task: "A" }), one("t3", "explorer"), one("t4", "other", { after: 4 }), one("t5", "other")]);
  assert.deepEqual([...by_use].map(([key, { task_id }]) => [key, task_id]).sort(), [[toolUseKey(2, "u1"), "t2"], [toolUseKey(2, "u2"), "t1"], [toolUseKey(4, "u1"), "t3"]]);
  assert.deepEqual([...after].map(([n, list]) => [n, list.map(({ task_id }) => task_id)]), [[4, ["t4"]], [Infinity, ["t5"]]]);
});

test("a wikilink finds a subagent's file in every notation", () => {
  const among: SubagentRow[] = [{ task_id: "3f", agent: "code-reviewer", status: "completed", file: ".crucible/sessions/x/code-reviewer-3f.md" }, { task_id: "4a", agent: "tester", status: "running" }];
  for (const target of ["code-reviewer-3f", "x/code-reviewer-3f", "code-reviewer-3f.md", "code-reviewer-3f#Summary"]) assert.equal(linkedSubagent(target, among)?.task_id, "3f", target);
  assert.equal(linkedSubagent("tester-4a", among)?.task_id, "4a");
  assert.deepEqual([linkedSubagent("", among), linkedSubagent("session", among), linkedSubagent("#x", among)], [undefined, undefined, undefined]);
});

test("inputs are readable", () => {
  assert.deepEqual([inputLine({ path: "a\nb" }), inputLine({}), inputLine({ x: 1 }), inputLine("t"), inputLine(null)], ["a b", "", '{"x":1}', "t", ""]);
});

test("descriptions of events are safe to show", () => {
  assert.equal(describeCrew(event("chat.entry", { role: "tool", results: [{ name: "read_note" }] })), "tool: read_note");
  assert.equal(describeCrew(event("chat.turn", { turn: "idle", error: { message: "no\x1b[2J key" } })), "no key");
  assert.equal(describeCrew(sub("failed", { error_type: "ToolError", message: "exit\u202e 8" })), "ToolError: exit‹U+202E› 8");
});

test("a note about the spawning takes precedence", () => {
  const entries: Entry[] = [{ n: 1, role: "assistant", tools: [{ id: "u", name: "spawn_agent", input: { agent: "tester", task: "A" } }] }, { n: 2, role: "note", text: "→", about: "t1" }];
  const { by_use, after } = placeSubagents(entries, [{ task_id: "t1", agent: "tester", task: "A", status: "queued" }]);
  assert.deepEqual([by_use.size, after.get(2)?.[0]?.task_id], [0, "t1"]);
});

test("who waits for the user is not said to be answering", () => {
  assert.match(composerHint({ turn: "running", status: "active" }, "needs you"), /^The agent waits for you/);
  assert.match(composerHint({ turn: "running", status: "active" }, "thinking"), /^The agent is answering/);
  assert.equal(composerHint({ turn: "idle", status: "active" }, "idle"), "Type a message");
});
