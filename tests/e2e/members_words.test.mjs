// What people read about members: the badge by what hooks tell, the README's sample, names that cannot be, terminals that
// outlived their agent, and whose handoff it is.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Project, waitFor } from "./harness.mjs";
import { repository } from "./harness/basics.mjs";
import { Claude, claudeThatSays, hostedProject } from "./harness/hosts.mjs";
import { stdioClient, use } from "./harness/mcp.mjs";
import { with_cru } from "./harness/standin.mjs";

const memberOf = async (project, name) => (await project.get("/crew?all=true")).json.crew.find((member) => member.name === name);
const badgeOf = async (project, name) => {
  const { badge, evidence, doing } = await memberOf(project, name);
  return [badge, evidence, doing];
};
const ok = async (project, ...argv) => {
  const { code, stdout, stderr } = await project.cru(...argv);
  assert.equal(code, 0, stdout + stderr);
  return stdout;
};
/// The cells of a table: what is behind a heading, by row.
function rowsOf(table) {
  const [head, ...lines] = table.trimEnd().split("\n");
  const columns = [...head.matchAll(/\S+(?: \S+)*/g)].map(({ 0: name, index }) => ({ name, index }));
  return lines.map((line) => Object.fromEntries(columns.map(({ name, index }, i) => [name, line.slice(index, columns[i + 1]?.index).trim()])));
}

test("the badge of a Claude is what its hooks say, across a restart too", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  const tool = { tool_name: "Bash", tool_input: { command: "make" }, tool_use_id: "toolu_1" };
  const steps = [
    [() => {}, ["idle", "waiting for a prompt", null]],
    [() => claude.fire(claude.session, "UserPromptSubmit", { prompt: "mend it" }), ["thinking", "working on a prompt", null]],
    [() => claude.fire(claude.session, "PreToolUse", tool, "Bash"), ["using a tool", "Bash", "Bash"]],
    [() => project.restartDaemon(), ["using a tool", "Bash", "Bash"]],
    [() => claude.fire(claude.session, "PostToolUse", tool), ["thinking", "after Bash", "Bash"]],
    [() => claude.edit("a.txt"), ["using a tool", "Write", "Write"]],
    [() => claude.fire(claude.session, "Stop"), ["idle", "waiting for a prompt", null]],
  ];
  for (const [act, badge] of steps) {
    await act();
    assert.deepEqual(await badgeOf(project, "claude-1"), badge, String(act));
  }
  assert.equal(rowsOf(await ok(project, "peers"))[0].BADGE, "idle");
  assert.equal(rowsOf(await ok(project, "crew"))[0].BADGE, "idle");
});

test("a Claude that waits for its user needs you, its subagents are shown, and so is a turn that failed", async (t) => {
  const project = await hostedProject(t, { bin: [claudeThatSays(t, "2.1.197"), ...with_cru.bin] });
  const claude = await Claude.started(project);
  const permission = { tool_name: "Bash", tool_input: { command: "rm -r build" }, permission_suggestions: [] };
  const asks = "asked: approval A-1: run rm -r build", doing = "permission to use Bash: rm -r build";
  const steps = [
    ["UserPromptSubmit", { prompt: "mend it" }, ["thinking", "working on a prompt", null]],
    ["SubagentStart", { agent_id: "a1", agent_type: "Explore" }, ["using a tool", "subagent Explore", "subagent Explore"]],
    ["SubagentStop", { agent_id: "a1", agent_type: "Explore", stop_hook_active: false, agent_transcript_path: "/t" }, ["thinking", "after subagent Explore", "subagent Explore"]],
    ["PermissionRequest", permission, ["needs you", asks, doing]],
    ["Notification", { message: "Claude needs your permission to use Bash", notification_type: "permission_prompt" }, ["needs you", asks, doing]],
    ["PostToolUse", { tool_name: "Bash", tool_input: permission.tool_input, tool_use_id: "toolu_1" }, ["thinking", "after Bash", "Bash"]],
    ["StopFailure", { error: "rate_limit", last_assistant_message: "API Error: 429" }, ["failed", "rate_limit: API Error: 429", "rate_limit: API Error: 429"]],
    ["Notification", { message: "Claude is waiting for your input", notification_type: "idle_prompt" }, ["idle", "waiting for a prompt", null]],
  ];
  const waiting = [];
  for (const [event, input, badge] of steps) {
    const fired = claude.fire(claude.session, event, input);
    // One that asks for permission waits for it; what follows says that the user has answered in Claude Code itself.
    if (event === "PermissionRequest") {
      waiting.push(fired);
      await waitFor(async () => (await project.get("/approvals?pending=true")).json.approvals.length === 1, { what: "it waits" });
    } else {
      assert.deepEqual(await fired, {}, `${event}: its host decides`);
    }
    assert.deepEqual(await badgeOf(project, "claude-1"), badge, event);
  }
  assert.deepEqual(await Promise.all(waiting), [{}], "its host decides");
});

test("an older Claude, or one that is not found, gets no hook that it does not know", async (t) => {
  for (const [bin, has] of [[[claudeThatSays(t, "2.0.44")], ["Notification", "SubagentStart", "SubagentStop"]], [[], []]]) {
    const project = await hostedProject(t, { bin: [...bin, ...with_cru.bin] });
    const { hooks } = JSON.parse(readFileSync(project.path(".claude/settings.json"), "utf8"));
    const further = ["Notification", "PermissionRequest", "StopFailure", "SubagentStart", "SubagentStop"].filter((event) => event in hooks);
    assert.deepEqual(further, has);
    assert.match(await ok(project, "hooks", "status"), /installed/);
    assert.doesNotMatch(await ok(project, "hooks", "status"), /partly/);
  }
});

