// What Claude Code asks permission for in a run is an approval: decided there or as a question, once, and handed to the program.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { here, Project, waitFor } from "./harness.mjs";
import { cast, filed, report, served, spawning, told } from "./harness/cast.mjs";
import { Crew } from "./harness/crew.mjs";

const pending = async (project) => (await project.get("/approvals?pending=true")).json.approvals;

/// A run of the stand-in that has had its question answered and now asks for a shell; the approval of that.
async function asking(t, options = {}) {
  const project = await Project.started({ bin: [join(here, "fixtures/bin")], ...options }, t);
  project.spawn(["run", "--backend", "claude", "--id", "cc", "a question and a shell"]);
  await project.answer((await project.pendingQuestion("cc")).id, "SQLite");
  const one = await waitFor(async () => (await pending(project))[0], { what: "an approval waits" });
  const question = (await project.questions("?task_id=cc&pending=true")).find(({ kind }) => kind === "permission");
  return { project, question, approval: (await project.get(`/approvals/${one.id}`)).json };
}
/// What the program was answered to its request for a shell.
async function answered(project) {
  const ended = await project.ended("cc");
  assert.equal(ended.status, "completed", JSON.stringify(ended));
  return (await project.output("cc")).map(({ data }) => JSON.parse(data)).filter(({ type }) => type === "assistant").map(({ message }) => message.content[0].text)
    .filter((text) => text.startsWith("answered ")).map((text) => JSON.parse(text.slice(9)).response.response)[1];
}
const status = async (project, { id }) => (await project.get(`/approvals/${id}`)).json.status;

test("a permission request of a run is an approval that shows the command, and is handed on when a person decides", async (t) => {
  const { project, approval } = await asking(t);
  assert.deepEqual([approval.tool, approval.agent, approval.task_id, approval.checked, approval.reversible], ["Bash", "cc", "cc", "at answer", false]);
  assert.match(approval.preview.text, /^in \/.*\nnot covered: the programs .*\n\$ .*touch SHOULD_NOT_EXIST/);
  assert.notEqual((await project.cru("approvals", "approve", approval.id)).code, 0, "it cannot be undone");
  assert.equal((await project.post(`/approvals/${approval.id}/ask`, { question: "why?" })).status, 409);
  assert.equal((await project.cru("approvals", "approve", approval.id, "--confirm", approval.id)).code, 0);
  assert.equal((await answered(project)).behavior, "allow");
  const over = (await project.get(`/approvals/${approval.id}`)).json;
  assert.deepEqual([over.status, typeof over.used_at], ["approved", "string"]);
});

test("a denial reaches the program with its reason, through kill -9", async (t) => {
  const { project, approval } = await asking(t);
  assert.equal((await project.post(`/approvals/${approval.id}/deny`, { reason: "no shell today" })).status, 200);
  await project.killDaemon();
  await project.startDaemon();
  assert.deepEqual(await answered(project), { behavior: "deny", message: "no shell today" });
  assert.equal(await status(project, approval), "denied");
  assert.equal((await project.get("/approvals")).json.approvals.length, 1);
});

test("approved with changes: the program of a run gets the input as the person changed it, through kill -9", async (t) => {
  const { project, approval } = await asking(t);
  const refused = await project.cru("approvals", "approve", approval.id, "--confirm", approval.id, "--set", "comand=touch other.txt");
  assert.match(refused.stderr, /comand is not a field of this action/);
  const { code, stdout, stderr } = await project.cru("approvals", "approve", approval.id, "--confirm", approval.id, "--set", "command=touch other.txt");
  assert.equal(code, 0, stdout + stderr);
  await project.killDaemon();
  await project.startDaemon();
  const { behavior, updatedInput } = await answered(project);
  assert.deepEqual([behavior, updatedInput.command], ["allow", "touch other.txt"]);
  const over = (await project.get(`/approvals/${approval.id}`)).json;
  assert.deepEqual([over.outcome, over.changes.map(({ field }) => field), typeof over.used_at], ["approved by a person with changes", ["command"], "string"]);
});

test("to allow it as a question is to approve it: what cannot be undone needs its id, at every door", async (t) => {
  const { project, approval, question } = await asking(t);
  const verb = await project.cru("questions", "answer", question.id, "allow");
  assert.notEqual(verb.code, 0);
  assert.match(verb.stdout + verb.stderr, new RegExp(`can(?:not)? be undone[^]*cru approvals approve ${approval.id} --confirm ${approval.id}`));
  for (const [path, body] of [[`/questions/${question.id}/answer`, { answer: "allow" }], [`/questions/${question.id}/answer`, { answers: ["1"] }], ["/agents/cc/respond", { response: "ALLOW" }]]) {
    const { status, text } = await project.post(path, body);
    assert.equal(status, 400, text);
    assert.match(text, /can(?:not)? be undone/);
  }
  assert.equal(await status(project, approval), "pending");
  assert.equal((await project.questions(`?task_id=cc&pending=true`)).length, 1, "nothing was answered");
  assert.equal((await project.cru("approvals", "approve", approval.id, "--confirm", approval.id)).code, 0);
  assert.equal((await answered(project)).behavior, "allow");
});

