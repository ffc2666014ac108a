// What a run may use up, and what it may leave behind.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { isAlive, processesWith, Project, waitFor } from "./harness.mjs";

test("a run that reaches runs.output_limit is ended: failed, output_limit, its tree gone", async (t) => {
  const project = await Project.started({ config: "runs: {output_limit: 256KiB, kill_grace: 500ms}\n" }, t);
  const small = await project.sh("small", "echo little; read go");
  const { pid } = await project.sh("flood", "trap '' TERM; (trap '' TERM; sleep 600) & i=0; while :; do i=$((i+1)); echo line $i; done");
  const run = await project.ended("flood");
  assert.deepEqual([run.status, run.error], ["failed", "output_limit"], JSON.stringify(run));
  assert.match(run.error_detail, /limit/);
  assert.ok(!isAlive(pid));
  await waitFor(() => processesWith(`CRU_TASK_ID=flood`).every((other) => !processesWith(`CRU_PROJECT=${project.root}`).includes(other)), { what: "its tree is gone" });
  const size = statSync(project.file("flood")).size;
  assert.ok(size >= 256 << 10 && size < 4 << 20, `${size} bytes: reached, and not far beyond`);
  const lines = project.fileLines("flood");
  lines.forEach(({ seq, data }, index) => assert.deepEqual([seq, data], [index + 1, `line ${index + 1}`]));
  assert.equal(run.last_seq, lines.length);
  const [event] = await project.events("?entity=flood&type=agent.failed");
  assert.equal(event.data.error, "output_limit");
  assert.deepEqual([(await project.run("small")).status, isAlive(small.pid)], ["running", true], "others go on");
  const verb = await project.cru("run", "--id", "again", "--", "sh", "-c", "while :; do echo on and on; done");
  assert.equal(verb.code, 6, verb.stderr);
  assert.match(verb.stderr, /output_limit/);
});

test("a worktree with uncommitted work survives its run's retention, a clean one goes", async (t) => {
  const project = await Project.started({ git: true, config: "store: {retention: {records: 1s, events: 24h}}\n" }, t);
  const dirty = await project.cru("run", "--worktree", "--id", "dirty", "--", "sh", "-c", "echo precious > new-file; echo changed >> README; echo done");
  assert.deepEqual([dirty.code, dirty.stdout], [0, "done\n"], JSON.stringify(dirty));
  const clean = await project.cru("run", "--worktree", "--id", "clean", "--", "sh", "-c",
    "echo kept > committed && git add committed && git -c user.name=t -c user.email=t@example.com commit -qm work && echo done");
  assert.deepEqual([clean.code, clean.stdout], [0, "done\n"], JSON.stringify(clean));
  const { ended_at } = await project.run("clean");
  await waitFor(() => Date.now() > Date.parse(ended_at) + 1000, { what: "the retention time has passed" });
  await project.restartDaemon();
  for (const id of ["dirty", "clean"]) {
    await waitFor(async () => (await project.get(`/agents/${id}`)).status === 404, { what: `the record of ${id} is purged` });
    await waitFor(() => !existsSync(project.file(id)), { what: `the output of ${id} is purged` });
  }
  await waitFor(() => !existsSync(project.path(".coven/worktrees/clean")), { what: "the clean worktree is removed" });
  assert.equal(readFileSync(project.path(".coven/worktrees/dirty/new-file"), "utf8"), "precious\n");
  assert.match(readFileSync(project.path(".coven/worktrees/dirty/README"), "utf8"), /changed/);
  assert.match(project.git("worktree", "list"), /worktrees\/dirty/);
  assert.equal(project.git("show", "coven/clean:committed"), "kept\n", "the branch keeps what was committed");
  // The next run of that id finds the work where it was left.
  const again = await project.cru("run", "--worktree", "--id", "dirty", "--", "cat", "new-file");
  assert.deepEqual([again.code, again.stdout], [0, "precious\n"], JSON.stringify(again));
});
