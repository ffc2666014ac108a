// The keeper itself is killed: nothing hangs, no process is orphaned, every run is failed with a clear error.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isAlive, processesWith, Project, sleep, waitFor } from "./harness.mjs";

const wild = "setsid sh -c 'trap \"\" TERM; sleep 611 & sleep 612' & (sleep 613 &) ; i=0; while :; do i=$((i+1)); echo line $i; sleep 0.05; done";

async function startWild(project, count) {
  const pids = [];
  for (let i = 0; i < count; ++i) pids.push((await project.sh(`wild-${i}`, wild)).pid);
  for (let i = 0; i < count; ++i) await project.outputWith(`wild-${i}`, "line 3");
  return pids;
}

async function allFailed(project, count, pids) {
  for (let i = 0; i < count; ++i) {
    const run = await project.ended(`wild-${i}`);
    assert.equal(run.status, "failed", JSON.stringify(run));
    assert.ok(run.error && run.ended_at, JSON.stringify(run));
    const lines = await project.output(`wild-${i}`);
    lines.forEach((line, index) => assert.deepEqual([line.seq, line.data], [index + 1, `line ${index + 1}`]));
    assert.equal(run.last_seq, lines.length, "what was written before the end is all there");
  }
  assert.deepEqual(pids.filter(isAlive), []);
  await waitFor(() => processesWith(`CRU_PROJECT=${project.root}`).length === 0, { what: "no process of a run is left" });
}

test("EX-08 the keeper is killed under a living daemon", { timeout: 120_000 }, async (t) => {
  const project = await Project.started({}, t);
  const pids = await startWild(project, 6);
  const keeper = project.keeperPid;
  assert.ok(isAlive(keeper));
  const waiting = project.get("/agents/wild-0?wait_seconds=30", { timeout: 40_000 });
  process.kill(keeper, "SIGKILL");
  assert.equal((await waiting).json.status, "failed", "a waiting call is answered");
  await allFailed(project, 6, pids);
  assert.equal((await project.get("/health")).status, 200);
  await project.sh("after", "echo works");
  assert.equal((await project.ended("after")).status, "completed", "a new keeper takes over");
  assert.notEqual(project.keeperPid, keeper);
});

test("EX-08 keeper and daemon are killed together, over and over", { timeout: 180_000 }, async (t) => {
  const project = await Project.started({}, t);
  for (let round = 0; round < 4; ++round) {
    const pids = await startWild(project, 3);
    const keeper = project.keeperPid;
    if (round % 2) {
      await project.killDaemon();
      process.kill(keeper, "SIGKILL");
    } else {
      process.kill(keeper, "SIGKILL");
      await sleep(round * 5);
      await project.killDaemon();
    }
    await project.startDaemon();
    for (let i = 0; i < 3; ++i) {
      const run = await project.ended(`wild-${i}`);
      assert.equal(run.status, "failed", JSON.stringify(run));
      assert.match(run.error, /daemon restarted|keeper/);
    }
    await waitFor(() => !pids.some(isAlive) && processesWith(`CRU_PROJECT=${project.root}`).length === 0, { what: "no process of a run is left" });
  }
});
