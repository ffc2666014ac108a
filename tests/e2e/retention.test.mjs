// Agent Output Retention and question clean-up: EX-13 … EX-16, as a user sees it.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { changeDatabase, Project, waitFor } from "./harness.mjs";

const brief = "store: {retention: {records: 1s, events: 24h}}\n";

test("EX-14: the output file is there from the start, empty, and its path is in the record", async (t) => {
  const project = await Project.started({}, t);
  const run = await project.sh("quiet", "read go");
  assert.equal(run.output_file, ".coven/output/quiet.jsonl");
  assert.equal(statSync(project.path(run.output_file)).size, 0);
  assert.equal((await project.run("quiet")).output_file, run.output_file);
});

test("EX-13, EX-15: a purge takes the record, its output file and its questions, and nothing of others", async (t) => {
  const project = await Project.started({ config: brief }, t);
  await project.sh("old", "echo '::cru-ask why?'; read a; echo $a");
  const question = await project.pendingQuestion("old");
  await project.post(`/questions/${question.id}/answer`, { answer: "because" });
  const { ended_at } = await project.ended("old");
  await project.sh("live", "echo '::cru-ask still?'; read a");
  const open = await project.pendingQuestion("live");
  await waitFor(() => Date.now() > Date.parse(ended_at) + 1000, { what: "the retention time has passed" });
  await project.restartDaemon();
  await waitFor(async () => (await project.get("/agents/old")).status === 404, { what: "the old record is purged" });
  await waitFor(() => !existsSync(project.file("old")), { what: "its file is deleted" });
  assert.equal((await project.get(`/questions/${question.id}`)).status, 404);
  assert.equal((await project.questions("?task_id=old")).length, 0);
  assert.equal((await project.run("live")).status, "running");
  assert.equal((await project.get(`/questions/${open.id}`)).json.status, "pending");
  assert.ok(existsSync(project.file("live")));
});

test("what is younger than the retention time stays", async (t) => {
  const project = await Project.started({ config: "store: {retention: {records: 30d, events: 24h}}\n" }, t);
  for (const id of ["old", "young"]) {
    await project.sh(id, "echo hi");
    await project.ended(id);
  }
  await project.killDaemon();
  changeDatabase(project, `UPDATE runs SET ended_at = ended_at - ${30 * 24 * 3600_000} WHERE task_id = 'old'`);
  await project.startDaemon();
  // One pass over all: once the old one is gone, the young one has been looked at.
  await waitFor(async () => (await project.get("/agents/old")).status === 404, { what: "the old record is purged" });
  assert.equal((await project.run("young")).status, "completed");
  assert.deepEqual((await project.output("young")).map((line) => line.data), ["hi"]);
});

test("EX-16: the output folder is made at start, and orphan files are cleaned up", async (t) => {
  const project = await Project.started({}, t);
  assert.ok(statSync(project.path(".coven/output")).isDirectory());
  await project.sh("known", "echo mine");
  await project.ended("known");
  await project.sh("live", "echo going; read go");
  await project.outputWith("live", "going");
  await project.killDaemon();
  writeFileSync(project.file("orphan"), '{"seq":1,"ts":"2026-01-01T00:00:00.000Z","stream":"stdout","data":"x"}\n');
  await project.startDaemon();
  await waitFor(() => !existsSync(project.file("orphan")), { what: "the orphan is cleaned up" });
  assert.ok(existsSync(project.file("known")) && existsSync(project.file("live")));
});

test("EX-16: a missing output folder comes back at start", async (t) => {
  const project = await Project.started({}, t);
  await project.killDaemon();
  rmSync(project.path(".coven/output"), { recursive: true });
  await project.startDaemon();
  assert.ok(statSync(project.path(".coven/output")).isDirectory());
});

test("on a fresh database nothing is thrown away: orphans move to .coven/lost", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  mkdirSync(project.path(".coven/output"), { recursive: true });
  writeFileSync(project.file("precious"), '{"seq":1,"ts":"2026-01-01T00:00:00.000Z","stream":"stdout","data":"x"}\n');
  assert.equal((await project.cru("daemon", "adopt", "--yes")).code, 0);
  await project.startDaemon();
  await waitFor(() => !existsSync(project.file("precious")));
  assert.ok(readdirSync(project.path(".coven/lost")).some((name) => name.includes("precious")));
});
