// The agent CLIs as backends, with stand-ins on the PATH (Claude Code's own is in questions.test.mjs).
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
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

/// A program on the PATH that prints these lines and exits.
function standIn(project, name, lines, code) {
  const path = join(project.root, "bin", name);
  mkdirSync(join(project.root, "bin"), { recursive: true });
  writeFileSync(path, `#!/bin/sh\ncat <<'LINES'\n${lines.map((line) => JSON.stringify(line)).join("\n")}\nLINES\nexit ${code}\n`, { mode: 0o755 });
}
const said = (content) => ({ type: "assistant", message: { content } });

test("the work of claude is shown in words, its tokens and cost are kept, --raw shows its lines", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  standIn(project, "claude", [
    { type: "system", subtype: "init", model: "opus" },
    said([{ type: "text", text: "I look.\nThen I build." }, { type: "tool_use", name: "Bash", input: { command: "make test", description: "builds" } }]),
    { type: "user", message: { content: [{ type: "tool_result", content: "a thousand lines" }] } },
    { type: "result", subtype: "success", is_error: false, result: "All green.", total_cost_usd: 1.25, usage: { input_tokens: 1000, output_tokens: 234 } },
  ], 0);
  project.env.PATH = `${join(project.root, "bin")}:${project.env.PATH}`;
  await project.startDaemon();
  const ran = await project.cru("run", "--backend", "claude", "--id", "work", "build it");
  assert.deepEqual([ran.code, ran.stdout], [0, "I look.\nThen I build.\n→ Bash: make test\n✓ done: 1234 tokens, $1.2500\n"], JSON.stringify(ran));
  const run = await project.run("work");
  assert.deepEqual([run.tokens, run.cost_usd, run.spent], [1234, 1.25, "$1.25"]);
  assert.match((await project.cru("ps")).stdout, /\$1\.25/);
  const { stdout: raw } = await project.cru("logs", "work", "--raw");
  assert.equal(JSON.parse(raw.split("\n")[1]).type, "assistant");
  const member = JSON.parse((await project.cru("crew", "--all", "--json")).stdout).crew.find(({ facets }) => facets.run === "work");
  assert.equal(member?.spent, "$1.25", JSON.stringify(member));
});

test("a line of claude's work that is longer than a record is told in words, whatever the page", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  const long = "x".repeat(60_000);
  standIn(project, "claude", [
    said([{ type: "text", text: "Before." }]),
    { type: "user", message: { content: [{ type: "tool_result", content: long }] } },
    said([{ type: "text", text: "After." }, { type: "tool_use", name: "Write", input: { file_path: "a.txt", content: long } }]),
    { type: "result", subtype: "success", is_error: false, result: "Done.", total_cost_usd: 1, usage: { input_tokens: 1, output_tokens: 1 } },
  ], 0);
  project.env.PATH = `${join(project.root, "bin")}:${project.env.PATH}`;
  await project.startDaemon();
  const words = "Before.\nAfter.\n→ Write: a.txt\n✓ done: 2 tokens, $1.0000\n";
  assert.equal((await project.cru("run", "--backend", "claude", "--id", "work", "build it")).stdout, words);
  assert.equal((await project.cru("logs", "work")).stdout, words);
  let paged = "";
  for (let since = 0, more = true; more;) {
    const { json } = await project.get(`/agents/work/output?as=text&limit=1&since=${since}`);
    for (const { data } of json.lines) paged += data && `${data}\n`;
    ({ last_seq: since, more } = json);
  }
  assert.equal(paged, words);
});

test("an agent program that fails and exits with 0 has failed, with its reason, however long its last line is", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  standIn(project, "codex", [{ type: "turn.completed", usage: { input_tokens: 20, output_tokens: 10 } }, { type: "turn.failed", error: { message: "401 Unauthorized" }, padding: "x".repeat(1_500_000) }], 0);
  project.env.PATH = `${join(project.root, "bin")}:${project.env.PATH}`;
  await project.startDaemon();
  assert.equal((await project.cru("run", "--backend", "codex", "--id", "work", "build it")).code, 6);
  const run = await project.run("work");
  assert.deepEqual([run.status, run.exit_code, run.error, run.error_detail, run.tokens], ["failed", 0, "the agent reported a failure", "401 Unauthorized", 30]);
});

test("an agent program that is not logged in says so where its run is shown", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  standIn(project, "claude", [{ type: "result", subtype: "success", is_error: true, result: "Not logged in · Please run /login" }], 1);
  project.env.PATH = `${join(project.root, "bin")}:${project.env.PATH}`;
  await project.startDaemon();
  const ran = await project.cru("run", "--backend", "claude", "--id", "work", "build it");
  assert.equal(ran.code, 6, JSON.stringify(ran));
  assert.match(ran.stderr, /Not logged in · Please run \/login/);
  assert.equal((await project.run("work")).error_detail, "Not logged in · Please run /login");
});
