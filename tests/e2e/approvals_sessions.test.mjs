// What interactive sessions ask approval for: Claude Code and Codex by their PermissionRequest hook, and any client by the
// tool request_approval. A person decides here; whatever goes wrong, the program's own dialog is left alone.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { patience, waitFor } from "./harness.mjs";
import { Claude, claudeThatSays, Codex, hostedProject } from "./harness/hosts.mjs";
import { replyOf, stdioClient } from "./harness/mcp.mjs";
import { with_cru } from "./harness/standin.mjs";

const hosted = (t, options = {}) => hostedProject(t, { bin: [claudeThatSays(t, "2.1.197"), ...with_cru.bin], ...options });
const shown = async (project, id) => (await project.get(`/approvals/${id}`)).json;
const pending = async (project, ...than) => {
  const one = await waitFor(async () => (await project.get("/approvals?pending=true")).json.approvals.find(({ id }) => !than.includes(id)), { what: "an approval waits" });
  return shown(project, one.id);
};
const becomes = (project, { id }, status) => waitFor(async () => (await shown(project, id)).status === status, { what: `${id} is ${status}` });
const decide = async (project, { id }, verb, body = {}) => {
  const { status, text } = await project.post(`/approvals/${id}/${verb}`, verb === "approve" ? { confirm: id, ...body } : body);
  assert.equal(status, 200, text);
};
const shell = (command) => ({ tool_name: "Bash", tool_input: { command, description: "x" }, permission_suggestions: [] });
/// The hook of a Claude that asks; what it will say.
const asks = (claude, command) => claude.fire(claude.session, "PermissionRequest", shell(command), "Bash");
const allow = { hookEventName: "PermissionRequest", decision: { behavior: "allow" } };

test("what an interactive Claude Code asks its user for is an approval, and the decision reaches its hook", async (t) => {
  const project = await hosted(t), claude = await Claude.started(project);
  const first = asks(claude, "rm -r build");
  const approval = await pending(project);
  assert.deepEqual([approval.agent, approval.tool, approval.via, approval.checked, approval.reversible], ["claude-1", "Bash", "hook", "at answer", false]);
  assert.match(approval.preview.text, /^in \/.*\nprogram: rm is \/.*\/rm\n\$ rm -r build\n$/, "by the PATH of its hook");
  assert.notEqual((await project.cru("approvals", "approve", approval.id)).code, 0, "it cannot be undone");
  assert.equal((await project.post(`/approvals/${approval.id}/ask`, { question: "why?" })).status, 409, "a program that waits cannot be asked");
  assert.equal((await project.cru("approvals", "approve", approval.id, "--confirm", approval.id)).code, 0);
  assert.deepEqual(await first, allow);
  assert.equal(typeof (await shown(project, approval.id)).used_at, "string");
  const second = asks(claude, "make");
  const other = await pending(project, approval.id);
  await decide(project, other, "deny", { reason: "not on a Friday" });
  const { decision } = await second;
  assert.deepEqual([decision.behavior, /not on a Friday/.test(decision.message)], ["deny", true]);
});

test("approved with changes: Claude Code's hook hands on the input as it was changed, and Codex's cannot be changed", async (t) => {
  const project = await hosted(t), claude = await Claude.started(project);
  const hook = asks(claude, "make");
  const approval = await pending(project);
  assert.ok(approval.schema.properties.command, "the page makes a form of it");
  const set = (id, fields) => project.post(`/approvals/${id}/approve`, { confirm: id, set: fields });
  assert.equal((await set(approval.id, { timeout: "soon" })).status, 400);
  assert.equal((await set(approval.id, { command: "make test" })).status, 200);
  assert.deepEqual((await hook).decision, { behavior: "allow", updatedInput: { command: "make test", description: "x" } });
  const codex = await Codex.started(project), thread = await codex.thread(), other = codex.fire(thread.session, "PermissionRequest", { tool_name: "Bash", tool_input: { command: "make" }, turn_id: "t1", model: "gpt-5.5", permission_mode: "default" }, "Bash");
  const second = await pending(project, approval.id);
  const refused = await set(second.id, { command: "make test" });
  assert.deepEqual([refused.status, refused.json.field, second.schema], [400, "set", null], refused.text);
  await decide(project, second, "deny");
  assert.equal((await other).decision.behavior, "deny");
});

