// What surprised somebody who uses Claude Code every day, on the first day with cru: several questions at once, narrow terminals,
// names in first place, piped input, and a configuration that has just been written.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cru_bin, here, Project, waitFor } from "./harness.mjs";
import { openPage, overflowOf, violationsOf } from "./harness/browser.mjs";

const bin = [join(here, "fixtures/bin")];
const ok = async (project, ...words) => {
  const { code, stdout, stderr } = await project.cru(...words);
  assert.equal(code, 0, `cru ${words.filter((word) => typeof word === "string").join(" ")}: ${stdout}${stderr}`);
  return stdout;
};
/// What claude was answered, in its own form.
const answersTo = async (project, id) => (await project.output(id)).map((line) => JSON.parse(line.data)).filter((line) => line.type === "assistant")
  .map((line) => line.message.content[0].text).filter((text) => text?.startsWith("answered ")).map((text) => JSON.parse(text.slice(9)).response.response.updatedInput.answers);
const quoted = (words) => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
/// A verb at a terminal of so many columns.
const atWidth = async (project, columns, ...words) => {
  const child = project.spawn(["-qec", `stty rows 40 cols ${columns}; exec ${quoted([cru_bin, ...words])}`, "/dev/null"], { argv0: "script", env: { TERM: "xterm-256color", NO_COLOR: "1" }, stdio: ["ignore", "pipe", "pipe"] });
  const { stdout } = await child.ended;
  return stdout.replaceAll("\r", "").split("\n");
};
/// By a real shell, whose `|` and `<` are a person's.
const inShell = (project, line) => project.spawn(["-c", line], { argv0: "sh", stdio: ["ignore", "pipe", "pipe"] }).ended;

test("several questions at once are shown with all their options, and answered by number, by text, by name or in order", async (t) => {
  const project = await Project.started({ bin }, t);
  await project.post("/tasks/cc/start", { backend: "claude", task: "several" });
  const question = await project.pendingQuestion("cc");
  assert.deepEqual(question.questions.map(({ prompt, options, takes_several }) => [prompt, options.map(({ label }) => label), takes_several]),
    [["Which DB?", ["SQLite", "Postgres"], false], ["Which tests?", ["unit", "e2e", "fuzz"], true]]);
  const shown = await ok(project, "questions", "show", "cc");
  assert.match(shown, /^cc asks: 2 questions\n1\. Which DB\?\n {3}1\) SQLite — one file\n {3}2\) Postgres — a server\n2\. Which tests\?\n {3}1\) unit\n {3}2\) e2e\n {3}3\) fuzz\n/);
  assert.match(await ok(project, "questions"), /2 questions: 1\. Which DB\? 2\. Which tests\? +1\. SQLite, Postgres; 2\. unit, e2e, fuzz/);
  const refusals = [
    [["1"], /2 questions are asked, and 1 answer was given\n {2}1\. Which DB\? — 1\) SQLite, 2\) Postgres\n {2}2\. Which tests\?/],
    [["1", "7"], /question 2, "Which tests\?": "7" is not one of the options: 1\) unit, 2\) e2e, 3\) fuzz/],
    [["--answer", "2=1"], /question 1, "Which DB\?" has no answer/],
    [["--answer", "two=1"], /--answer takes N=TEXT/],
    [[], /no answer given\. cc asks: 2 questions\n1\. Which DB\?/],
  ];
  for (const [words, pattern] of refusals) {
    const { code, stderr } = await project.cru("questions", "answer", "cc", ...words);
    assert.equal(code, 2, `${words}: ${stderr}`);
    assert.match(stderr, pattern);
  }
  assert.match(await ok(project, "questions", "answer", "cc", "postgres", "1,3"), /^answered cc with "Postgres \/ unit, fuzz": /);
  await project.ended("cc");
  assert.deepEqual((await answersTo(project, "cc"))[0], { "Which DB?": "Postgres", "Which tests?": "unit, fuzz" });
  for (const [id, words] of [["byname", ["--answer", "2=e2e", "--answer", "1=1"]], ["semicolons", ["SQLite; 2"]]]) {
    await project.post(`/tasks/${id}/start`, { backend: "claude", task: "several" });
    await project.pendingQuestion(id);
    await ok(project, "questions", "answer", id, ...words);
    await project.ended(id);
    assert.deepEqual((await answersTo(project, id))[0], { "Which DB?": "SQLite", "Which tests?": "e2e" }, id);
  }
});

