// Question Handling: EX-10 … EX-12, as a user sees it (EX-13 is in retention.test.mjs, who may answer in authority.test.mjs).
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { codeOf, cru_bin, here, Project, waitFor } from "./harness.mjs";

const asking = 'echo \'::cru-ask {"prompt":"Which DB?","options":["SQLite","Postgres"]}\'; read answer; echo "got $answer"';

test("EX-10: a question is kept with its id, task, prompt, options and status", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("asker", asking);
  const question = await project.pendingQuestion("asker");
  assert.match(question.id, /^[A-Za-z0-9_-]{1,64}$/);
  assert.deepEqual([question.task_id, question.prompt, question.options, question.status, question.response],
    ["asker", "Which DB?", ["SQLite", "Postgres"], "pending", null]);
  await project.restartDaemon();
  const { asked_at: _a, ...again } = await project.pendingQuestion("asker");
  const { asked_at: _b, ...before } = question;
  assert.deepEqual(again, before);
  assert.equal((await project.questions("?task_id=asker")).length, 1, "asked once, kept once");
});

test("EX-11: pending questions are told again to whoever connects after a restart, and can be answered", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("waits", asking);
  const question = await project.pendingQuestion("waits");
  const old = project.stream();
  await waitFor(() => old.cursor !== null);
  await project.restartDaemon();
  const fresh = project.stream();
  for (const stream of [fresh, old]) {
    const told = await waitFor(() => stream.frames.find((frame) => frame.type === "agent.question" && frame.data.id === question.id && frame.id === null),
      { what: "the question is told again" });
    assert.equal(told.data.prompt, "Which DB?");
    assert.equal(told.id, null, "what is told again has no number");
  }
  const reply = await project.answer(question.id, "Postgres");
  assert.deepEqual([reply.status, reply.json.delivered], [200, true]);
  assert.equal((await project.ended("waits")).status, "completed");
  assert.equal((await project.output("waits")).at(-1).data, "got Postgres");
});

test("EX-12: an answer reaches the agent's stdin, is kept, and closes the question", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("one", asking);
  const question = await project.pendingQuestion("one");
  const reply = await project.answer(question.id, "SQLite");
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual([reply.json.question_id, reply.json.task_id, reply.json.status, reply.json.delivered], [question.id, "one", "answered", true]);
  assert.equal(typeof reply.json.message, "string");
  await project.ended("one");
  assert.equal((await project.output("one")).at(-1).data, "got SQLite");
  const kept = (await project.get(`/questions/${question.id}`)).json;
  assert.deepEqual([kept.status, kept.response, kept.delivered], ["answered", "SQLite", true]);
  await project.restartDaemon();
  assert.equal((await project.get(`/questions/${question.id}`)).json.response, "SQLite");
  const repeat = await project.post(`/questions/${question.id}/answer`, { answer: "Postgres" });
  assert.deepEqual([repeat.status, codeOf(repeat.json)], [409, "already_answered"]);
  assert.equal((await project.get(`/questions/${question.id}`)).json.response, "SQLite");
});

test("respond answers a run's oldest question", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("two", "echo '::cru-ask first?'; read a; echo '::cru-ask {\"prompt\":\"second?\"}'; read b; echo \"$a/$b\"");
  await project.pendingQuestion("two");
  assert.equal((await project.post("/agents/two/respond", { response: "eins" })).status, 200);
  await waitFor(async () => (await project.questions("?task_id=two&pending=true")).some((question) => question.prompt === "second?"));
  assert.equal((await project.post("/agents/two/respond", { response: "zwei" })).status, 200);
  await project.ended("two");
  assert.equal((await project.output("two")).at(-1).data, "eins/zwei");
  assert.equal((await project.post("/agents/two/respond", { response: "drei" })).status, 409);
});

test("a question of a run that has ended is expired, and says so", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("leaves", "echo '::cru-ask anyone?'; read x");
  const question = await project.pendingQuestion("leaves");
  await project.post("/agents/leaves/kill", { grace_seconds: 1 });
  await project.ended("leaves");
  assert.equal((await project.get(`/questions/${question.id}`)).json.status, "expired");
  assert.equal((await project.post(`/questions/${question.id}/answer`, { answer: "late" })).status, 409);
});

test("an answer that the agent cannot hear is reported as not delivered", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("deaf", "exec <&-; echo '::cru-ask hello?'; sleep 600");
  const question = await project.pendingQuestion("deaf");
  const reply = await project.answer(question.id, "hi");
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.json.delivered, false);
  assert.match(reply.json.delivery_error, /./);
  assert.equal((await project.get(`/questions/${question.id}`)).json.response, "hi");
});

test("Claude Code's questions and permissions are raised and answered in its own form", async (t) => {
  const project = await Project.started({ bin: [join(here, "fixtures/bin")] }, t);
  const run = project.spawn(["run", "--backend", "claude", "--id", "cc", "a question and a shell"]);
  const question = await project.pendingQuestion("cc");
  assert.deepEqual([question.kind, question.prompt, question.options], ["question", "Which DB?", ["SQLite", "Postgres"]]);
  await project.restartDaemon();
  assert.equal((await project.answer(question.id, "SQLite")).json.delivered, true);
  const permission = await waitFor(async () => (await project.questions("?task_id=cc&pending=true")).find(({ kind }) => kind === "permission"));
  assert.match(permission.prompt, /Bash.*touch SHOULD_NOT_EXIST/);
  assert.equal((await project.post(`/questions/${permission.id}/answer`, { answer: "maybe" })).status, 400);
  assert.equal((await project.answer(permission.id, "deny: no shell today")).json.delivered, true);
  const ended = await project.ended("cc");
  assert.equal(ended.status, "completed", JSON.stringify(ended));
  const answers = (await project.output("cc")).map((line) => JSON.parse(line.data)).filter((line) => line.type === "assistant")
    .map((line) => line.message.content[0].text).filter((text) => text.startsWith("answered ")).map((text) => JSON.parse(text.slice(9)).response.response);
  assert.deepEqual(answers[0].behavior, "allow");
  assert.deepEqual(answers[0].updatedInput.answers, { "Which DB?": "SQLite" });
  assert.deepEqual(answers[1], { behavior: "deny", message: "no shell today" });
  const text = (await project.output("cc")).map((line) => line.data).join("\n");
  assert.match(text, /traceparent: 00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]/);
  assert.equal((await run.ended).code, 0);
});

test("cru ask waits inside the run and prints the answer, through a restart", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("inside", `answer=$(${cru_bin} ask "Ship it?" --option yes --option no) && echo "answer: $answer"`);
  const question = await project.pendingQuestion("inside");
  assert.deepEqual([question.task_id, question.prompt, question.options], ["inside", "Ship it?", ["yes", "no"]]);
  await project.killDaemon();
  await project.ready();  // the waiting verb itself has it started again, outside the run
  assert.equal((await project.post(`/questions/${question.id}/answer`, { answer: "yes" })).status, 200);
  assert.equal((await project.ended("inside")).status, "completed");
  assert.equal((await project.output("inside")).at(-1).data, "answer: yes");
});