test("what can be undone is allowed as a question, and that decides the approval", async (t) => {
  const { project, approval, question } = await asking(t, { user_config: "approvals: {rules: [{action: Bash, can_be_undone: true}]}\n" });
  const { code, stdout, stderr } = await project.cru("questions", "answer", question.id, "allow");
  assert.equal(code, 0, stdout + stderr);
  assert.equal((await answered(project)).behavior, "allow");
  const over = (await project.get(`/approvals/${approval.id}`)).json;
  assert.deepEqual([over.status, over.decided_by, typeof over.used_at], ["approved", "person", "string"]);
});

test("whoever denies it as a question has decided the approval", async (t) => {
  const { project, approval, question } = await asking(t);
  assert.equal((await project.answer(question.id, "deny: not so")).json.delivered, true);
  await waitFor(async () => (await status(project, approval)) === "denied", { what: "the approval follows" });
  assert.equal((await project.get(`/approvals/${approval.id}`)).json.decision_reason, "not so");
  assert.equal((await project.post(`/approvals/${approval.id}/approve`, { confirm: approval.id })).status, 409);
  assert.equal((await answered(project)).behavior, "deny");
});

test("the end of the run withdraws it, and a timeout is told as one", async (t) => {
  const { project, approval } = await asking(t);
  await project.post("/agents/cc/kill");
  await waitFor(async () => (await status(project, approval)) === "withdrawn", { what: "the approval follows" });
  const { project: other, approval: late } = await asking(t, { user_config: "approvals: {timeout: 2s}\n" });
  const { behavior, message } = await answered(other);
  assert.equal(behavior, "deny");
  assert.match(message, /^expired: nobody answered within/);
  assert.equal(await status(other, late), "expired");
});

/// A chat with an agent that thinks with the stand-in for claude and does these steps.
async function careful(t, steps, requires_approval = ["FilesystemWrite"]) {
  const crew = await Crew.started({ standin: { replies: [{ when: "do it", steps }] }, models: { sonnet: { provider: "claude", id: "model-1" } },
    agents: { careful: { permissions: ["FilesystemRead", "FilesystemWrite", "NetworkAccess", "ProcessSpawn", "DatabaseWrite"], requires_approval, prompt: "You are careful." } } }, t);
  const chat = await crew.chat({ agent: "careful", message: "do it", permissions: ["all"] }, { wait: false });
  const next = async (...than) => {
    const one = await waitFor(async () => (await pending(crew)).find(({ id }) => !than.includes(id)), { what: "an approval waits" });
    return (await crew.get(`/approvals/${one.id}`)).json;
  };
  return { crew, chat, next };
}

test("an agent whose mind is claude asks for what its definition names, and for nothing else", async (t) => {
  const { crew, chat, next } = await careful(t, [
    { tool: "Read", input: { file_path: "README.md" } }, { call: "acquire_lock", input: { file_path: "a" } },
    { tool: "Write", input: { file_path: "made.txt", content: "made\n" } }, { tool: "Bash", input: { command: "touch ran.txt" } }, { say: "Done: {{result}}" }]);
  const write = await next();
  assert.deepEqual([write.tool, write.agent, write.parent_chain, write.chat_id, write.via, write.checked], ["Write", "careful", ["user", "careful"], chat.id, "question", "at answer"]);
  for (const [path, body, why] of [["approve", { set: { contents: "other" } }, /is not a field of this action/], ["ask", { question: "why?" }, /cannot be asked/]]) {
    const refused = await crew.post(`/approvals/${write.id}/${path}`, body);
    assert.ok(refused.status === 400 || refused.status === 409, refused.text);
    assert.match(refused.text, why);
  }
  await crew.must(200, crew.post(`/approvals/${write.id}/approve`, { set: { content: "other\n" } }));
  const shell = await next(write.id);
  assert.equal(shell.tool, "Bash", "a shell could write, too");
  assert.equal(readFileSync(crew.path("made.txt"), "utf8"), "other\n", "as it was approved");
  assert.equal((await crew.post(`/approvals/${shell.id}/deny`, { reason: "not today" })).status, 200);
  await chat.idle();
  assert.match(await chat.answer(), /^Done: not today/);
  assert.ok(!existsSync(crew.path("ran.txt")));
  assert.deepEqual((await crew.get("/approvals")).json.approvals.map(({ tool, status }) => [tool, status]), [["Write", "approved"], ["Bash", "denied"]]);
});

test("of our own tools too, and what is not decided in time is not done", async (t) => {
  const { crew, chat, next } = await careful(t, [{ call: "acquire_lock", input: { file_path: "a" } }, { say: "Done: {{result}}" }], ["DatabaseWrite"]);
  const lock = await next();
  assert.equal(lock.tool, "mcp__cru__acquire_lock");
  assert.deepEqual((await crew.get("/locks")).json.result, []);
  assert.equal((await crew.post(`/approvals/${lock.id}/deny`)).status, 200);
  await chat.idle();
  assert.match(await chat.answer(), /^Done: denied by a person/);
  assert.deepEqual((await crew.get("/locks")).json.result, []);
});

