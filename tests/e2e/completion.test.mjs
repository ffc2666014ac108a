// Agent Completion: EX-07 … EX-09, as a user sees it.
import assert from "node:assert/strict";
import { readdirSync, realpathSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { isAlive, Project, waitFor } from "./harness.mjs";

const untilFile = (path) => `while [ ! -e ${path} ]; do sleep 0.02; done`;

test("EX-07: the record of a run holds its metadata, from its first moment and after a crash", async (t) => {
  const project = await Project.started({ git: true }, t);
  const started = await project.sh("meta", "echo hi; read go");
  assert.equal(started.task_id, "meta");
  assert.equal(started.status, "running");
  assert.equal(realpathSync(started.worktree), project.root);
  assert.equal(started.branch, "trunk");
  assert.ok(isAlive(started.pid));
  assert.equal(started.output_file, ".coven/output/meta.jsonl");
  assert.deepEqual(started.argv, ["sh", "-c", "echo hi; read go"]);
  await project.outputWith("meta", "hi");
  await project.restartDaemon();
  const again = await project.run("meta");
  for (const key of ["task_id", "status", "worktree", "branch", "pid", "output_file", "argv", "started_at", "created_at"])
    assert.deepEqual(again[key], started[key], key);
});

test("EX-07: a run with its own worktree has its folder and branch recorded", async (t) => {
  const project = await Project.started({ git: true }, t);
  const run = await project.start("tree", ["sh", "-c", "pwd; git branch --show-current"], { worktree: true });
  assert.equal(run.branch, "coven/tree");
  assert.ok(run.worktree.endsWith(".coven/worktrees/tree"), run.worktree);
  assert.equal((await project.ended("tree")).status, "completed");
  assert.deepEqual((await project.output("tree")).map((line) => line.data), [project.path(".coven/worktrees/tree"), "coven/tree"]);
});

test("EX-08: a live run is taken back: no gap in its output, and its true exit", async (t) => {
  const project = await Project.started({}, t);
  const stop = project.path("stop");
  const { pid } = await project.start("live", ["perl", "-e", `$|=1; my $i=0; until (-e "${stop}") { print ++$i, "\\n"; select undef, undef, undef, .01 } exit 7`]);
  await waitFor(async () => (await project.run("live")).last_seq > 5);
  await project.killDaemon();
  assert.ok(isAlive(pid), "the agent goes on without the daemon");
  const before = project.fileLines("live").length;
  await waitFor(() => project.fileLines("live").length > before + 5, { what: "output goes on being written" });
  await project.startDaemon();
  const run = await project.run("live");
  assert.deepEqual([run.status, run.pid], ["running", pid]);
  const seen = (await project.run("live")).last_seq;
  await waitFor(async () => (await project.run("live")).last_seq > seen + 5, { what: "the new daemon goes on streaming" });
  writeFileSync(stop, "");
  const ended = await project.ended("live");
  assert.deepEqual([ended.status, ended.exit_code], ["failed", 7]);
  const lines = await project.output("live");
  lines.forEach((line, index) => assert.deepEqual([line.seq, line.data], [index + 1, String(index + 1)]));
});

test("EX-08: what ended while the daemon was down has its true status", async (t) => {
  const project = await Project.started({}, t);
  const go = project.path("go");
  await project.sh("good", `${untilFile(go)}; echo done`);
  await project.sh("bad", `${untilFile(go)}; exit 3`);
  await project.sh("shot", `${untilFile(go)}; kill -9 $$`);
  await project.killDaemon();
  writeFileSync(go, "");
  await waitFor(() => readdirSync(project.path(".coven/exits")).filter((name) => name.endsWith(".json")).length === 3, { what: "the keeper has written down all three ends" });
  await project.startDaemon();
  const good = await project.ended("good");
  assert.deepEqual([good.status, good.exit_code, good.error], ["completed", 0, null]);
  const bad = await project.ended("bad");
  assert.deepEqual([bad.status, bad.exit_code, bad.error], ["failed", 3, "daemon restarted"]);
  assert.match(bad.error_detail, /3/);
  const shot = await project.ended("shot");
  assert.deepEqual([shot.status, shot.signal, shot.error], ["failed", 9, "daemon restarted"]);
  assert.match(shot.error_detail, /9/);
  assert.deepEqual((await project.output("good")).map((line) => line.data), ["done"]);
});

test("EX-08: a run whose process and keeper are gone is failed with \"daemon restarted\"", async (t) => {
  const project = await Project.started({}, t);
  const { pid } = await project.sh("gone", "echo here; sleep 600");
  await project.outputWith("gone", "here");
  const keeper = project.keeperPid;
  await project.killDaemon();
  process.kill(keeper, "SIGKILL");
  await waitFor(() => !isAlive(keeper) && !isAlive(pid), { what: "the keeper and its run are gone" });
  await project.startDaemon();
  const run = await project.ended("gone");
  assert.deepEqual([run.status, run.error], ["failed", "daemon restarted"]);
  assert.ok(run.ended_at);
  assert.deepEqual((await project.output("gone")).map((line) => line.data), ["here"]);
});

test("EX-09: transitions are persisted with their times, each with its event", async (t) => {
  const project = await Project.started({ config: "runs: {kill_grace: 2s}\n" }, t);
  await project.sh("ok", "exit 0");
  await project.sh("fails", "echo why >&2; exit 4");
  await project.sh("stopped", "echo up; sleep 600");
  await project.outputWith("stopped", "up");
  const killed = await project.post("/agents/stopped/kill");
  assert.equal(killed.status, 200);
  const ends = { ok: await project.ended("ok"), fails: await project.ended("fails"), stopped: await project.ended("stopped") };
  assert.deepEqual(Object.values(ends).map((run) => run.status), ["completed", "failed", "killed"]);
  assert.equal(ends.fails.exit_code, 4);
  assert.match(ends.fails.error, /4/);
  for (const run of Object.values(ends)) {
    assert.ok(Date.parse(run.created_at) <= Date.parse(run.started_at) && Date.parse(run.started_at) <= Date.parse(run.ended_at), JSON.stringify(run));
  }
  for (const [id, last] of [["ok", "agent.completed"], ["fails", "agent.failed"], ["stopped", "agent.killed"]]) {
    const types = (await project.events(`?entity=${id}`)).map((event) => event.type).filter((type) => type !== "agent.output");
    assert.deepEqual(types, ["agent.starting", "agent.started", last]);
  }
  await project.restartDaemon();
  for (const id of Object.keys(ends)) assert.deepEqual(await project.run(id), ends[id]);
});

test("a kill ends the whole tree, also what ran away from it", async (t) => {
  const project = await Project.started({ config: "runs: {kill_grace: 500ms}\n" }, t);
  const script = "trap '' TERM; (trap '' TERM; sleep 601) & setsid sh -c 'trap \"\" TERM; echo away $$; exec sleep 602' & echo near $!; wait; sleep 603";
  const { pid } = await project.sh("tree", script);
  await project.outputWith("tree", "away");
  const away = Number((await project.output("tree")).find((line) => line.data.startsWith("away")).data.split(" ")[1]);
  assert.ok(isAlive(away));
  await project.post("/agents/tree/kill");
  assert.equal((await project.ended("tree")).status, "killed");
  await waitFor(() => !isAlive(pid) && !isAlive(away), { what: "every process of the tree is gone" });
});

test("starting a live id again is refused, an ended one goes on in the same file", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("again", "echo first; read go");
  const refused = await project.post("/tasks/again/start", { argv: ["true"] });
  assert.equal(refused.status, 409);
  await project.post("/agents/again/input", { text: "go" });
  await project.ended("again");
  await project.sh("again", "echo second");
  await project.ended("again");
  assert.deepEqual((await project.output("again")).map(({ seq, data }) => [seq, data]), [[1, "first"], [2, "second"]]);
});
