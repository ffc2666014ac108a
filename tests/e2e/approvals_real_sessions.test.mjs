// The real Claude Code and Codex at a terminal, offline, which ask their user: the approval decides, or their own dialog does.
// And the real Claude Code as an agent's mind. Needs CRU_TEST_CLAUDE and CRU_TEST_CODEX.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { codex_bin } from "./harness/codex.mjs";
import { Crew } from "./harness/crew.mjs";
import { AtTerminal, claude_bin, needs_claude, needs_codex, plannedModel, realProject, settleClaude } from "./harness/real_clients.mjs";
import { with_cru } from "./harness/standin.mjs";

const shown = async (project, id) => (await project.get(`/approvals/${id}`)).json;
const pending = async (project, ...than) => {
  const one = await waitFor(async () => (await project.get("/approvals?pending=true")).json.approvals.find(({ id }) => !than.includes(id)), { what: "an approval waits" });
  return shown(project, one.id);
};
const decide = async (project, id, verb, body = {}) => {
  const { status, text } = await project.post(`/approvals/${id}/${verb}`, verb === "approve" ? { confirm: id } : body);
  assert.equal(status, 200, text);
};
const told = (model) => JSON.stringify(model.requests.map(({ results }) => results));
const screen = (terminal) => terminal.child.text.stdout.replace(/\x1b\[[0-9;?]*[a-zA-Z]/g, "").replace(/\s+/g, "");

/// A project in which Claude Code asks, as it does for people.
async function asking(t, plans) {
  const model = await plannedModel(plans, t), project = await realProject(t, model, { bin: [dirname(claude_bin), ...with_cru.bin] });
  const settings = join(project.home, ".claude/settings.json");
  writeFileSync(settings, readFileSync(settings, "utf8").replace('"bypassPermissions"', '"default"'));
  return { project, model };
}

test("the real Claude Code at a terminal: approved and denied from elsewhere, its dialog goes away by itself", needs_claude, async (t) => {
  const plans = {}, { project, model } = await asking(t, plans);
  plans.work = [
    { tools: [{ name: "Write", input: { file_path: project.path("made.txt"), content: "made\n" } }] },
    { tools: [{ name: "Bash", input: { command: "touch ran.txt", description: "Makes a file" } }] },
    { text: "all done" },
  ];
  const claude = new AtTerminal(project, claude_bin, "PLAN work");
  const write = await pending(project);
  assert.deepEqual([write.tool, write.agent, write.via, write.preview.kind, write.reversible], ["Write", "claude-1", "hook", "diff", true]);
  await waitFor(() => /Doyouwantto/.test(screen(claude)), { what: "its own dialog is shown meanwhile" });
  await decide(project, write.id, "approve");
  const shell = await pending(project, write.id);
  assert.equal(readFileSync(project.path("made.txt"), "utf8"), "made\n");
  assert.deepEqual([shell.tool, shell.reversible], ["Bash", false]);
  await decide(project, shell.id, "deny", { reason: "no shell today" });
  await waitFor(() => /no shell today/.test(told(model)), { what: "the model hears the reason" });
  assert.ok(!existsSync(project.path("ran.txt")));
  await claude.say("/exit", () => claude.child.exitCode !== null);
});

test("the real Claude Code at a terminal carries out what a person has changed", needs_claude, async (t) => {
  const plans = {}, { project } = await asking(t, plans);
  plans.work = [{ tools: [{ name: "Bash", input: { command: "touch ran.txt", description: "Makes a file" } }] }, { text: "all done" }];
  const claude = new AtTerminal(project, claude_bin, "PLAN work");
  const { id } = await pending(project);
  const { status, text } = await project.post(`/approvals/${id}/approve`, { confirm: id, set: { command: "touch other.txt" } });
  assert.equal(status, 200, text);
  await waitFor(() => existsSync(project.path("other.txt")), { what: "the changed command has run" });
  assert.ok(!existsSync(project.path("ran.txt")));
  await claude.say("/exit", () => claude.child.exitCode !== null);
});

test("the real Claude Code at a terminal: an answer in its own dialog withdraws ours", needs_claude, async (t) => {
  const plans = {}, { project } = await asking(t, plans);
  plans.work = [{ tools: [{ name: "Bash", input: { command: "touch ran.txt", description: "Makes a file" } }] }, { text: "all done" }];
  const claude = new AtTerminal(project, claude_bin, "PLAN work");
  const { id } = await pending(project);
  await waitFor(() => /Doyouwantto/.test(screen(claude)), { what: "its own dialog is shown" });
  await waitFor(() => { if (!existsSync(project.path("ran.txt"))) claude.child.stdin.write("1"); return existsSync(project.path("ran.txt")); }, { every: 2000, what: "the first option is taken" });
  await waitFor(async () => (await shown(project, id)).status === "withdrawn", { what: "ours is withdrawn" });
  assert.match((await shown(project, id)).outcome, /answered in its own dialog/);
  await claude.say("/exit", () => claude.child.exitCode !== null);
});

test("the real Codex at a terminal: a command is approved, a patch is denied with a reason", needs_codex, async (t) => {
  const plans = {}, model = await plannedModel(plans, t), project = await realProject(t, model);
  plans.work = [
    { tools: [{ name: "exec_command", input: { cmd: "touch ran.txt", sandbox_permissions: "require_escalated", justification: "to see" } }] },
    { tools: [{ name: "apply_patch", input: "*** Begin Patch\n*** Add File: made.txt\n+by codex\n*** End Patch" }] },
    { text: "all done" },
  ];
  const codex = new AtTerminal(project, codex_bin, "--sandbox", "read-only", "--ask-for-approval", "on-request", "--dangerously-bypass-hook-trust", "PLAN work");
  const shell = await pending(project);
  assert.deepEqual([shell.tool, shell.agent, shell.via, shell.what], ["Bash", "codex-1", "hook", "run touch ran.txt"]);
  await waitFor(() => /waitingforyourapproval/.test(screen(codex)), { what: "Codex says that it waits" });
  await decide(project, shell.id, "approve");
  const patch = await pending(project, shell.id);
  assert.ok(existsSync(project.path("ran.txt")), told(model));
  assert.deepEqual([patch.tool, patch.what, patch.reversible], ["apply_patch", "patch made.txt", true]);
  await decide(project, patch.id, "deny", { reason: "no patches today" });
  await waitFor(() => /no patches today/.test(told(model)), { what: "the model hears the reason" });
  assert.ok(!existsSync(project.path("made.txt")));
  await codex.say("/exit", () => codex.child.exitCode !== null);
});

test("the real codex exec that is told to ask: what expires is denied", needs_codex, async (t) => {
  const plans = {}, model = await plannedModel(plans, t), project = await realProject(t, model, { user_config: "confine: off\napprovals: {timeout: 3s}\n" });
  plans.work = [{ tools: [{ name: "apply_patch", input: "*** Begin Patch\n*** Add File: made.txt\n+by codex\n*** End Patch" }] }, { text: "all done" }];
  const passed = Object.keys(project.real_env).flatMap((name) => ["--env", name]);
  const words = ["sh", "-c", `exec ${codex_bin} exec --json --sandbox read-only -c 'approvals_reviewer="auto_review"' -c 'approval_policy="on-request"' --dangerously-bypass-hook-trust 'PLAN work' </dev/null`];
  const { code, stdout, stderr } = await project.cru("run", "--id", "cx", "--detach", ...passed, "--", ...words, { env: project.real_env });
  assert.equal(code, 0, stdout + stderr);
  await project.ended("cx");
  const [late] = (await project.get("/approvals")).json.approvals;
  assert.deepEqual([late.status, late.tool, late.task_id], ["expired", "apply_patch", "cx"], told(model));
  assert.match(told(model), /nobody answered/);
  assert.ok(!existsSync(project.path("made.txt")));
});

test("the real Claude Code as an agent's mind asks for what its definition names, in the name of the agent", needs_claude, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "cru-e2e-claude-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(realpathSync(claude_bin), join(folder, "claude"));
  const plans = {}, model = await plannedModel(plans, t);
  const crew = new Crew({ bin: [folder], models: { sonnet: { provider: "claude", id: "sonnet" } }, agents: { careful: { permissions: ["FilesystemRead", "FilesystemWrite", "NetworkAccess", "ProcessSpawn"], requires_approval: ["FilesystemWrite"], prompt: "You are careful." } } });
  t.after(() => crew.close());
  Object.assign(crew.env, settleClaude(crew, model));
  await crew.startDaemon();
  crew.write("README.md", "hello\n");
  plans.work = [
    { tools: [{ name: "Read", input: { file_path: crew.path("README.md") } }] },
    { tools: [{ name: "Write", input: { file_path: crew.path("made.txt"), content: "made\n" } }] },
    { tools: [{ name: "Bash", input: { command: "touch ran.txt", description: "x" } }] },
    { text: "all done" },
  ];
  const chat = await crew.chat({ agent: "careful", message: "PLAN work", permissions: ["all"] }, { wait: false });
  const write = await pending(crew);
  assert.deepEqual([write.tool, write.agent, write.chat_id, write.via, write.preview.kind], ["Write", "careful", chat.id, "question", "diff"]);
  await decide(crew, write.id, "approve");
  const shell = await pending(crew, write.id);
  assert.equal(readFileSync(crew.path("made.txt"), "utf8"), "made\n");
  assert.equal(shell.tool, "Bash");
  await decide(crew, shell.id, "deny", { reason: "no shell today" });
  await chat.idle();
  assert.equal(await chat.answer(), "all done");
  assert.ok(!existsSync(crew.path("ran.txt")));
  assert.match(told(model), /no shell today/);
});