/// A primary that has its work done by a subagent whose mind is the stand-in for claude, which does these steps.
const delegating = (t, steps, settings = {}) => cast(t, { assistant: [{ text: "I ask.", tools: [spawning("worker", "write it", { permissions: ["FilesystemWrite"] })] }, { text: "I see." }] }, {
  standin: { replies: [{ when: "write it", steps }] }, settings, models: { sonnet: served(), coder: { provider: "claude", id: "model-1" } },
  agents: { worker: { model: "coder", permissions: ["FilesystemRead", "FilesystemWrite"], requires_approval: ["FilesystemWrite"] } } });
const nextOf = async (crew, ...than) => waitFor(async () => (await pending(crew)).find(({ id }) => !than.includes(id)), { what: "an approval waits" });

test("SA-55: what a subagent is denied whose mind is claude is in its file, and its primary hears of it", async (t) => {
  const { crew, asked } = await delegating(t, [{ tool: "Write", input: { file_path: "made.txt", content: "made\n" } }, { call: "request_approval", input: { action: "deploy it", reason: "it is late" } }, { say: report("Could not.") }]);
  const chat = await crew.chat({ message: "go", permissions: ["all"] }, { wait: false });
  const write = await nextOf(crew);
  await crew.must(200, crew.post(`/approvals/${write.id}/deny`, { reason: "not on a Friday" }));
  const deploy = await nextOf(crew, write.id);
  assert.equal(deploy.tool, "request_approval");
  await crew.must(200, crew.post(`/approvals/${deploy.id}/deny`, { reason: "never" }));
  await chat.idle();
  const [heard] = told(asked("assistant"));
  for (const line of [/A-1 create [^"]*made\.txt: denied by a person: not on a Friday/, /A-2 [^"]*deploy it: denied by a person: never/]) assert.match(heard.text, line);
  const { subagents: [note], metadata } = await filed(chat);
  assert.equal(note.front.approvals.length, 2, JSON.stringify(note.front));
  assert.deepEqual(metadata.approvals.map(({ status, reason, task_id }) => [status, reason, task_id]), [["denied", "not on a Friday", note.front.task_id], ["denied", "never", note.front.task_id]]);
  assert.match(readFileSync(`${chat.folder}/${note.name}.md`, "utf8"), /⚑ approval A-1 create [^]*denied by a person: not on a Friday/);
});

test("the delegation's time does not run while a program waits for an approval", async (t) => {
  const { crew } = await delegating(t, [{ call: "request_approval", input: { action: "deploy it", reason: "it is late" } }, { say: report("Deployed.") }], { crew: { delegation_timeout: "30s" } });
  const chat = await crew.chat({ message: "go", permissions: ["all"] }, { wait: false });
  const { id, requested_at } = await nextOf(crew);
  await waitFor(() => Date.now() - Date.parse(requested_at) > 32_000, { what: "more than its own time has passed" });
  await crew.must(200, crew.post(`/approvals/${id}/approve`, { confirm: id }));
  await chat.idle();
  assert.equal((await filed(chat)).subagents[0].front.status, "completed");
});

test("whoever denies as a question what was approved changes nothing: the program hears what the approval says", async (t) => {
  const { project, approval, question } = await asking(t);
  const [approved, denied] = await Promise.all([project.post(`/approvals/${approval.id}/approve`, { confirm: approval.id }), project.post(`/questions/${question.id}/answer`, { answer: "deny: no" })]);
  const { behavior } = await answered(project);
  const over = (await project.get(`/approvals/${approval.id}`)).json;
  assert.deepEqual([behavior, over.status, typeof over.used_at], approved.status === 200 ? ["allow", "approved", "string"] : ["deny", "denied", "object"], JSON.stringify([approved, denied]));
  assert.notEqual(approved.status === 200, denied.status === 200, "one of them was told that it counts");
});

test("a file that changes after the approval and before the hand-over: asked anew, and nothing is done with the old one", async (t) => {
  const { crew, chat, next } = await careful(t, [{ tool: "Write", input: { file_path: "made.txt", content: "made\n" } }, { say: "Done: {{result}}" }]);
  const first = await next();
  writeFileSync(crew.path("made.txt"), "somebody else's\n");
  const vain = await crew.must(409, crew.post(`/approvals/${first.id}/approve`));
  assert.match(JSON.stringify(vain), /was not used: withdrawn: something changed after it was approved/);
  const second = await next(first.id);
  assert.equal(second.replaces, first.id);
  const over = (await crew.get(`/approvals/${first.id}`)).json;
  assert.equal(over.status, "withdrawn");
  assert.match(over.decision_reason, /^something changed after it was approved: .*made\.txt/);
  assert.equal(readFileSync(crew.path("made.txt"), "utf8"), "somebody else's\n");
  await crew.must(200, crew.post(`/approvals/${second.id}/deny`, { reason: "keep theirs" }));
  await chat.idle();
  assert.equal(readFileSync(crew.path("made.txt"), "utf8"), "somebody else's\n");
});
