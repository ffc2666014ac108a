// The verbs, through the real binary.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { cru_bin, isAlive, Project, waitFor } from "./harness.mjs";

test("cru run shows the output and ends as the run does; the daemon starts by itself (EX-01)", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  const good = await project.cru("run", "--id", "good", "--", "sh", "-c", "echo to stdout; echo to stderr >&2");
  assert.equal(good.code, 0, JSON.stringify(good));
  assert.match(good.stdout, /^to stdout$/m);
  assert.match(good.stderr, /to stderr/);
  assert.ok(isAlive(project.daemonPid), "the verb started the daemon");
  const bad = await project.cru("run", "--id", "bad", "--", "sh", "-c", "exit 3");
  assert.equal(bad.code, 6, JSON.stringify(bad));
  assert.match(bad.stderr, /3/);
  const json = await project.cru("run", "--json", "--id", "data", "--", "sh", "-c", "echo noise");
  const run = JSON.parse(json.stdout);
  assert.deepEqual([json.code, run.task_id, run.status, json.stderr], [0, "data", "completed", ""]);
  const made_up = await project.cru("run", "--detach", "--", "true");
  assert.match(made_up.stdout, /^[A-Za-z0-9_-]{1,64}\n$/);
});

test("cru ps, show and logs tell what ran; --json is data and nothing else", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("talk", "for i in 1 2 3 4 5; do echo line $i; done; echo oops >&2");
  await project.ended("talk");
  const ps = await project.cru("ps");
  assert.equal(ps.code, 0);
  assert.match(ps.stdout, /talk\s+.*completed/);
  const json = await project.cru("ps", "--json");
  assert.equal(json.stderr, "");
  const list = JSON.parse(json.stdout);
  assert.equal((list.agents ?? list)[0].task_id, "talk");
  const logs = await project.cru("logs", "talk");
  assert.equal(logs.stdout.split("\n").filter((line) => line.startsWith("line ")).length, 5);
  const since = await project.cru("logs", "talk", "--since", "3", "--stream", "stdout");
  assert.ok(!since.stdout.includes("line 3\n") && since.stdout.includes("line 5"), since.stdout);
  const show = await project.cru("show", "talk", "--json");
  assert.equal(JSON.parse(show.stdout).exit_code, 0);
  const prefix = await project.cru("logs", "ta");
  assert.equal(prefix.code, 0, "a prefix of an id will do");
});

test("cru logs -f follows through a killed daemon to the end of the run (EX-04)", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("long", "echo first; read go; echo last");
  const follow = project.spawn(["logs", "-f", "long"]);
  await waitFor(() => follow.text.stdout.includes("first"));
  await project.killDaemon();
  await project.cru("send", "long", "go");
  const { code, stdout, stderr } = await follow.ended;
  assert.deepEqual([code, stdout], [0, "first\nlast\n"], stderr);
});

test("colours pass to a terminal, and nothing else that it would obey; a pipe gets none, the file keeps the bytes", async (t) => {
  const project = await Project.started({}, t);
  await project.start("nasty", ["printf", "\\033]0;owned\\007\\033[31mred\\033[0m \\342\\200\\256bidi\\n"]);
  await project.ended("nasty");
  const shown = await project.onTerminal("logs", "nasty");
  assert.ok(!shown.stdout.includes("\x1b]") && !shown.stdout.includes("\u202e"), JSON.stringify(shown.stdout));
  assert.ok(shown.stdout.includes("\x1b[31mred\x1b[0m "), JSON.stringify(shown.stdout));
  const plain = await project.onTerminal("logs", "nasty", "--no-color");
  assert.ok(plain.stdout.includes("red <U+202E>bidi") && !plain.stdout.includes("\x1b"), JSON.stringify(plain.stdout));
  assert.equal((await project.cru("logs", "nasty")).stdout, "\x1b]0;owned\x07red \u202ebidi\n", "a pipe gets what was printed, without colours");
  assert.equal((await project.cru("logs", "nasty", "--raw")).stdout, "\x1b]0;owned\x07\x1b[31mred\x1b[0m \u202ebidi\n");
  assert.equal(project.fileLines("nasty")[0].data, "\x1b]0;owned\x07\x1b[31mred\x1b[0m \u202ebidi");
});

test("cru send and kill reach a run", async (t) => {
  const project = await Project.started({}, t);
  await project.start("cat", ["cat"]);
  assert.equal((await project.cru("send", "cat", "hello there")).code, 0);
  await project.outputWith("cat", "hello there");
  assert.equal((await project.cru("send", "cat", "--eof")).code, 0);
  assert.equal((await project.ended("cat")).status, "completed");
  await project.start("sleeper", ["sleep", "600"]);
  assert.equal((await project.cru("kill", "sleeper")).code, 0);
  assert.equal((await project.ended("sleeper")).status, "killed");
  const again = await project.cru("kill", "sleeper");
  assert.equal(again.code, 1, JSON.stringify(again));
});