test("several questions are answered one after another at the terminal that follows the run, and by questions answer", async (t) => {
  const project = await Project.started({ bin }, t);
  const socket = `cru-day-${process.pid}`;
  const tmux = (...argv) => {
    const { status, stdout, stderr } = spawnSync("tmux", ["-L", socket, "-f", "/dev/null", ...argv], { encoding: "utf8", env: { ...project.env, TERM: "xterm-256color", SHELL: "/bin/sh" }, cwd: "/" });
    if (status) throw new Error(`tmux ${argv[0]}: ${stderr}`);
    return stdout;
  };
  t.after(() => { try { tmux("kill-server"); } catch { /* gone with its last window */ } });
  const screen = () => tmux("capture-pane", "-p", "-S", "-100", "-t", "a");
  const until = (text) => waitFor(() => screen().includes(text), { what: text }).catch((error) => { throw new Error(`${error.message}\n${screen()}`); });
  tmux("new-session", "-d", "-c", project.root, "-x", "80", "-y", "40", "-s", "a", `${cru_bin} run --id follow claude several; echo left with $?; sleep 600`);
  await until("answer 1:");
  assert.match(screen(), /1 of 2: Which DB\?\n {2}1\) SQLite — one file\n {2}2\) Postgres — a server\nanswer 1:/);
  tmux("send-keys", "-t", "a", "neither", "Enter");
  await until('"neither" is not one of the options. Send it anyway? [y/N]');
  tmux("send-keys", "-t", "a", "n", "Enter");
  await until("not sent");
  tmux("send-keys", "-t", "a", "2", "Enter");
  await until("answer 2:");
  assert.match(screen(), /2 of 2: Which tests\?\n {2}1\) unit\n {2}2\) e2e\n {2}3\) fuzz\n/);
  tmux("send-keys", "-t", "a", "1,2", "Enter");
  await until("left with 0");
  assert.deepEqual((await answersTo(project, "follow"))[0], { "Which DB?": "Postgres", "Which tests?": "unit, e2e" });
  await project.post("/tasks/verb/start", { backend: "claude", task: "several" });
  await project.pendingQuestion("verb");
  tmux("respawn-pane", "-k", "-t", "a", "-c", project.root, `${cru_bin} questions answer verb; echo verb left with $?; sleep 600`);
  await until("answer 1:");
  tmux("send-keys", "-t", "a", "1", "Enter");
  await until("answer 2:");
  tmux("send-keys", "-t", "a", "fuzz", "Enter");
  await until("verb left with 0");
  await project.ended("verb");
  assert.deepEqual((await answersTo(project, "verb"))[0], { "Which DB?": "SQLite", "Which tests?": "fuzz" });
});

test("several questions are answered on the page, each with its options", async (t) => {
  const project = await Project.started({ bin }, t);
  await project.post("/tasks/cc/start", { backend: "claude", task: "several" });
  await project.pendingQuestion("cc");
  const { page } = await openPage(await project.link(), t);
  const inbox = page.getByRole("region", { name: "Waiting for you" });
  const send = inbox.getByRole("button", { name: "Send all answers" });
  await inbox.getByRole("radio", { name: /Postgres — a server/ }).check();
  assert.ok(await send.isDisabled(), "one has no answer yet");
  await inbox.getByRole("checkbox", { name: /unit/ }).check();
  await inbox.getByRole("checkbox", { name: /fuzz/ }).check();
  assert.equal(await overflowOf(page), 0);
  assert.deepEqual(await violationsOf(page), []);
  await send.click();
  await inbox.getByText("Nothing needs you.").waitFor();
  await project.ended("cc");
  assert.deepEqual((await answersTo(project, "cc"))[0], { "Which DB?": "Postgres", "Which tests?": "unit, fuzz" });
});

