// Agents that judge their own answers before they return them, and what is told of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { cast, filed, report, spawning, told } from "./harness/cast.mjs";
import { Crew } from "./harness/crew.mjs";

const verdict = (passed, score, critique, issues = []) => ({ text: JSON.stringify({ passed, score, critique, issues }), usage: { input: 50, output: 5 } });
const strict = { enable_reflection: true, max_retries: 1, reflection_criteria: ["names every table", "gives a line number"] };
/// One reply of each call of a part, by its count and not by the conversation's turn.
const inOrder = (...replies) => { let at = 0; return () => replies[Math.min(at++, replies.length - 1)]; };

test("SA-49, SA-50: an answer that fails its own evaluation is improved, by the definition's criteria, and its history is kept", async (t) => {
  const { crew, asked } = await cast(t, {
    assistant: [{ text: "I ask the reviewer.", tools: [spawning("reviewer", "Review the schema.")] }, { text: "Done." }],
    reviewer: inOrder({ text: report("Looks fine."), usage: { input: 100, output: 10 } }, { text: report("users:12 has no index."), usage: { input: 200, output: 20 } }),
    evaluation: inOrder(verdict(false, 0.3, "It names no table.", ["no table is named"]), verdict(true, 0.9, "")),
  }, { agents: { reviewer: strict } });
  const chat = await crew.chat({ message: "Is the schema good?" });
  assert.equal(asked("reviewer").length, 2, "one attempt, one retry");
  assert.equal(asked("evaluation").length, 2, "each attempt is judged");
  const [first, second] = asked("evaluation");
  assert.match(first.task, /Review the schema\.[^]*- names every table\n- gives a line number\n[^]*Looks fine\./);
  assert.match(second.task, /users:12 has no index/);
  assert.deepEqual(first.tools, [], "an evaluation has no tools");
  assert.match(asked("reviewer")[1].raw, /does not meet its criteria yet[^]*Critique: It names no table\.[^]*- no table is named/);
  const [result] = told(asked("assistant"));
  assert.match(result.text, /^---\n[^]*reflection: passed\nreflection_attempts: 2\n[^]*## Summary\n\nusers:12 has no index\.[^]*## Reflection\n\n1\. not passed \(score 0\.30\), 165 tokens, [^\n]*: It names no table\.\n {3}- no table is named\n\n2\. passed \(score 0\.90\), 275 tokens/);
  assert.doesNotMatch(result.text, /Partial success/);
  await chat.end();
  const { metadata: { subagents: [kept] }, subagents: [note] } = await filed(chat);
  assert.deepEqual([kept.reflection.outcome, kept.reflection.attempts, kept.reflection.best_attempt], ["passed", 2, 2]);
  assert.deepEqual(kept.reflection.iterations.map(({ attempt, passed, score, critique, retried, tokens }) => [attempt, passed, score, critique, retried, tokens]),
    [[1, false, 0.3, "It names no table.", true, 165], [2, true, 0.9, "", false, 275]]);
  assert.equal(kept.tokens, 440, "evaluations count");
  assert.match(note.text, /## Evaluation [^]*Critique: It names no table\./, "the way to the answer is in the transcript");
  const events = (await crew.events("?since=0")).filter(({ type }) => type === "subagent.reflected").map(({ data }) => [data.attempt, data.passed, data.retried, data.trace_id === kept.trace_id]);
  assert.deepEqual(events, [[1, false, true, true], [2, true, false, true]]);
  assert.match(readFileSync(crew.path(".coven/log/daemon.log"), "utf8"), new RegExp(`did not meet its criteria; it tries again.*${kept.trace_id}`), "each iteration is logged with its trace");
});

test("SA-51: without enable_reflection an agent answers once, and nobody judges it", async (t) => {
  const { crew, asked } = await cast(t, { plain: { text: report("Done."), usage: { input: 100, output: 10 } }, evaluation: verdict(false, 0, "never asked") },
    { agents: { plain: { enable_reflection: false, reflection_criteria: ["it is perfect"] } } });
  const { task_id } = await crew.must(201, crew.spawnAgent({ agent: "plain", task: "do it" }));
  const over = await crew.subagentOver(task_id);
  assert.deepEqual([over.status, over.reflection, over.tokens], ["completed", null, 110]);
  assert.deepEqual([asked("plain").length, asked("evaluation").length], [1, 0]);
  assert.doesNotMatch(over.result, /reflection/i);
});

test("SA-52: after max_retries the best attempt is returned as a partial success, with every iteration, and the parent is told", async (t) => {
  const { crew, asked } = await cast(t, {
    assistant: [{ text: "I ask.", tools: [spawning("reviewer", "Review it.")] }, { text: "Partly done." }],
    reviewer: inOrder({ text: report("First.") }, { text: report("Second, the best.") }, { text: report("Third.") }),
    evaluation: inOrder(verdict(false, 0.2, "too short"), verdict(false, 0.6, "nearly"), verdict(false, 0.4, "worse again")),
  }, { agents: { reviewer: { ...strict, max_retries: 2 } } });
  const chat = await crew.chat({ message: "Review." });
  assert.equal(asked("reviewer").length, 3, "max_retries retries, and no more");
  const [result] = told(asked("assistant"));
  assert.match(result.text, /reflection: partial\n[^]*---\n\nPartial success: reviewer did not meet its criteria after 3 attempts; this is the best, attempt 2\.\n\n## Summary\n\nSecond, the best\./);
  assert.match(result.text, /1\. not passed[^]*too short[^]*2\. not passed[^]*nearly[^]*3\. not passed[^]*worse again/);
  await chat.end();
  const { metadata: { subagents: [kept] } } = await filed(chat);
  assert.deepEqual([kept.status, kept.reflection.outcome, kept.reflection.best_attempt, kept.reflection.iterations.length], ["completed", "partial", 2, 3]);
  const done = (await crew.events("?since=0")).find(({ type }) => type === "subagent.completed");
  assert.match(done.data.partial, /did not meet its criteria after 3 attempts/);
});

test("max_retries defaults to 1; a retry that fails, or an evaluation that cannot be read, leaves the answer that there is", async (t) => {
  const { crew, asked } = await cast(t, {
    once: { text: report("Same again.") },
    breaks: inOrder({ text: report("The first.") }, { status: 400, error: { type: "invalid_request_error", message: "no more" } }),
    evaluation: { text: "I would rather not say." },
  }, { agents: { once: { enable_reflection: true }, breaks: { enable_reflection: true } } });
  for (const [agent, summary, critique] of [["once", /Same again/, /I would rather not say/], ["breaks", /The first\./, /the attempt failed/]]) {
    const { task_id } = await crew.must(201, crew.spawnAgent({ agent, task: "do it" }));
    const over = await crew.subagentOver(task_id);
    assert.equal(over.status, "completed", over.error_message);
    assert.match(over.result, summary);
    assert.deepEqual([over.reflection.outcome, over.reflection.iterations.length, over.reflection.max_retries], ["partial", 2, 1]);
    assert.match(over.reflection.iterations.at(-1).critique, critique);
    assert.equal(asked(agent).length, 2);
  }
});

test("an agent whose daemon is killed while it reflects goes on where it was", async (t) => {
  let release;
  const held = new Promise((done) => { release = done; });
  let judged = 0;
  const { crew, asked } = await cast(t, {
    reviewer: inOrder({ text: report("First.") }, { text: report("Second.") }),
    evaluation: async () => { if (judged++ === 0) return verdict(false, 0.1, "again"); if (judged === 2) await held; return verdict(true, 1, ""); },
  }, { agents: { reviewer: strict } });
  const { task_id } = await crew.must(201, crew.spawnAgent({ agent: "reviewer", task: "do it" }));
  await waitFor(() => judged === 2, { what: "the second attempt is being judged" });
  await crew.killDaemon();
  await crew.startDaemon();
  release();
  const over = await crew.subagentOver(task_id);
  assert.deepEqual([over.status, over.reflection.outcome, over.reflection.iterations.length], ["completed", "passed", 2]);
  assert.equal(asked("reviewer").length, 2, "no attempt is made twice");
});

test("a program that is an agent's mind reflects too, in runs of its own", async (t) => {
  const crew = await Crew.started({
    standin: { replies: [
      { when: "Evaluate your answer", steps: [{ say: JSON.stringify({ passed: false, score: 0.1, critique: "no line number" }) }] },
      { when: "does not meet its criteria", steps: [{ say: report("Better.") }] },
      { when: "do it", steps: [{ say: report("First.") }] }] },
    models: { sonnet: { provider: "claude", id: "model-1" } }, agents: { worker: { prompt: "You are worker.", enable_reflection: true } } }, t);
  const { task_id } = await crew.must(201, crew.spawnAgent({ agent: "worker", task: "do it" }));
  const over = await crew.subagentOver(task_id);
  assert.deepEqual([over.status, over.reflection.outcome, over.reflection.iterations.length], ["completed", "partial", 2], JSON.stringify(over));
  assert.match(over.result, /## Summary\n\nBetter\./);
  const runs = (await crew.must(200, crew.get("/agents"))).agents.map((run) => run.task_id).sort();
  assert.deepEqual(runs, [`worker-${task_id}`, `worker-${task_id}-2`, `worker-${task_id}-check-1`, `worker-${task_id}-check-2`]);
});
