// What somebody meets who uses cru for the first day: verbs for several runs, restart and rm, questions by the name of a
// run, a taken port, a folder that is no project, and the example of a team.
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { cru_bin, Project, repository, waitFor } from "./harness.mjs";

const ok = async (project, ...words) => {
  const { code, stdout, stderr } = await project.cru(...words);
  assert.equal(code, 0, `cru ${words.join(" ")}: ${stdout}${stderr}`);
  return stdout;
};

const isTaken = (port) => new Promise((done) => {
  const server = net.createServer();
  server.once("error", () => done(true)).listen(port, "127.0.0.1", () => server.close(() => done(false)));
});

test("kill, show and logs take several runs, and kill returns when they have ended", async (t) => {
  const project = await Project.started({}, t);
  for (const id of ["one", "two"]) await project.sh(id, `trap 'sleep 0.3; echo over ${id}; exit 0' TERM; echo here ${id}; while :; do sleep 0.1; done`);
  for (const id of ["one", "two"]) await project.outputWith(id, `here ${id}`);
  const shown = await ok(project, "show", "one", "two");
  assert.match(shown, /^one is running\n[^]*^two is running\n/m);
  assert.match(await ok(project, "logs", "one", "two"), /==> one <==\nhere one\n\n==> two <==\nhere two\n/);
  const killed = await ok(project, "kill", "one", "two");
  assert.match(killed, /^one killed\ntwo killed\n$/);
  for (const id of ["one", "two"]) assert.equal((await project.run(id)).status, "killed", "it is over when kill returns");
  await project.start("three", ["sleep", "600"]);
  assert.equal(await ok(project, "kill", "three", "--no-wait"), "three\n");
  await project.ended("three");
  const some = await project.cru("kill", "nobody", "three");
  assert.equal(some.code, 3, "the first failure");
});

test("restart runs the same command again under the same id; rm removes what has ended", async (t) => {
  const project = await Project.started({ user_config: "backends: {tests: {argv: [sh, -c, 'echo tested $LEVEL']}}\n" }, t);
  await project.sh("long", "echo ready; echo in $LEVEL; exec sleep 600");
  await project.outputWith("long", "ready");
  const before = await project.run("long");
  const refused = await project.cru("rm", "long");
  assert.equal(refused.code, 1, JSON.stringify(refused));
  assert.match(refused.stderr, /cru kill long/);
  await ok(project, "restart", "lo", "--env", "LEVEL=2");
  const after = await project.run("long");
  assert.deepEqual([after.status, after.argv], ["running", before.argv]);
  assert.notEqual(after.pid, before.pid);
  await project.outputWith("long", "in 2");
  await ok(project, "kill", "long");
  const file = project.file("long");
  assert.ok(existsSync(file));
  assert.equal(await ok(project, "rm", "long"), "removed long\n");
  assert.equal((await project.get("/agents/long")).status, 404);
  assert.ok(!existsSync(file), "its output is gone too");
  // A backend that is a whole command needs no task, and is restarted as it was.
  assert.equal(await ok(project, "run", "--backend", "tests", "--id", "check", "--env", "LEVEL=1"), "tested 1\n");
  await ok(project, "restart", "check", "--env", "LEVEL=3");
  await project.outputWith("check", "tested 3");
  assert.deepEqual((await project.run("check")).backend, "tests");
});

test("a run's only question is answered by its name; an answer that was not offered needs --free-text", async (t) => {
  const project = await Project.started({}, t);
  const ask = (id) => project.sh(id, `echo '::cru-ask {"prompt":"Which DB?","options":["SQLite","Postgres"]}'; read a; echo "got $a"`);
  await ask("typo");
  await project.pendingQuestion("typo");
  const refused = await project.cru("questions", "answer", "typo", "Postgers");
  assert.equal(refused.code, 2, JSON.stringify(refused));
  assert.match(refused.stderr, /not one of the options: SQLite, Postgres\n {2}.*--free-text/);
  assert.match(await ok(project, "questions", "answer", "typo", "postgres"), /^answered typo with "Postgres": /);
  await project.outputWith("typo", "got Postgres");
  await ask("own");
  const { id } = await project.pendingQuestion("own");
  await ok(project, "questions", "answer", "own", "neither", "--free-text");
  await project.outputWith("own", "got neither");
  assert.match(await ok(project, "questions", "show", id), /^own asks: Which DB\?\n {2}1\) SQLite\n/);
});

test("a task alone is no command: what can have been meant is said, and nothing is started", async (t) => {
  const project = await Project.started({}, t);
  const { code, stderr } = await project.cru("run", "fix the bug");
  assert.equal(code, 3, stderr);
  assert.match(stderr, /cru run \w+ 'fix the bug'\n/);
  assert.deepEqual((await project.get("/agents")).json.agents, []);
});

