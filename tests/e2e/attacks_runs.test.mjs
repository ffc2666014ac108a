// Attacks with processes and commands: what outlives its run, what runs on another's word, who stops whom. Each worked once.
// Everything here is an ordinary user's, also where the tests are root's.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isAlive, waitFor } from "./harness.mjs";
import { cast, told } from "./harness/cast.mjs";
import { UserProject, userProgram } from "./harness/ordinary_user.mjs";

const program = userProgram();

class OrdinaryProject extends UserProject {
  async show(id) { return JSON.parse(await this.must("show", id, "--json")); }
  /// A shell script as a run.
  run(id, script, ...flags) { return this.must("run", "--detach", "--id", id, ...flags, "--", "sh", "-c", script); }
  /// The run's record, once it has ended.
  async over(id) {
    await this.cru("wait", id);
    return this.show(id);
  }
  printed(id) { return this.must("logs", id); }
}

/// The living processes with this word in their command line, whatever they did to their environment.
const living = (word) => readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
  try { return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(word); } catch { return false; }
}).filter(isAlive);
let number = 0;
/// A word that no other process has. What carries it at the end of the test is killed, by its pid.
function mark(t) {
  const word = `attack-${process.pid}-${++number}`;
  t.after(() => { for (const pid of living(word)) try { process.kill(pid, "SIGKILL"); } catch { /* gone */ } });
  return word;
}
const some = (word) => waitFor(() => living(word).length > 0, { what: `${word} lives` });

// A process that stays, deaf to TERM and HUP, for 100 s at most.
const stays = (word) => `perl -e '$SIG{TERM} = $SIG{HUP} = "IGNORE"; my $end = time + 100; sleep 1 while time < $end' ${word}`;
// A chain: each forks the next and ends. 300,000 links and 100 s at most. No look through /proc is fast enough to find the one
// that lives, so each leaves a byte in a file: a chain lives if that grows.
const chain = (word) => `perl -e 'use POSIX; $SIG{TERM} = $SIG{HUP} = "IGNORE"; open my $f, ">>", "$ARGV[0]"; my $end = time + 100; for (1 .. 300000) { my $pid = fork // next; exit if $pid; POSIX::setsid(); syswrite $f, "x"; last if time > $end }' ${word}`;
const links = (project, word) => { try { return statSync(project.path(word)).size; } catch { return 0; } };
const chained = (project, word, count = 0) => waitFor(() => links(project, word) > count + 20, { what: "the chain lives" });
/// That a chain does not grow is worth something only while another, of 60 links, does.
async function assertStill(project, word, what) {
  const before = links(project, word), other = `${word}-control`;
  spawnSync("sh", ["-c", chain(other).replace("300000", "60")], { cwd: project.root });
  await waitFor(() => links(project, other) >= 60, { what: "the other chain has grown" });
  assert.equal(links(project, word), before, what);
}
const away = ">/dev/null 2>&1 </dev/null &";

for (const [what, before] of [["env -u CRU_RUN", "env -u CRU_RUN setsid"], ["env -i setsid", "env -i /usr/bin/setsid"]]) {
  test(`a process that took off its mark (${what}) is gone when its run is reported killed`, async (t) => {
    const project = await OrdinaryProject.started({}, t), word = mark(t);
    await project.run("other", "read never");  // the last run of a keeper took everything with it before, too
    await project.run("a", `(${before} ${stays(word)} ${away}); sleep 1000`);
    await some(word);
    await project.must("kill", "a", "--grace-seconds", "0", "--wait");
    assert.deepEqual(living(word), []);
    assert.deepEqual([(await project.show("a")).status, (await project.show("a")).left_behind], ["killed", false]);
    assert.equal((await project.show("other")).status, "running");
  });

  test(`a process that took off its mark (${what}) is gone when its run has ended by itself`, async (t) => {
    const project = await OrdinaryProject.started({ config: "runs:\n  kill_grace: 1s\n" }, t), word = mark(t);
    await project.run("other", "read never");
    await project.run("a", `(${before} ${stays(word)} ${away}); while [ ! -e go ]; do sleep 0.05; done; exit 3`);
    await some(word);
    writeFileSync(project.path("go"), "");
    const { status, exit_code } = await project.over("a");
    assert.deepEqual([status, exit_code, living(word)], ["failed", 3, []]);
  });
}

for (const [what, before] of [["marked", ""], ["unmarked", "env -u CRU_RUN"]])
  test(`a fork chain, ${what}, that ignores TERM has ended when its run is reported killed`, async (t) => {
    const project = await OrdinaryProject.started({}, t), word = mark(t);
    await project.run("other", "read never");
    for (let round = 0; round < 8; ++round) {
      await project.run(`a${round}`, `(${before} ${chain(word)} ${away}); sleep 1000`);
      await chained(project, word, links(project, word));
      await project.must("kill", `a${round}`, "--grace-seconds", String(round % 2), "--wait");
      await assertStill(project, word, `round ${round}`);
    }
    assert.equal((await project.show("a0")).left_behind, false);
  });