test("a rule of the session decides what its Claude Code asks for next, and ends with the session", async (t) => {
  const project = await hosted(t), claude = await Claude.started(project);
  const writes = (name) => claude.fire(claude.session, "PermissionRequest", { tool_name: "Write", tool_input: { file_path: project.path(name), content: "two\n" } }, "Write");
  const rules = async () => (await project.get("/approval-rules")).json.rules;
  const first = writes("a.txt");
  const approval = await pending(project);
  await decide(project, approval, "approve", { for: "session", covers: ["*.txt"] });
  assert.deepEqual(await first, allow);
  const [{ id }] = await rules();
  assert.deepEqual(await writes("b.txt"), allow, "nobody is asked");
  const decided = (await project.get("/approvals?limit=10")).json.approvals.at(-1);
  assert.deepEqual([decided.decided_by, decided.rule], ["rule", id]);
  const other = writes("c.md");
  await decide(project, await pending(project), "deny");
  assert.equal((await other).decision.behavior, "deny");
  await claude.fire(claude.session, "SessionEnd", { reason: "other" });
  await waitFor(async () => (await rules()).length === 0, { what: "the rule ends" });
});

test("a file that changes between the approval and its answer is asked for anew", async (t) => {
  const project = await hosted(t), claude = await Claude.started(project);
  writeFileSync(project.path("a.txt"), "one\n");
  const hook = claude.fire(claude.session, "PermissionRequest", { tool_name: "Write", tool_input: { file_path: project.path("a.txt"), content: "two\n" } }, "Write");
  const approval = await pending(project);
  assert.deepEqual([approval.preview.kind, approval.reversible], ["diff", true]);
  writeFileSync(project.path("a.txt"), "three\n");
  const vain = await project.post(`/approvals/${approval.id}/approve`, {});
  assert.equal(vain.status, 409, vain.text);
  assert.match(vain.text, /was not used: withdrawn: something changed after it was approved: .*a\.txt/);
  const again = await pending(project, approval.id);
  assert.deepEqual([(await shown(project, approval.id)).status, again.replaces], ["withdrawn", approval.id]);
  assert.match(again.preview.text, /-three/);
  await decide(project, again, "approve");
  assert.deepEqual(await hook, allow);
});

for (const [event, more] of [["PostToolUse", { ...shell("make"), tool_use_id: "toolu_1" }], ["Stop", { stop_hook_active: false }], ["UserPromptSubmit", { prompt: "go on" }]])
  test(`an answer in Claude Code's own dialog withdraws ours at the next ${event}`, async (t) => {
    const project = await hosted(t), claude = await Claude.started(project);
    const hook = asks(claude, "make");
    const approval = await pending(project);
    await claude.fire(claude.session, event, more, more.tool_name);
    assert.deepEqual(await hook, {}, "its host has decided");
    const { status, outcome } = await shown(project, approval.id);
    assert.deepEqual([status, /answered in its own dialog/.test(outcome)], ["withdrawn", true], outcome);
    assert.equal((await project.post(`/approvals/${approval.id}/approve`, { confirm: approval.id })).status, 409);
  });

test("of two that wait at once, and of a subagent's, only the one that was answered is withdrawn", async (t) => {
  const project = await hosted(t), claude = await Claude.started(project);
  const one = asks(claude, "make a");
  const first = await pending(project);
  const two = asks(claude, "make b");
  const second = await pending(project, first.id);
  const three = claude.fire(claude.session, "PermissionRequest", { ...shell("make c"), agent_id: "s1", agent_type: "Explore" }, "Bash");
  const third = await pending(project, first.id, second.id);
  await claude.fire(claude.session, "PostToolUse", { ...shell("make a"), tool_use_id: "toolu_1" }, "Bash");
  assert.deepEqual(await one, {});
  assert.deepEqual([(await shown(project, second.id)).status, (await shown(project, third.id)).status], ["pending", "pending"]);
  await decide(project, second, "approve");
  await decide(project, third, "approve");
  assert.deepEqual([await two, await three], [allow, allow]);
});

