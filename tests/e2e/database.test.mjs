// A database that this program did not write, or cannot read: refused or set aside, never overwritten.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { isAlive, Project, waitFor } from "./harness.mjs";

const database = (project) => project.path(".coven/coven.db");
const hash = (file) => (existsSync(file) ? createHash("sha256").update(readFileSync(file)).digest("hex") : null);

function sql(project, text) {
  const { status, stdout, stderr } = spawnSync("sqlite3", [database(project), text], { encoding: "utf8" });
  assert.equal(status, 0, `sqlite3: ${stderr}`);
  return stdout.trim();
}

test("a database with a newer schema is refused with a clear word, and untouched", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("before", "echo precious");
  await project.ended("before");
  await project.killDaemon();
  const room = sql(project, "PRAGMA wal_checkpoint(TRUNCATE); SELECT room FROM schema_versions ORDER BY room LIMIT 1").split("\n").at(-1);
  sql(project, `UPDATE schema_versions SET version = version + 1000 WHERE room = '${room}'; PRAGMA wal_checkpoint(TRUNCATE)`);
  const before = hash(database(project));
  const output = readFileSync(project.file("before"), "utf8");
  for (const [argv, expected] of [[["daemon", "run"], 1], [["ps"], 5]]) {
    const refused = await project.cru(...argv);
    assert.deepEqual([argv, refused.code, refused.stdout], [argv, expected, ""], JSON.stringify(refused));
    assert.match(refused.stderr, /newer version of cru/);
    assert.match(refused.stderr, new RegExp(`${room}.*10\\d\\d`), "says what is newer");
  }
  assert.equal(hash(database(project)), before, "not a byte has changed");
  assert.deepEqual(readdirSync(project.path(".coven")).filter((name) => /damaged|lost/.test(name)), [], "nothing is set aside");
  assert.equal(readFileSync(project.file("before"), "utf8"), output);
  sql(project, `UPDATE schema_versions SET version = version - 1000 WHERE room = '${room}'`);
  await project.startDaemon();
  assert.equal((await project.run("before")).status, "completed", "the right program finds everything again");
});

const damages = {
  "is no database": (file) => writeFileSync(file, "this is not a database, whatever its name says\n".repeat(400)),
  "has a scribbled header": (file) => {
    const bytes = readFileSync(file);
    bytes.fill(0xa5, 0, 4096);
    writeFileSync(file, bytes);
  },
  "is cut in the middle": (file) => truncateSync(file, 4096 * 2),
};
for (const [how, damage] of Object.entries(damages)) {
  test(`a database that ${how} is set aside, its output files too, and live runs are taken back`, async (t) => {
    const project = await Project.started({}, t);
    await project.sh("old", "echo precious");
    await project.ended("old");
    const { pid } = await project.sh("live", "echo here; read go; echo went on");
    await project.outputWith("live", "here");
    await project.killDaemon();
    sql(project, "PRAGMA wal_checkpoint(TRUNCATE)");
    damage(database(project));
    const damaged = hash(database(project));
    await project.startDaemon();
    const kept = readdirSync(project.path(".coven")).filter((name) => /^coven\.db\.damaged-\d+$/.test(name));
    assert.equal(kept.length, 1, String(readdirSync(project.path(".coven"))));
    assert.equal(hash(project.path(".coven", kept[0])), damaged, "kept as it was found");
    assert.match(readdirSync(project.path(".coven/log")).map((name) => readFileSync(project.path(".coven/log", name), "utf8")).join(""), /damaged/);
    assert.equal((await project.get("/agents/old")).status, 404);
    const lost = await waitFor(() => readdirSync(project.path(".coven/lost")).find((name) => name.includes("old")), { what: "the output is set aside" });
    assert.match(readFileSync(project.path(".coven/lost", lost), "utf8"), /precious/);
    assert.ok(isAlive(pid));
    assert.deepEqual([(await project.run("live")).status, (await project.run("live")).pid], ["running", pid], "no process is untracked");
    await project.post("/agents/live/input", { text: "go" });
    assert.equal((await project.ended("live")).status, "completed");
    assert.deepEqual((await project.output("live")).map(({ data }) => data), ["here", "went on"]);
  });
}

test("a limit on the size of files keeps the write-ahead log short and ends nobody", async (t) => {
  const project = await Project.started({}, t);
  const pid = project.daemonPid, log = () => statSync(project.path(".coven/coven.db-wal")).size;
  const limited = spawnSync("prlimit", ["--pid", String(pid), "--fsize=4000000"], { encoding: "utf8" });
  assert.equal(limited.status, 0, limited.stderr);
  const submit = () => project.cru("work", "submit", "fix", "one");
  assert.equal((await submit()).code, 0);
  await waitFor(() => log() > 3_000_000, { what: "the log is filled ahead" });
  // The writing thread comes to this after it has tried to fill on.
  assert.equal((await submit()).code, 0);
  assert.ok(log() <= 4_000_000);
  assert.equal(project.daemonPid, pid);
  assert.ok(isAlive(pid));
});