test("the keeper is killed: an orphan without a mark and a fork chain are gone when their runs are reported failed", async (t) => {
  const project = await OrdinaryProject.started({}, t), word = mark(t);
  await project.run("a", `(env -i /usr/bin/setsid ${stays(word)} ${away}); sleep 1000`);
  const links_of_b = mark(t);
  await project.run("b", `(env -u CRU_RUN ${chain(links_of_b)} ${away}); sleep 1000`);
  await chained(project, links_of_b);
  await some(word);
  process.kill(project.keeperPid, "SIGKILL");
  const ends = [await project.over("a"), await project.over("b")];
  assert.deepEqual(living(word), []);
  await assertStill(project, links_of_b);
  for (const { status, error, left_behind } of ends) assert.deepEqual([status, error, left_behind], ["failed", "keeper lost", false]);
});

test("what cannot be proved gone is said: the keeper and the supervisor are killed at once", async (t) => {
  const project = await OrdinaryProject.started({}, t), word = mark(t);
  await project.run("a", `(env -i /usr/bin/setsid ${stays(word)} ${away}); exec sleep 1000`);
  await some(word);
  const { pid } = await project.show("a");
  const supervisor = Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);
  assert.equal(readFileSync(`/proc/${supervisor}/comm`, "utf8"), "cru-run\n");
  process.kill(project.keeperPid, "SIGSTOP");  // it would take over what the supervisor loses
  process.kill(supervisor, "SIGKILL");
  process.kill(project.keeperPid, "SIGKILL");
  const run = await project.over("a");
  assert.deepEqual([run.status, run.left_behind], ["failed", true]);
  assert.match(run.error_detail, /may still be running$/);
  assert.match((await project.cru("ps")).stderr, /^\S* ?a: .*may still be running$/m);
});

test("a supervisor that is stopped by its run does not keep it from being killed", async (t) => {
  const project = await OrdinaryProject.started({}, t), word = mark(t);
  await project.run("a", `kill -STOP $PPID; ${stays(word)}`);
  await some(word);
  await project.must("kill", "a", "--grace-seconds", "0", "--wait");
  assert.deepEqual([(await project.show("a")).status, living(word)], ["killed", []]);
});

test("a supervisor that is killed by its run loses nothing", async (t) => {
  const project = await OrdinaryProject.started({}, t), word = mark(t);
  await project.run("other", "read never");
  await project.run("a", `(env -i /usr/bin/setsid ${stays(word)} ${away}); while [ ! -e go ]; do sleep 0.05; done; kill -KILL $PPID; sleep 1000`);
  await some(word);
  writeFileSync(project.path("go"), "");
  const { status, left_behind } = await project.over("a");
  assert.deepEqual([status, left_behind, living(word)], ["failed", false, []]);
  assert.equal((await project.show("other")).status, "running");
});

test("one run does not stop another, by a verb or over HTTP; itself and what it has started it may", async (t) => {
  const project = await OrdinaryProject.started({}, t);
  const knock = `perl -e 'use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => ".coven/covend.sock") or die; print $s "POST /agents/victim/kill HTTP/1.1\\r\\nHost: localhost\\r\\n" . ($ENV{CRU_TOKEN} ? "Authorization: Bearer $ENV{CRU_TOKEN}\\r\\n" : "") . "Content-Type: application/json\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\n{}"; print "http ", <$s> =~ /(\\d{3})/, "\\n"'`;
  await project.run("victim", "read never");
  await project.run("killer", [
    `${program} kill victim --grace-seconds 0; echo "verb $?"`,
    `env -u CRU_RUN -u CRU_TASK_ID ${program} kill victim; echo "unmarked $?"`,
    knock,
    `${program} run --detach --id child -- sh -c 'read never'; ${program} kill child --grace-seconds 0 --wait; echo "child $?"`,
    `${program} kill killer --grace-seconds 0; sleep 1000`,
  ].join("; "));
  const { status } = await project.over("killer");
  const said = (await project.printed("killer")).split("\n");
  assert.equal(status, "killed", said.join("\n"));
  assert.deepEqual(said.filter((line) => /^(verb|unmarked|http|child) \d/.test(line)), ["verb 4", "unmarked 4", "http 403", "child 0"], said.join("\n"));
  assert.deepEqual([(await project.show("victim")).status, (await project.show("child")).status], ["running", "killed"]);
});