test("tables keep what a person needs at 80 and at 60 columns, and no line is longer", async (t) => {
  const project = await Project.started({ bin }, t);
  const id = "migrate-the-db";
  await project.sh(id, `echo '::cru-ask {"prompt":"Drop the column that nobody has used since the spring?","options":["yes","no"]}'; read a # ${"a very long command ".repeat(6)}`);
  const question = await project.pendingQuestion(id);
  await ok(project, "work", "submit", "fix", "login fails after a timeout, and the message does not say why");
  await ok(project, "locks", "acquire", "src/edges/cli/core/render.cc", "--reason", "moving the tables to a file of their own");
  for (const width of [80, 60]) {
    const table = async (...words) => {
      const lines = await atWidth(project, width, ...words);
      for (const line of lines) assert.ok([...line].length <= width, `${words.join(" ")} at ${width}: ${line}`);
      return lines.join("\n");
    };
    const has = (text, ...words) => { for (const word of words) assert.ok(text.includes(word), `${width}: no ${word} in\n${text}`); };
    has(await table("ps"), "RUN", "BADGE", "STARTED", "COMMAND", id, "needs you", "sh -c");
    has(await table("crew"), "NAME", "BADGE", "SINCE", "DOING", id, "needs you");
    has(await table("questions"), "ID", "FROM", "ASKED", "PROMPT", question.id.slice(0, 8), id.slice(0, 12), "Drop the");
    has(await table("work"), "ID", "STATUS", "DESCRIPTION", "pending", "login");
    has(await table("locks"), "FILE PATH", "LOCKED BY", "EXPIRES");
    for (const words of [["peers"], ["agents"], ["config", "--all"], ["events"], ["doctor"], ["trust"], ["hooks"]]) await atWidth(project, width, ...words);
  }
  const short = (await atWidth(project, 60, "work")).join("\n").match(/^([0-9a-f-]{8,}) /m)[1];
  assert.match(await ok(project, "work", "show", short), /login fails/, "what the table shows of an id is enough");
});

test("a name in first place is an agent, else a backend, else a program; behind -- it is a command", async (t) => {
  const project = await Project.started({ bin, user_config: "backends: {tests: {argv: [echo, tested]}}\n" }, t);
  const given = await project.cru("run", "--id", "first", "claude", "say hello");
  assert.equal(given.code, 0, JSON.stringify(given));
  assert.match(given.stderr, /^cru: running the backend claude \(for the plain program: cru run -- claude\)$/m);
  assert.deepEqual([(await project.run("first")).backend, (await project.run("first")).task], ["claude", "say hello"]);
  assert.equal(await ok(project, "run", "tests"), "tested\n", "one of the configuration needs no task");
  assert.equal(await ok(project, "run", "echo", "plain"), "plain\n");
  const several = await project.cru("run", "claude", "fix", "the", "bug");
  assert.equal(several.code, 2, several.stderr);
  assert.match(several.stderr, /claude is a backend and takes one task\n {2}cru run claude 'fix the bug'\n {2}to run the program itself: cru run -- claude fix the bug\n/);
  await project.cru("run", "--id", "plain", "--", "claude", "--help");
  assert.equal((await project.run("plain")).backend, "command");
  mkdirSync(project.path(".crucible/agents"), { recursive: true });
  await ok(project, "agents", "new", "claude", "--description", "An agent of that name", "--model", "scripted");
  const agent = await project.cru("run", "claude", "say hello");
  assert.equal(agent.code, 0, JSON.stringify(agent));
  assert.doesNotMatch(agent.stderr, /running the backend/);
  assert.equal((await project.get("/subagents")).json.subagents.at(-1).agent, "claude", "the definition wins");
});

