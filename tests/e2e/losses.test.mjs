// State that is gone or damaged: it is said in `cru ps`, `cru doctor` and where the page reads it, what can be kept is set
// aside, and what is lost is counted.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { codeOf, Project, waitFor } from "./harness.mjs";

const database = (project) => project.path(".coven/coven.db");
const troubles = async (project) => (await project.get("/version")).json.troubles;
const lost = (project) => readdirSync(project.path(".coven/lost"));

/// Where people look, all of them: the sentence that matches.
async function said(project, pattern) {
  const sentence = await waitFor(async () => (await troubles(project)).find((text) => pattern.test(text)), { what: `a trouble ${pattern}` });
  assert.match((await project.cru("ps")).stderr, pattern);
  assert.match((await project.cru("doctor")).stdout, pattern);
  assert.ok((await project.get("/state")).json.troubles.includes(sentence), "the page reads it");
  return sentence;
}

/// A project with a run that has ended, whose daemon was killed: what it did last stands in the database's log.
async function killed(t, script = "seq 10") {
  const project = await Project.started({}, t);
  await project.sh("old", script);
  await project.ended("old");
  await project.killDaemon();
  assert.ok(statSync(`${database(project)}-wal`).size > 4096);
  return project;
}

for (const [how, damage] of [["removed", (file) => rmSync(file)], ["emptied", (file) => truncateSync(file)]])
  test(`a database that was ${how} beside its log`, async (t) => {
    const project = await killed(t);
    const log = readFileSync(`${database(project)}-wal`);
    damage(database(project));
    await project.startDaemon();
    const sentence = await said(project, /coven\.db was (missing|empty) when the daemon started: what it held is lost; its last [1-9]\d* changes stood in its log/);
    const [kept] = lost(project).filter((name) => name.endsWith("-wal"));
    assert.ok(sentence.includes(kept));
    assert.deepEqual(readFileSync(project.path(".coven/lost", kept)), log, "as it was");
    assert.ok(lost(project).includes("old.jsonl"), "the output is kept too");
    // Told until somebody has looked at it.
    await project.restartDaemon();
    await said(project, /in \.coven\/lost \(\d+ files\)/);
    rmSync(project.path(".coven/lost"), { recursive: true });
    await waitFor(async () => !(await troubles(project)).some((text) => text.includes(".coven/lost")), { what: "it is over" });
  });

test("a database that was removed with everything of it", async (t) => {
  const project = await killed(t);
  for (const part of ["", "-wal", "-shm"]) rmSync(`${database(project)}${part}`, { force: true });
  await project.startDaemon();
  await said(project, /coven\.db was missing when the daemon started: what it held is lost/);
});

test("a log that is damaged: how much is lost is counted, and the files are kept as they were", async (t) => {
  const project = await killed(t);
  const file = `${database(project)}-wal`;
  const log = readFileSync(file);
  log[32 + 24 + 100] ^= 0x55;
  writeFileSync(file, log);
  await project.startDaemon();
  await said(project, /the log of the database was damaged when the daemon started: up to [1-9]\d* of the last changes are lost/);
  assert.deepEqual(readFileSync(project.path(".coven/lost", lost(project).find((name) => name.endsWith("-wal")))), log);
});

test("no damage, no trouble: not after kill -9, not after an orderly end", async (t) => {
  const project = await killed(t);
  await project.startDaemon();
  await project.sh("another", "true");
  await project.ended("another");
  await project.killDaemon("SIGTERM");
  await project.startDaemon();
  assert.deepEqual(await troubles(project), []);
});

test("a database that is emptied while the daemon runs takes nothing more", async (t) => {
  const project = await killed(t);
  await project.startDaemon();
  await project.sh("new", "true");
  await project.ended("new");
  truncateSync(database(project));
  const refused = await project.post("/tasks/never/start", { argv: ["true"] });
  assert.deepEqual([refused.status, codeOf(refused.json)], [503, "database_unavailable"], refused.text);
  await waitFor(async () => (await troubles(project)).some((text) => /emptied or cut while it was in use/.test(text)), { what: "it is said" });
  await project.restartDaemon();
  await said(project, /coven\.db was empty when the daemon started/);
});

test("an output file that is shorter than its record", async (t) => {
  const project = await killed(t, "seq 1000");
  truncateSync(project.file("old"), Math.floor(statSync(project.file("old")).size / 2));
  await project.startDaemon();
  const sentence = await said(project, /output is lost: [1-9]\d* lines of 1 run \(old\)/);
  const lines = (await project.output("old")).length;
  assert.equal(Number(/(\d+) lines/.exec(sentence)[1]), 1000 - lines);
  assert.match((await project.cru("logs", "old")).stderr, new RegExp(`${1000 - lines} lines are missing`));
});

test("folders of .coven that were removed while the daemon was down", async (t) => {
  const project = await killed(t);
  await project.endKeeper();  // which would make them again
  for (const name of ["output", "exits"]) rmSync(project.path(".coven", name), { recursive: true });
  await project.startDaemon();
  await said(project, /folders were gone from \.coven when the daemon started, with all that was in them: exits, output/);
  await said(project, /output is lost: 10 lines of 1 run \(old\)/);
});

test("a database that is removed while the daemon runs: what is acknowledged is there again, and it is said", async (t) => {
  const project = await killed(t);
  await project.startDaemon();
  rmSync(database(project));
  await project.sh("after", "true");
  await project.ended("after");
  await said(project, /somebody removed the database|part of \.coven was removed/);
  await project.restartDaemon();
  for (const id of ["old", "after"]) assert.equal((await project.run(id)).status, "completed");
  assert.deepEqual(await troubles(project), []);
});

test("a folder of .coven that is removed while the daemon runs", async (t) => {
  const project = await killed(t);
  await project.startDaemon();
  rmSync(project.path(".coven/output"), { recursive: true });
  await said(project, /output is lost: 10 lines of 1 run \(old\)/);
});