test("the decision arrives through kill -9 of the daemon, and nobody is asked twice", async (t) => {
  const project = await hosted(t), claude = await Claude.started(project);
  const hook = asks(claude, "make");
  const approval = await pending(project);
  await project.killDaemon();
  await project.startDaemon();
  assert.equal((await shown(project, approval.id)).status, "pending");
  await decide(project, approval, "approve");
  assert.deepEqual(await hook, allow);
  assert.equal((await project.get("/approvals")).json.approvals.length, 1);
});

test("what expires is left to the program's own dialog; so is everything where no daemon runs, and none is started", async (t) => {
  const project = await hosted(t, { user_config: "approvals: {timeout: 2s}\n" }), claude = await Claude.started(project);
  assert.deepEqual(await asks(claude, "make"), {});
  const [late] = (await project.get("/approvals")).json.approvals;
  assert.deepEqual([late.status, /nobody answered/.test(late.outcome)], ["expired", true]);
  assert.equal((await project.cru("daemon", "stop")).code, 0);
  assert.deepEqual(await asks(claude, "make"), {});
  assert.ok(!existsSync(project.path(".coven/covend.sock")), "it is still down");
});

test("a Claude Code that is killed while it asks takes its question with it", async (t) => {
  const project = await hosted(t), claude = await Claude.started(project);
  // Nobody waits for what it will say.
  const [hook] = claude.commands("PermissionRequest", "Bash");
  claude.child.stdin.write(`${JSON.stringify({ id: 0, hook, input: { session_id: claude.session, cwd: project.root, hook_event_name: "PermissionRequest", ...shell("make") } })}\n`);
  const approval = await pending(project);
  await claude.kill();
  await becomes(project, approval, "withdrawn");
});

test("Codex asks by its hook, and is answered without an input of its own", async (t) => {
  const project = await hosted(t), codex = await Codex.started(project), thread = await codex.thread();
  const patch = "*** Begin Patch\n*** Add File: new.txt\n+new\n*** End Patch";
  const hook = codex.fire(thread.session, "PermissionRequest", { tool_name: "apply_patch", tool_input: { command: patch }, turn_id: "t1", model: "gpt-5.5", permission_mode: "default" }, "apply_patch");
  const approval = await pending(project);
  assert.deepEqual([approval.agent, approval.tool, approval.what, approval.reversible], ["codex-1", "apply_patch", "patch new.txt", true]);
  assert.match(approval.preview.text, /\+new/);
  await decide(project, approval, "approve");
  assert.deepEqual(await hook, allow);
});

test("any client asks with request_approval, is asked back, and is told the decision; its end withdraws what waits", async (t) => {
  const project = await hosted(t), client = await stdioClient(project, t, { env: { AGENT_ID: "ann" } });
  const call = async (args, options) => replyOf(await client.callTool({ name: "request_approval", arguments: args }, undefined, { timeout: patience, ...options }));
  const first = await call({ action: "deploy 1.2 to production", reason: "the tests pass", wait_seconds: 0 });
  assert.deepEqual([first.status, first.approved], ["pending", false]);
  const approval = await shown(project, first.approval_id);
  assert.deepEqual([approval.agent, approval.reason, approval.via, approval.preview.text, approval.reversible], ["ann", "the tests pass", "client", "deploy 1.2 to production\n", false]);
  const waits = call({ approval_id: first.approval_id, wait_seconds: 600 });
  await decide(project, approval, "ask", { question: "is it a Friday?" });
  const asked = await waits;
  assert.deepEqual([asked.status, asked.question], ["asking", "is it a Friday?"]);
  const goes_on = call({ approval_id: first.approval_id, answer: "no", wait_seconds: 600 });
  await waitFor(async () => (await shown(project, first.approval_id)).context[0].answer === "no", { what: "the answer is there" });
  await decide(project, approval, "approve");
  assert.deepEqual([(await goes_on).status, (await goes_on).approved], ["approved", true]);
  const last = await call({ action: "drop the table", wait_seconds: 0 });
  await client.close();
  await becomes(project, { id: last.approval_id }, "withdrawn");
});
