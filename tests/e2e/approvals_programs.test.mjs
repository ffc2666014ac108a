// What Claude Code asks permission for in a run is an approval: decided there or as a question, once, and handed to the program.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { here, Project, waitFor } from "./harness.mjs";

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
  assert.match(approval.preview.text, /^in \/.*\n\$ .*touch SHOULD_NOT_EXIST/);
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

test("whoever answers it as a question has decided the approval", async (t) => {
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
