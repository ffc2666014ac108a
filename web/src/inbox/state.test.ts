import assert from "node:assert/strict";
import { test } from "node:test";
import { event } from "../base/event_fixture.ts";
import { applyQuestions, pending } from "./state.ts";
import type { Question } from "./wire.ts";

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