test("an MCP client is idle until it calls, and who ran a single command is idle", async (t) => {
  const project = await Project.started({}, t);
  await ok(project, "locks", "acquire", "a.txt", { env: { AGENT_ID: "ada" } });
  assert.equal((await memberOf(project, "ada")).badge, "idle");
  const client = await stdioClient(project, t, { env: { AGENT_ID: "bob" } });
  await use(client, "acquire_lock", { file_path: "b.txt" });
  assert.equal((await memberOf(project, "bob")).badge, "thinking");
});

test("the README's sample of coordination is what is shown", async (t) => {
  const readme = readFileSync(join(repository, "README.md"), "utf8");
  const sample = readme.match(/```\n(\$ cru work submit [^]*?)```/)[1];
  const project = await Project.started({ git: true, ...with_cru }, t);
  writeFileSync(project.path("nightly.sh"), "#!/bin/sh\necho '::cru-ask {\"prompt\":\"Continue?\"}'\nread answer\n", { mode: 0o755 });
  await ok(project, "run", "--id", "nightly", "--detach", "--", "./nightly.sh");
  await project.pendingQuestion("nightly");
  // What is made up anew each time.
  const plain = (text) => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME").replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID").replace(/ +/g, " ").trim();
  for (const [, line, shown] of sample.matchAll(/^\$ (.*)\n((?:[^$].*\n)*)/gm)) {
    const { stdout, stderr } = await project.spawn(["-c", line], { argv0: "/bin/bash", env: { USER: "ann" } }).ended;
    if (shown) assert.equal(plain(stdout), plain(shown), `${line}\n${stdout}${stderr}`);
  }
});

test("a name that cannot be is left out: the locks of others hold all the same, and it is said", async (t) => {
  const project = await hostedProject(t);
  const first = await Claude.started(project);
  await first.call("acquire_lock", { file_path: "x.txt" });
  const odd = await Claude.started(project, { AGENT_ID: "my agent" });
  assert.match(odd.context, /^You are agent claude-2 .*\nAGENT_ID='my agent' cannot be an agent's name: a name has 1 to 128 characters/);
  assert.match(await odd.edit("x.txt"), /locked by agent claude-1|claude-1/);
  await odd.call("acquire_lock", { file_path: "y.txt" });
  assert.equal((await memberOf(project, "claude-2")).badge !== "done", true);
  const { checks } = JSON.parse((await project.cru("doctor", "--json")).stdout);
  assert.match(checks.find(({ name }) => name === "AGENT_ID").message, /my agent/);
  for (const name of ["-", ".", "..", "x".repeat(200)]) {
    const { code, stderr } = await project.cru("locks", "acquire", "z.txt", { env: { AGENT_ID: name } });
    assert.notEqual(code, 0);
    assert.match(stderr, /AGENT_ID=\S+ cannot be an agent's name.*unset AGENT_ID/s, name);
  }
});

test("a terminal with the session id of a Claude that has ended can read, and is told what to type", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  await claude.call("acquire_lock", { file_path: "x.txt" });
  const { session } = claude;
  await claude.quit();
  const env = { CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: session };
  for (const words of [["locks", "list"], ["peers"], ["crew"], ["work", "list"], ["handoffs", "list"], ["handoffs", "show"], ["memory", "recall", "x"], ["guardrails", "ls"]]) await ok(project, ...words, { env });
  const { code, stderr } = await project.cru("locks", "acquire", "mine.txt", { env });
  if (code === 0) return;  // whoever has no agent above it may be itself
  assert.match(stderr, /unset CLAUDECODE CLAUDE_CODE_SESSION_ID/);
  assert.doesNotMatch(stderr, /register_session/);
});

test("the handoff of another agent of one's type is told as its own, and each is listed once", async (t) => {
  const project = await hostedProject(t);
  const first = await Claude.started(project);
  await first.call("write_handoff", { summary: "the parser is half done\n\nnumbers are next" });
  await first.quit("other");
  const second = await Claude.started(project);
  assert.match(second.context, /The last handoff of claude_code agents, written by claude-1 at /);
  assert.match(second.context, /; ended normally\./);
  await second.quit("other");
  await waitFor(async () => (await project.get("/handoffs")).json.handoffs.length === 3, { what: "three handoffs" });
  const listed = rowsOf(await ok(project, "handoffs", "list"));
  assert.deepEqual(listed.map((row) => [row["WRITTEN BY"], row.KIND, row.SUMMARY]), [
    ["claude-2", "empty", "Worked less than a minute; touched no files; ended normally."],
    ["claude-1", "final", "the parser is half done"],
  ]);
});

test("a question says whom it is from", async (t) => {
  const project = await hostedProject(t);
  const claude = await Claude.started(project);
  const asked = claude.call("ask_user", { prompt: "Ship?", wait_seconds: 50 });
  await waitFor(async () => (await project.get("/questions?pending=true")).json.questions.length === 1, { what: "it is asked" });
  const [row] = rowsOf(await ok(project, "questions"));
  assert.deepEqual([row.FROM, row.PROMPT], ["claude-1", "Ship?"]);
  const [{ id }] = (await project.get("/questions?pending=true")).json.questions;
  await project.answer(id, "yes");
  await asked;
});
