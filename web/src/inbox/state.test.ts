import assert from "node:assert/strict";
import { test } from "node:test";
import { event } from "../base/event_fixture.ts";
import { answersOf, applyQuestions, descriptionOf, isShownAsApproval, news, partsToAnswer, pending, toggled, waitingOf } from "./state.ts";
import type { Approval } from "../approvals/wire.ts";
import type { Part, Question } from "./wire.ts";

const none: ReadonlyMap<string, Question> = new Map();

test("a snapshot replaces the questions", () => {
  const before = applyQuestions(none, [event("agent.question", { id: "q0", prompt: "!", status: "pending" }, "a")]);
  const questions = applyQuestions(before, [event("state.snapshot", { questions: [{ id: "q1", task_id: "b", prompt: "?", status: "pending" }] })]);
  assert.deepEqual(pending(questions).map(({ id }) => id), ["q1"]);
});

test("a question is pending until it is answered, also one that was sent again without an id", () => {
  let questions = applyQuestions(none, [event("agent.question", { id: "q1", task_id: "a", prompt: "Which?", options: ["x"], status: "pending" }, "a", null)]);
  assert.equal(pending(questions)[0]?.prompt, "Which?");
  questions = applyQuestions(questions, [event("agent.question.answered", { id: "q1", status: "answered" }, "a")]);
  assert.equal(pending(questions).length, 0);
});

test("other events do not change the questions", () => {
  assert.equal(applyQuestions(none, [event("agent.started", {}, "a")]), none);
});

const part = (prompt: string, labels: string[], takes_several = false, description = ""): Part => ({ prompt, takes_several, options: labels.map((label) => ({ label, description })) });
const asks = (...questions: Part[]): Question => ({ id: "q", task_id: "a", prompt: "?", status: "pending", questions });

test("several questions and several options are answered in a form; one option of one question is a button", () => {
  assert.equal(partsToAnswer(asks()).length, 0);
  assert.equal(partsToAnswer(asks(part("DB?", ["a", "b"]))).length, 0, "buttons do");
  assert.equal(partsToAnswer(asks(part("DB?", ["a", "b"], true))).length, 1);
  assert.equal(descriptionOf(asks(part("DB?", ["a"], false, "a file")), "a"), "a file");
  assert.equal(descriptionOf(asks(), "a"), "");
  assert.equal(partsToAnswer(asks(part("DB?", ["a"]), part("Port?", []))).length, 2);
});

test("an option replaces another, unless several may be chosen", () => {
  assert.deepEqual(toggled(part("?", ["a", "b"]), ["a"], "b"), ["b"]);
  const several = part("?", ["a", "b", "c"], true);
  assert.deepEqual(toggled(several, ["c"], "a"), ["a", "c"]);
  assert.deepEqual(toggled(several, ["a", "c"], "a"), ["c"]);
});

test("there is an answer for each question or none is sent; what is typed goes before what is chosen", () => {
  const parts = [part("DB?", ["a", "b"], true), part("Port?", [])];
  assert.equal(answersOf(parts, [["a"]], []), null);
  assert.deepEqual(answersOf(parts, [["a", "b"]], ["", " 80 "]), ["a, b", "80"]);
  assert.deepEqual(answersOf(parts, [["a"], []], ["neither", "80"]), ["neither", "80"]);
});

test("a notification is for what was not there before, and a permission is told once, as an approval", () => {
  const permission = { id: "q1", kind: "permission", task_id: "cc", prompt: "Bash", status: "pending" } as Question;
  const question = { id: "q2", kind: "question", task_id: "b", prompt: "which?", status: "pending" } as Question;
  const approval = { id: "A-1", agent: "cc", task_id: "cc", question_id: "q1", what: "run ls" } as Approval;
  const waiting = waitingOf([permission, question], [approval]);
  assert.deepEqual(waiting.map(({ id, kind }) => [id, kind]), [["A-1", "approval"], ["q2", "question"]]);
  assert.deepEqual(news(new Set(["q2"]), waiting).map(({ title, text }) => [title, text]), [["cc needs your approval A-1", "run ls"]]);
  const hiding = waitingOf([{ ...question, prompt: `x; :\r\x1b]y\x07${"z".repeat(300)}` }], [{ ...approval, agent: "cc\r", what: "run curl | sh; :\rls \x1b]rm\x07" }]);
  assert.deepEqual(hiding.map(({ title, text }) => [title, text]), [["cc␍ needs your approval A-1", "run curl | sh; :␍ls ␛]rm␇"], ["b asks you", `x; :␍␛]y␇${"z".repeat(191)}…`]]);
  assert.equal(waitingOf([{ ...question, task_id: "session:ada" }], [])[0]?.title, "ada asks you", "outside of any run");
  assert.ok(isShownAsApproval(permission, [approval]));
  assert.ok(!isShownAsApproval(question, [approval]) && !isShownAsApproval(permission, []));
});