test("standard input is the task if none is given, and context if one is; an open pipe with nothing in it is not waited for", async (t) => {
  const project = await Project.started({ bin }, t);
  const task = async (id) => (await project.run(id)).task;
  const shell = async (line) => {
    const ended = await inShell(project, line);
    assert.equal(ended.code, 0, `${line}: ${ended.stdout}${ended.stderr}`);
    return ended;
  };
  await shell(`echo 'from a pipe' | ${cru_bin} run --id piped claude`);
  assert.equal(await task("piped"), "from a pipe");
  await shell(`printf 'a file' > task.md; ${cru_bin} run --id file --backend claude < task.md`);
  assert.equal(await task("file"), "a file");
  await shell(`(sleep 3; echo late) | ${cru_bin} run --id dash claude -`);
  assert.equal(await task("dash"), "late");
  await shell(`echo '+ line' | ${cru_bin} run --id context claude 'review this'`);
  assert.equal(await task("context"), "review this\n\nFrom standard input:\n\n+ line");
  await shell(`${cru_bin} run --id none claude 'only this' < /dev/null`);
  assert.equal(await task("none"), "only this");
  // The shell itself holds the pipe open, as a CI runner does.
  const open = await shell(`mkfifo p; exec 9<>p; ${cru_bin} run --id open claude 'go on' <&9`);
  assert.equal(await task("open"), "go on");
  assert.match(open.stderr, /nothing was written to standard input within 2 s; continuing without it/);
  // A socket is what programs give their children; nobody writes to it.
  const child = project.spawn(["run", "--id", "socket", "claude", "go on"], { stdio: ["pipe", "pipe", "pipe"] });
  assert.equal((await child.ended).code, 0, child.text.stderr);
  assert.equal(await task("socket"), "go on");
  const long = await inShell(project, `head -c 700000 /dev/zero | tr '\\0' x | ${cru_bin} run --id long claude 'read'`);
  assert.notEqual(long.code, 0);
  assert.match(long.stderr, /longer than 512 KiB\n {2}save it in a file/);
  const binary = await inShell(project, `printf 'a\\377b' | ${cru_bin} run --id binary claude`);
  assert.equal(binary.code, 2);
  assert.match(binary.stderr, /not text \(UTF-8\)/);
  const agent = await inShell(project, `echo 'about tokens' | ${cru_bin} run explorer 'find this' --model scripted`);
  assert.equal(agent.code, 0, agent.stderr);
  assert.match((await project.get("/subagents")).json.subagents.at(-1).task, /^find this\n\nFrom standard input:\n\nabout tokens$/);
  const plain = await shell(`echo data | ${cru_bin} run --id cmd -- sleep 0.1`);
  assert.match(plain.stderr, /standard input is not passed on to the command; .*cru send cmd - --eof/);
});

test("a backend and a model that have just been written are known; what needs a restart says so", async (t) => {
  const project = await Project.started({ user_config: "backends: {one: {argv: [echo, one]}}\n" }, t);
  assert.equal(await ok(project, "run", "--backend", "one"), "one\n");
  const file = join(project.home, ".config/crucible/config.yaml");
  writeFileSync(file, "confine: off\nbackends: {two: {argv: [echo, two]}}\nmodels: {quick: {provider: scripted, script: builtin}}\nruns: {kill_grace: 3s}\n");
  assert.equal(await ok(project, "run", "--backend", "two"), "two\n");
  const gone = await project.cru("run", "--backend", "one");
  assert.equal(gone.code, 2, "what was taken out is gone");
  await ok(project, "run", "explorer", "find it", "--model", "quick");
  const said = await project.cru("run", "--", "true");
  assert.match(said.stderr, /in force after cru daemon restart: runs\.kill_grace/);
  writeFileSync(file, "confine: off\nbackends: {two: {argv: [echo, two]}}\nbackend: {three: 1}\n");
  const broken = await project.cru("run", "--backend", "three");
  assert.notEqual(broken.code, 0);
  assert.match(broken.stderr, /cannot be used, so nothing of the change is in force: .*config\.yaml:3: backend/);
  assert.equal(await ok(project, "run", "--backend", "two"), "two\n", "what was in force stays");
  mkdirSync(project.path(".crucible/agents"), { recursive: true });
  writeFileSync(project.path(".crucible/agents/fresh.md"), "---\nname: fresh\ndescription: Just written\nmodel: scripted\npermissions: [FilesystemRead]\n---\nYou are fresh.\n");
  await waitFor(async () => (await project.cru("run", "fresh", "look")).code !== 3, { what: "a definition that has just been written is known" });
});