test("an agent of which nothing is known, an orphan without marks in a session of its own, changes nothing", async (t) => {
  const project = await OrdinaryProject.started({}, t);
  writeFileSync(project.path("orphan.sh"), [
    "while read -r _ _ _ parent _ < /proc/$$/stat; ! grep -q -e cru-run -e '^cru$' /proc/$parent/comm; do :; done",  // its own has ended
    `${program} locks acquire src/a.cc; echo "lock $?"`, `${program} run --detach --id made -- true; echo "run $?"`,
    `${program} work submit --task-type t --description d; echo "work $?"`, "echo tried all"].join("\n"));
  project.own();
  await project.run("sly", `(env -i PATH="$PATH" HOME="$HOME" setsid sh orphan.sh >said 2>&1 </dev/null &); read never`);
  const said = await waitFor(() => { const text = readFileSync(project.path("said"), "utf8"); return text.includes("tried all") && text; }, { what: "it has tried all" });
  assert.deepEqual(said.split("\n").filter((line) => /^(lock|run|work) \d+$/.test(line)).map((line) => line.replace(/[1-9]\d*$/, "refused")), ["lock refused", "run refused", "work refused"], said);
  assert.deepEqual([JSON.parse(await project.must("locks", "list", "--json")).result, JSON.parse(await project.must("work", "list", "--json")).tasks ?? []], [[], []]);
  assert.notEqual((await project.cru("show", "made")).code, 0);
});

test("a hook that the repository has does not run when the daemon makes a worktree", async (t) => {
  const project = await OrdinaryProject.started({ git: true }, t), word = mark(t);
  const hook = project.path(".git/hooks/post-checkout");
  mkdirSync(project.path(".git/hooks"), { recursive: true });
  writeFileSync(hook, `#!/bin/sh\ntouch '${project.path("hooked")}'\n(setsid ${stays(word)} ${away})\n`);
  chmodSync(hook, 0o755);
  project.own();
  await project.must("run", "--detach", "--id", "w", "--worktree", "--", "sh", "-c", "test -e README");
  assert.equal((await project.over("w")).status, "completed");
  assert.ok(!existsSync(project.path("hooked")));
  assert.deepEqual(living(word), []);
});

test("a command that writes .git/commondir cannot have the person's git run something", async (t) => {
  const project = new OrdinaryProject({ git: true });
  t.after(() => project.close());
  project.own();
  const evil = `cp -r .git evil && git config --file evil/config core.fsmonitor "touch '${project.path("owned")}'; false" && echo ../evil > .git/commondir`;
  const ended = await project.spawn(["confine", "--root", project.root, "--", "sh", "-c", evil]).ended;
  // Where there are no namespaces it could not even be made.
  assert.ok(ended.code !== 0 || /may not create .*commondir/.test(ended.stderr), JSON.stringify(ended));
  assert.ok(!existsSync(project.path(".git/commondir")));
  const status = await project.spawn(["status", "--short"], { argv0: "git" }).ended;
  assert.equal(status.code, 0, status.stderr);
  assert.ok(!existsSync(project.path("owned")));
});

/// A chat whose primary submits work with a verify command, claims it and says that it is done.
async function verified(t, permissions, verify) {
  const scene = await cast(t, {
    assistant: [{ text: "I submit.", tools: [{ name: "submit_work", input: { task_id: "proved", task_type: "t", description: "d", max_attempts: 1, verify } }] },
      { text: "I claim.", tools: [{ name: "get_work", input: {} }] },
      { text: "I am done.", tools: [{ name: "complete_work", input: { task_id: "proved", success: true } }] }, { text: "done" }],
  });
  const chat = await scene.crew.chat({ message: "go", permissions });
  assert.equal(await chat.answer(), "done");
  return { ...scene, chat, results: told(scene.asked("assistant")) };
}

test("verify by an agent with DatabaseWrite only is refused when it is submitted", async (t) => {
  const { crew, results } = await verified(t, ["DatabaseRead", "DatabaseWrite"], ["touch", "owned"]);
  assert.ok(results[0].is_error, JSON.stringify(results));
  assert.match(results[0].text, /ProcessSpawn/);
  assert.ok(!existsSync(crew.path("owned")));
});

test("verify runs with the permissions of whoever submitted it: without FilesystemWrite it writes nothing", async (t) => {
  const { crew, results } = await verified(t, ["DatabaseRead", "DatabaseWrite", "ProcessSpawn"], ["sh", "-c", "touch owned; cat .coven/token && exit 0; test ! -e owned"]);
  assert.match(results[2].text, /"status":"completed"/, JSON.stringify(results));
  assert.doesNotMatch(results[2].text, new RegExp(readFileSync(crew.path(".coven/token"), "utf8").trim()));
  assert.ok(!existsSync(crew.path("owned")));
});

test("with FilesystemWrite a verify command writes in the project, and nowhere else", async (t) => {
  const { crew, results } = await verified(t, ["DatabaseRead", "DatabaseWrite", "ProcessSpawn", "FilesystemWrite"], ["sh", "-c", "touch built; touch \"$HOME/owned\"; test -e built"]);
  assert.match(results[2].text, /"status":"completed"/, JSON.stringify(results));
  assert.ok(existsSync(crew.path("built")));
  assert.ok(!existsSync(join(crew.home, "owned")));
});