test("cru questions: listed, answered, and answered once only (EX-12)", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("asks", "echo '::cru-ask {\"prompt\":\"Colour?\",\"options\":[\"red\",\"blue\"]}'; read a; echo \"it is $a\"");
  const { id } = await project.pendingQuestion("asks");
  const list = await project.cru("questions", "list", "--pending");
  assert.match(list.stdout, /Colour\?/);
  assert.equal((await project.cru("questions", "answer", id, "2")).code, 0);
  assert.equal((await project.ended("asks")).status, "completed");
  assert.equal((await project.output("asks")).at(-1).data, "it is blue");
  const again = await project.cru("questions", "answer", id, "red");
  assert.equal(again.code, 1, JSON.stringify(again));
  assert.match(again.stderr, /answered/);
});

test("cru events prints the log, and -f goes on (EX-18)", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("one", "echo hi");
  await project.ended("one");
  const events = await project.cru("events", "--json", "--entity", "one");
  assert.equal(events.code, 0, events.stderr);
  assert.match(events.stdout, /agent\.completed/);
  const follow = project.spawn(["events", "-f"]);
  // It tells what happens from when it is there: run something until it is.
  let count = 0;
  await waitFor(async () => {
    await project.sh(`more-${++count}`, "echo again");
    return /agent\.completed +more-/.test(follow.text.stdout);
  }, { every: 200, what: "a new run is told" });
  follow.kill("SIGINT");
  assert.equal((await follow.ended).code, 130);
});

test("cru daemon start, status, restart and stop; runs go on (EX-08)", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  const before = await project.cru("daemon", "status");
  assert.notEqual(before.code, 0);
  assert.equal((await project.cru("daemon", "start")).code, 0);
  assert.equal((await project.cru("daemon", "start")).code, 0, "starting twice is no error");
  const status = await project.cru("daemon", "status");
  assert.equal(status.code, 0);
  assert.match(status.stdout + status.stderr, /http:\/\/127\.0\.0\.1:\d+/);
  const run = await project.sh("goes-on", "echo up; sleep 600");
  const first = project.daemonPid;
  assert.equal((await project.cru("daemon", "restart")).code, 0);
  assert.notEqual(project.daemonPid, first);
  assert.deepEqual([(await project.run("goes-on")).status, isAlive(run.pid)], ["running", true]);
  assert.equal((await project.cru("daemon", "stop")).code, 0);
  await waitFor(() => !existsSync(project.socket) || !isAlive(project.daemonPid));
  assert.ok(isAlive(run.pid), "a stopped daemon leaves its runs alive");
  assert.equal((await project.cru("ps")).code, 0, "the next verb starts it again");
  assert.equal((await project.run("goes-on")).status, "running");
  const logs = await project.cru("daemon", "logs");
  assert.equal(logs.code, 0, logs.stderr);
});

test("usage: an unknown verb or flag exits 2, help exits 0, the version is printed", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  for (const argv of [["frobnicate"], ["ps", "--no-such-flag"], ["run"], ["logs"]]) {
    const { code, stdout, stderr } = await project.cru(...argv);
    assert.equal(code, 2, `${argv}: ${stderr}`);
    assert.equal(stdout, "");
    assert.match(stderr, /./);
  }
  for (const argv of [["--help"], ["run", "--help"], ["version"], ["--version"]]) {
    const { code, stdout, stderr } = await project.cru(...argv);
    assert.equal(code, 0, `${argv}: ${stderr}`);
    assert.match(stdout, /./);
  }
});

test("cru attach is a real terminal, and its key detaches", async (t) => {
  const project = await Project.started({}, t);
  const socket = `cru-e2e-${process.pid}`;
  const tmux = (...argv) => {
    const { status, stdout, stderr } = spawnSync("tmux", ["-L", socket, "-f", "/dev/null", ...argv], { encoding: "utf8", env: { ...project.env, TERM: "xterm-256color", SHELL: "/bin/sh" }, cwd: "/" });
    if (status) throw new Error(`tmux ${argv[0]}: ${stderr}`);
    return stdout;
  };
  t.after(() => { try { tmux("kill-server"); } catch { /* gone with its last window */ } });
  await project.start("term", ["sh", "-c", "stty size; [ -t 0 ] && echo on a terminal; while read -r line; do echo \"you said $line\"; done"], { pty: true });
  await project.outputWith("term", "on a terminal");
  tmux("new-session", "-d", "-c", project.root, "-x", "100", "-y", "30", "-s", "a", `${cru_bin} attach term; echo left with $?; sleep 600`);
  const screen = () => tmux("capture-pane", "-p", "-t", "a");
  await waitFor(() => screen().includes("on a terminal"), { what: "the screen so far is shown" });
  tmux("send-keys", "-t", "a", "hello", "Enter");
  await waitFor(() => screen().includes("you said hello"));
  tmux("send-keys", "-t", "a", "C-]", "d");
  await waitFor(() => screen().includes("left with 0"), { what: "the key detaches" }).catch((error) => { throw new Error(`${error.message}\n${screen()}`); });
  assert.equal((await project.run("term")).status, "running", "the run does not mind");
});
