// The agent CLIs as backends, with stand-ins on the PATH (Claude Code's own is in questions.test.mjs).
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { codeOf, here, Project } from "./harness.mjs";

const bin = [join(here, "fixtures/bin")];
const words = (lines, kind) => lines.filter(({ stream, data }) => stream === "stdout" && data.startsWith(`${kind} `)).map(({ data }) => data.slice(kind.length + 1));

const expected = {
  codex: ["codex", "exec", "--json", "--model", "best", "fix  the \"login\" $HOME"],
  gemini: ["gemini", "--output-format", "stream-json", "--model", "best", "--prompt", "fix  the \"login\" $HOME"],
};
for (const [backend, argv] of Object.entries(expected)) {
  test(`the ${backend} backend: its words, nothing on stdin, both streams`, async (t) => {
    const project = await Project.started({ bin }, t);
    const task = argv.at(-1);
    const started = await project.start("agent", ["--model", "best"], { backend, task });
    assert.deepEqual([started.backend, started.task, started.argv], [backend, task, argv]);
    const run = await project.ended("agent");
    assert.deepEqual([run.status, run.exit_code], ["completed", 0], JSON.stringify(run));
    const lines = await project.output("agent");
    assert.deepEqual(words(lines, "argv"), argv, "no shell has touched them");
    assert.deepEqual(words(lines, "stdin"), ["/dev/null"]);
    assert.deepEqual(words(lines, "folder"), [project.root]);
    assert.match(words(lines, "trace")[0], new RegExp(`^00-${run.trace_id}-[0-9a-f]{16}-01$`));
    assert.deepEqual(lines.filter(({ stream }) => stream === "stderr").map(({ data }) => data), ["thinking about it"]);
    assert.equal(lines.filter(({ stream }) => stream === "stdout").at(-1).data, '{"type":"turn.completed"}');
    const sent = await project.post("/agents/agent/input", { text: "hello" });
    assert.equal(sent.status, 409, sent.text);
  });

  test(`cru run --backend ${backend} streams and ends as the agent does; without a task it is refused`, async (t) => {
    const project = await Project.started({ bin }, t);
    const good = await project.cru("run", "--backend", backend, "--id", "good", "do it");
    assert.equal(good.code, 0, JSON.stringify(good));
    assert.match(good.stdout, /^argv do it$/m);
    assert.match(good.stderr, /^thinking about it$/m);
    const bad = await project.cru("run", "--backend", backend, "--id", "bad", "please fail");
    assert.equal(bad.code, 6, JSON.stringify(bad));
    assert.deepEqual([(await project.run("bad")).status, (await project.run("bad")).exit_code], ["failed", 3]);
    const none = await project.post("/tasks/none/start", { backend });
    assert.deepEqual([none.status, codeOf(none.json)], [400, "invalid_argument"], none.text);
    assert.equal((await project.get("/agents/none")).status, 404);
  });
}

test("an agent without stdin may ask, and the answer is reported as not delivered", async (t) => {
  const project = await Project.started({ bin }, t);
  await project.start("deaf", [], { backend: "codex", task: "ask me" });
  const question = await project.pendingQuestion("deaf");
  const reply = await project.answer(question.id, "yes");
  assert.deepEqual([reply.status, reply.json.status, reply.json.delivered], [200, "answered", false], reply.text);
  assert.match(reply.json.delivery_error, /stdin|standard input|input/i);
  assert.deepEqual((await project.events("?entity=deaf&type=question.undelivered")).length, 1);
  writeFileSync(project.path("go"), "");
  assert.equal((await project.ended("deaf")).status, "completed");
});

test("a backend of the person's own: from their configuration, never from the project's", async (t) => {
  const project = await Project.started({ user_config: "backends: {mine: {argv: [sh, -c, 'echo mine \"$0\" \"$1\"']}}\n", config: "backends: {theirs: {argv: [sh]}}\n" }, t);
  await project.start("own", ["extra"], { backend: "mine", task: "the task" });
  assert.equal((await project.ended("own")).status, "completed");
  assert.deepEqual((await project.output("own")).map(({ data }) => data), ["mine extra the task"]);
  const theirs = await project.post("/tasks/theirs/start", { backend: "theirs", task: "x" });
  assert.deepEqual([theirs.status, codeOf(theirs.json)], [400, "invalid_argument"], theirs.text);
  assert.equal((await project.get("/agents/theirs")).status, 404);
});
