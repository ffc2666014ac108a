// Notes: found by meaning, read by name, followed as they change; over HTTP, MCP and the command line.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { Project, waitFor } from "./harness.mjs";
import { attempt, stdioClient, use } from "./harness/mcp.mjs";

const put = (project, path, text) => {
  mkdirSync(dirname(join(project.root, path)), { recursive: true });
  writeFileSync(join(project.root, path), text);
};
const some = (project) => {
  put(project, "docs/vehicles.md", "# Automobiles\n\n## Service\n\nThe sedan needs new tyres and an oil change.\n");
  put(project, "docs/bread.md", "# Sourdough\n\nKnead the dough and bake the loaf in a hot oven.\n");
  put(project, "plan.md", "# Plan\n\nSee [[vehicles]].\n\n## Next steps\n\nFly.\n");
};
const ask = async (project, path) => (await project.get(path)).json;

test("an agent finds a note by its meaning, and reads it", async (t) => {
  const project = await Project.started({}, t);
  some(project);
  const agent = await stdioClient(project, t, { env: { AGENT_ID: "ada" } });
  const { results, method, complete } = await use(agent, "semantic_search", { query: "car" });
  assert.deepEqual([results[0]?.path, results[0]?.title, method, complete], ["docs/vehicles.md", "Automobiles", "hybrid", true], JSON.stringify(results));
  assert.ok(results[0].score > 0 && results[0].score <= 1);
  const note = await use(agent, "read_note", { path: "[[vehicles#Service]]" });
  assert.deepEqual([note.path, note.truncated, note.next_offset], ["docs/vehicles.md", false, null]);
  assert.match(note.text, /^## Service\n\nThe sedan/);
  const refused = await attempt(agent, "read_note", { path: "../../etc/passwd.md" });
  assert.match(JSON.stringify(refused), /outside the project/);
});

test("a changed note is found as it is now, also after a restart; the index is made again if it is lost", async (t) => {
  const project = await Project.started({}, t);
  some(project);
  await ask(project, "/notes/search?query=car");
  put(project, "deep/new/zeppelin.md", "the airship and its gondola\n");
  await waitFor(async () => (await ask(project, "/notes/search?query=gondola")).results[0]?.path === "deep/new/zeppelin.md");
  await project.restartDaemon();
  assert.equal((await ask(project, "/notes/search?query=gondola")).results[0].path, "deep/new/zeppelin.md");
  await project.killDaemon();
  for (const ending of ["", "-wal", "-shm"]) rmSync(join(project.root, `.coven/notes.db${ending}`), { force: true });
  writeFileSync(join(project.root, ".coven/notes.db"), "no database at all, but a text of some length");
  await project.startDaemon();
  await waitFor(async () => (await ask(project, "/notes/search?query=gondola")).results?.[0]?.path === "deep/new/zeppelin.md");
});

test("a project nobody searches has no index; links that lead out are refused", async (t) => {
  const project = await Project.started({}, t);
  some(project);
  symlinkSync("/etc/hostname", join(project.root, "host.md"));
  assert.deepEqual((await ask(project, "/notes")).notes.map(({ path }) => path), ["docs/bread.md", "docs/vehicles.md", "plan.md"]);
  assert.equal((await project.get("/notes/read?path=host.md")).status, 400);
  assert.equal((await project.get("/notes/read?path=vehicels")).status, 404);
  assert.equal(existsSync(join(project.root, ".coven/notes.db")), false);
});

test("the verbs: index, search, read, list, status", async (t) => {
  const project = await Project.started({}, t);
  some(project);
  const cru = async (...words) => {
    const { code, stdout, stderr } = await project.cru(...words);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  assert.match(await cru("notes", "index"), /3 notes indexed/);
  assert.match(await cru("notes", "search", "car"), /docs\/vehicles\.md:\d+ {2}Automobiles/);
  assert.equal(await cru("notes", "read", "plan"), "# Plan\n\nSee [[vehicles]].\n\n## Next steps\n\nFly.\n");
  assert.match(await cru("notes", "list", "docs"), /docs\/bread\.md +Sourdough/);
  assert.equal(JSON.parse(await cru("notes", "status", "--json")).notes, 3);
});