test("outside a project the verbs that look say so, and create nothing", async (t) => {
  const project = new Project();
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "cru-nowhere-"));
  t.after(async () => {
    await project.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const looking = ["ps", "crew", "logs x", "show x", "wait x", "kill x", "restart x", "rm x", "send x y", "attach x", "events",
    "questions", "questions list", "questions show x", "questions answer x y", "work", "work list", "work claim", "work show x", "work why x", "work cancel x",
    "locks", "locks list", "locks release a", "handoffs", "handoffs show x", "memory", "memory recall x", "teams", "teams validate", "teams up", "teams down",
    "peers", "peers cleanup", "guardrails ls", "agents", "agents list", "agents show explorer", "agents validate", "chats", "sessions", "sessions show x",
    "sessions prune", "notes", "notes search x", "notes status", "notes index", "trust", "untrust", "config", "config path", "open", "pair", "pair list",
    "world", "live", "live show x", "say hello", "daemon restart"];
  for (const line of looking) {
    const { code, stderr } = await project.cru(...line.split(" "), { cwd: folder });
    assert.equal(code, 3, `${line}: ${stderr}`);
    assert.match(stderr, /is not in a project/, line);
    assert.deepEqual(readdirSync(folder), [], line);
  }
  for (const line of ["doctor", "hooks status", "daemon status", "version"]) {
    await project.cru(...line.split(" "), { cwd: folder });
    assert.deepEqual(readdirSync(folder), [], line);
  }
  mkdirSync(join(folder, ".git"));
  assert.equal((await project.cru("doctor", { cwd: folder })).code, 0);
  assert.deepEqual(readdirSync(folder), [".git"], "doctor only looks");
});

test("a port that is set and taken disables nothing; the port that was found is remembered", async (t) => {
  const other = net.createServer();
  const port = await new Promise((done) => other.listen(0, "127.0.0.1", () => done(other.address().port)));
  const project = new Project({ user_config: `daemon: {port: ${port}}\n` });
  t.after(async () => {
    await project.close();
    other.close();
  });
  const config = await project.cru("config");
  assert.equal(config.code, 0, JSON.stringify(config));
  assert.match(config.stderr, new RegExp(`port ${port}, which .*config\\.yaml.* sets, is used by another program`));
  const doctor = await project.cru("doctor");
  assert.equal(doctor.code, 0, JSON.stringify(doctor));
  assert.match(doctor.stdout, new RegExp(`warn +trouble +port ${port}`));
  const url = () => readFileSync(project.path(".coven/url"), "utf8").trim();
  let before;
  do {
    before = url();
    assert.notEqual(new URL(before).port, String(port));
    await ok(project, "daemon", "restart");
  } while (url() !== before && await isTaken(new URL(before).port));  // by a daemon of another test, in between
  assert.equal(url(), before, "the same port again");
  await new Promise((closed) => other.close(closed));
  await ok(project, "daemon", "restart");
  assert.equal(new URL(url()).port, String(port), "the one that is set, as soon as it is free");
});

test("the example of teams.yaml is the one in its documentation, and runs", async (t) => {
  const example = readFileSync(join(repository, "examples/team/teams.yaml"), "utf8");
  const page = readFileSync(join(repository, "docs/formats/teams.md"), "utf8");
  assert.equal(page.match(/```yaml\n([^]*?)```/)[1], example.replace(/^#.*\n/, ""));
  const project = await Project.started({ bin: [dirname(cru_bin)] }, t);
  cpSync(join(repository, "examples/team"), project.root, { recursive: true });
  await ok(project, "trust", "--yes");
  assert.equal(await ok(project, "teams", "up", "--", "sh", "member.sh"), "started lead (run lead)\nstarted coder (run coder)\n");
  await waitFor(async () => (await project.get("/work/greeting")).json.status === "completed", { what: "the worker completes the work" });
  assert.equal(readFileSync(project.path("greeting.txt"), "utf8"), "hello\n");
  assert.match(await ok(project, "logs", "coder"), /^I am coder, a worker; I can: shell\n/);
  for (const id of ["lead", "coder"]) assert.equal((await project.ended(id)).status, "completed");
});

test("a note is found right after it was written; agents and our own files are no notes", async (t) => {
  const project = await Project.started({}, t);
  await ok(project, "agents", "new", "zeppelin-expert", "--description", "Knows the zeppelin");
  writeFileSync(project.path("a.md"), "# Aeroplanes\n");
  assert.match(await ok(project, "notes"), /a\.md/);
  assert.doesNotMatch(await ok(project, "notes"), /zeppelin/);
  await ok(project, "notes", "search", "aeroplanes");
  for (const word of ["gyroscope", "catamaran", "xylophone"]) {
    writeFileSync(project.path(`${word}.md`), `# The ${word}\n`);
    assert.match(await ok(project, "notes", "search", word), new RegExp(`${word}\\.md:1`), word);
  }
});

test("doctor names what agents get of the account, shows no value, and tells the confinement in force", async (t) => {
  const project = new Project({ user_config: "confine: off\n" });
  t.after(() => project.close());
  const bin = project.path("bin");
  mkdirSync(bin);
  for (const name of ["claude", "codex"]) writeFileSync(join(bin, name), "#!/bin/sh\n", { mode: 0o755 });
  project.env.PATH = `${bin}:${project.env.PATH}`;
  await project.startDaemon();
  const env = { ANTHROPIC_API_KEY: "sk-not-to-be-shown", HTTPS_PROXY: "http://not-to-be-shown:1", OPENAI_API_KEY: "", CODEX_API_KEY: "", CODEX_HOME: project.path("nowhere") };
  const { stdout } = await project.cru("doctor", { env });
  assert.match(stdout, /^ok +claude +\S+\/bin\/claude; account by ANTHROPIC_API_KEY of this shell/m);
  assert.match(stdout, /^warn +codex +\S+\/bin\/codex; no account seen: no \S+\/nowhere\/auth\.json[^]*keyring[^\n]*\n +→ codex login/m);
  assert.match(stdout, /^ok +network +agents get .*HTTPS_PROXY/m);
  assert.match(stdout, /^warn +confinement +`confine: off` is set/m);
  assert.doesNotMatch(stdout, /not-to-be-shown/);
});
