// Agents as markdown: found, listed, shown, checked, changed while the daemon runs. What is printed is kept in
// tests/golden/agents; CRU_GOLDEN=write writes it anew.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Project, repository, waitFor } from "./harness.mjs";
import { attempt, httpClient, stdioClient, use } from "./harness/mcp.mjs";

const golden = (name, text) => {
  const file = join(repository, "tests/golden/agents", name);
  if (process.env.CRU_GOLDEN === "write") writeFileSync(file, text);
  assert.equal(text, existsSync(file) ? readFileSync(file, "utf8") : "(no golden file)", name);
};
const goldenJson = (name, text) => golden(name, `${JSON.stringify(JSON.parse(text), null, 2)}\n`);

const definition = (name, { description = `Does ${name}`, permissions = "[FilesystemRead, SemanticSearch]", more = "", prompt = `You are ${name}.` } = {}) =>
  `---\nname: ${name}\ndescription: ${description}\npermissions: ${permissions}\n${more}---\n\n${prompt}\n`;

class Crew {
  constructor(project) {
    this.project = project;
    this.folders = { project: project.path(".crucible/agents"), system: join(project.home, ".config/crucible/agents") };
    for (const folder of Object.values(this.folders)) mkdirSync(folder, { recursive: true });
  }
  put(file, text, where = "project") { writeFileSync(join(this.folders[where], file), text); }
  async names() { return (await this.project.get("/definitions")).json.agents.map(({ name }) => name); }
  get(name, query = "") { return this.project.get(`/definitions/${name}${query}`); }
}

async function crew(t, { before } = {}) {
  const project = new Project();
  t.after(() => project.close());
  const made = new Crew(project);
  before?.(made);
  await project.startDaemon();
  return { project, crew: made };
}

const builtin = ["code-reviewer", "documentation-writer", "explorer", "test-writer"];

test("a file in .crucible/agents is an agent at once, and listed", async (t) => {
  const { project, crew: made } = await crew(t);
  assert.deepEqual(await made.names(), builtin, "those that come with cru");
  rmSync(made.folders.project, { recursive: true });
  mkdirSync(made.folders.project);
  made.put("release-notes.md", definition("release-notes"));
  const listed = await project.cru("agents", "list");
  assert.equal(listed.code, 0, JSON.stringify(listed));
  assert.match(listed.stdout, /^release-notes +\S+ +project +read,search +Does release-notes$/m);
  assert.equal((await made.get("release-notes")).status, 200);
  assert.equal((await project.cru("agents")).stdout, listed.stdout, "`cru agents` alone lists");
});

test("SA-02, SA-08: get_agent gives the whole definition, over HTTP and as a tool", async (t) => {
  const { project, crew: made } = await crew(t);
  const prompt = "You review.\n\n## How\n\n- read `it`\n- say so: \"ünïcode\"";
  made.put("critic.md", definition("critic", { description: "'Says: what is wrong'", more: "model: opus\nmax_retries: 2\n", prompt }));
  const { json } = await made.get("critic");
  const { name, description, model, model_source, permissions, enabled, source, path } = json;
  assert.deepEqual({ name, description, model, model_source, permissions, enabled, source, path }, {
    name: "critic", description: "Says: what is wrong", model: "opus", model_source: "definition",
    permissions: ["FilesystemRead", "SemanticSearch"], enabled: true, source: "project", path: ".crucible/agents/critic.md",
  });
  assert.equal(json.prompt, prompt);
  for (const client of [await stdioClient(project, t), await httpClient(project, t)]) {
    assert.deepEqual(await use(client, "get_agent", { name: "critic" }), json);
    assert.deepEqual((await use(client, "list_agents")).agents.map((agent) => agent.name), [...builtin, "critic"].sort());
    const missing = await attempt(client, "get_agent", { name: "crtic" });
    assert.ok(missing.isError, JSON.stringify(missing));
    assert.match(missing.message, /^agent not found/);
    assert.match(missing.hint, /did you mean: critic/);
  }
  made.put("critic.md", definition("critic", { more: "enabled: false\n" }));
  const disabled = await made.get("critic");
  assert.deepEqual([disabled.status, disabled.json.error], [404, "not_found"]);
});

test("SA-03: an invalid definition is told with its field and is not an agent", async (t) => {
  const { project, crew: made } = await crew(t);
  made.put("half.md", "---\nname: half\npermissions: [FilesystemRaed]\nmodle: opus\n---\nx\n");
  assert.deepEqual(await made.names(), builtin);
  assert.equal((await made.get("half")).status, 404);
  const { json } = await project.get("/definitions/validate");
  assert.deepEqual(json.problems.map(({ path, line, field }) => [path, line, field]), [
    [".crucible/agents/half.md", 1, "description"], [".crucible/agents/half.md", 3, "permissions"], [".crucible/agents/half.md", 4, "modle"],
  ]);
  const shown = await project.cru("agents", "show", "half");
  assert.equal(shown.code, 3);
  assert.match(shown.stderr, /agent not found: "half"[^]*half\.md is not valid; see: cru agents validate half/);
});

test("the project's go over the system's, and an invalid one leaves the system's in force", async (t) => {
  const { project, crew: made } = await crew(t);
  made.put("tester.md", definition("tester", { description: "of the user" }), "system");
  assert.equal((await made.get("tester")).json.source, "system");
  made.put("tester.md", definition("tester", { description: "of the project" }));
  await project.trust();
  const { json } = await made.get("tester");
  assert.deepEqual([json.description, json.source, json.path, json.overrides], ["of the project", "project", ".crucible/agents/tester.md", "~/.config/crucible/agents/tester.md"]);
  const listed = await project.cru("agents", "list");
  assert.match(listed.stdout, /^tester +\S+ +project\* /m);
  assert.match(listed.stdout, /^\* \.crucible\/agents\/tester\.md overrides the system agent$/m);
  made.put("tester.md", "broken");
  assert.equal((await made.get("tester")).json.description, "of the user");
});

test("SA-05: the daemon starts whatever lies in the folders, warns in its log, and tells of changes", async (t) => {
  const { project, crew: made } = await crew(t, {
    before: (folders) => {
      folders.put("bad.md", "---\nname: [\n---\n");
      folders.put("binary.md", Buffer.from([0xff, 0, 1]));
      folders.put("mine.md", definition("mine"));
      folders.put("yours.md", definition("yours"), "system");
      folders.put("secret.md", definition("secret"), "system");
      chmodSync(join(folders.folders.system, "secret.md"), 0);
    },
  });
  const names = await made.names();
  assert.ok(["mine", "yours"].every((name) => names.includes(name)), names.join());
  const log = await waitFor(() => {
    const text = readFileSync(project.path(".coven/log/daemon.log"), "utf8");
    return text.includes("bad.md:") && text.includes("binary.md:") && text;
  }, { what: "warnings in the log" });
  assert.ok(log.split("\n").filter((line) => line.includes("agent definition skipped")).every((line) => JSON.parse(line).level === "warn"));
  const stream = project.stream({ query: "?type=definitions.changed" });
  await waitFor(() => stream.connections, { what: "the stream" });
  made.put("bad.md", definition("bad"));
  const event = await waitFor(() => stream.events.find(({ data }) => data.agents > 0), { what: "definitions.changed" });
  assert.equal(event.type, "definitions.changed");
  await waitFor(() => stream.events.some(({ data }) => data.agents === names.length + 1), { what: `one more: ${JSON.stringify(stream.events)}` });
});

/// The folders behind the golden files.
function furnish(made) {
  made.put("tester.md", definition("tester", { description: "Of the user" }), "system");
  made.put("tester.md", definition("tester", { description: "Writes and runs tests", permissions: "[FilesystemRead, SemanticSearch, ProcessSpawn]", more: "model: sonnet\n" }));
  made.put("auditor.md", definition("auditor", {
    description: "Checks what may leave the house", permissions: "NetworkAccess, DatabaseRead",
    more: "model: inherit\nenable_reflection: true\nmax_retries: 2\nreflection_criteria:\n  - nothing is missed\n  - nothing is invented\nrequires_approval: [DatabaseWrite]\nmaxTurns: 20\npermissionMode: plan\n",
    prompt: "You are an auditor.\n\n## How to work\n\n1. Look.\n2. Tell.",
  }));
  made.put("off.md", definition("off", { description: "Not now", more: "enabled: false\n" }));
  made.put("explorer.md", definition("explorer", { description: "My own explorer" }), "system");
  made.put("claude.md", `---\nname: claude\ndescription: Use when asked. Example: "look: here"\ntools: Read, Bash(git log:*)\n---\nHello.\n`, "system");
}
function spoil(made) {
  made.put("bad-fields.md", "---\nname: Bad Fields\npermissions:\n  - FilesystemRead\n  - Bash\nenabled: yes\nmax_retries: 99\ndescripton: x\nversion: 2\n---\n");
  made.put("no-frontmatter.md", "# Just a note\n");
  made.put("twin.md", definition("tester"));
  made.put("unclosed.md", "---\nname: unclosed\n", "system");
  made.put("yaml.md", "---\nname: yaml\ndescription: x\npermissions: [FilesystemRead\n---\nx\n", "system");
}

test("SA-06, SA-42: agents list: sorted, with model, source, permissions; disabled ones left out", async (t) => {
  const { project, crew: made } = await crew(t, { before: furnish });
  made.put("bad.md", "bad");
  const listed = await project.cru("agents", "list");
  assert.equal(listed.code, 0, JSON.stringify(listed));
  assert.equal(listed.stderr, "1 definition skipped; see: cru agents validate\n");
  golden("list.txt", listed.stdout);
  assert.ok(!listed.stdout.includes("Not now"));
  const json = await project.cru("agents", "list", "--json");
  assert.equal(json.stderr, "");
  goldenJson("list.json", json.stdout);
  const terminal = await project.onTerminal("agents", "list");
  assert.ok(terminal.stdout.split("\n").every((line) => line.replace(/\x1b\[[0-9;]*m|\r/g, "").length <= 80), terminal.stdout);
});

test("SA-43: agents show: metadata, path, enabled and the prompt; disabled ones too", async (t) => {
  const { project } = await crew(t, { before: furnish });
  const shown = await project.cru("agents", "show", "auditor");
  assert.equal(shown.code, 0, JSON.stringify(shown));
  golden("show.txt", shown.stdout);
  goldenJson("show.json", (await project.cru("agents", "show", "auditor", "--json")).stdout);
  golden("show-disabled.txt", (await project.cru("agents", "show", "off")).stdout);
  golden("show-claude.txt", (await project.cru("agents", "show", "claude")).stdout);
  const missing = await project.cru("agents", "show", "code-reviwer");
  assert.equal(missing.code, 3);
  assert.equal(missing.stderr, `cru: agent not found: "code-reviwer"\n  searched .crucible/agents, ~/.config/crucible/agents\n  did you mean: cru agents show code-reviewer\n`);
});

test("SA-07, SA-44: agents validate: both folders, one line a problem, and the exit code", async (t) => {
  const { project, crew: made } = await crew(t, { before: furnish });
  const good = await project.cru("agents", "validate");
  assert.equal(good.code, 0, JSON.stringify(good));
  golden("validate-good.txt", good.stdout);
  spoil(made);
  const bad = await project.cru("agents", "validate");
  assert.equal(bad.code, 1, JSON.stringify(bad));
  golden("validate.txt", bad.stdout);
  assert.match(bad.stderr, /5 of 11 definitions invalid/);
  for (const line of bad.stdout.trimEnd().split("\n")) assert.match(line, /^\S+\.md:\d+: (error|warning): \S/);
  const json = await project.cru("agents", "validate", "--json");
  assert.equal(json.code, 1);
  goldenJson("validate.json", json.stdout);
});

test("SA-07, SA-45: an unknown model fails validation with the one that was meant, also in a definition that waits for trust", async (t) => {
  const { project } = await crew(t, { before: (made) => {
    made.put("misspelt.md", definition("misspelt", { more: "model: sonet\n" }));
    made.put("mighty.md", definition("mighty", { permissions: "[ProcessSpawn]", more: "model: hiaku\n" }));
  } });
  for (const [name, meant] of [["misspelt", "sonnet"], ["mighty", "haiku"]]) {
    const bad = await project.cru("agents", "validate", name);
    assert.equal(bad.code, 1, JSON.stringify(bad));
    assert.match(bad.stdout, new RegExp(`\\.crucible/agents/${name}\\.md:\\d+: error: model: unknown model "\\w+"[^]*did you mean ${meant}\\?`));
  }
  const all = await project.cru("agents", "validate");
  assert.equal(all.code, 1);
  assert.match(all.stderr, /2 of 2 definitions invalid/);
});

test("SA-45: agents validate NAME: only that one, with suggestions", async (t) => {
  const { project } = await crew(t, { before: (made) => { furnish(made); spoil(made); } });
  const bad = await project.cru("agents", "validate", "bad-fields");
  assert.equal(bad.code, 1, JSON.stringify(bad));
  golden("validate-one.txt", bad.stdout);
  const good = await project.cru("agents", "validate", "off");
  assert.deepEqual([good.code, good.stdout], [0, ".crucible/agents/off.md: off is valid\n"], JSON.stringify(good));
  assert.equal((await project.cru("agents", "validate", "explorer")).code, 0);
  const none = await project.cru("agents", "validate", "nobody-of-that-name");
  assert.equal(none.code, 3);
  assert.match(none.stderr, /agent not found/);
});

test("enabled: false takes an agent away, true brings it back, and so does nothing at all", async (t) => {
  const { project, crew: made } = await crew(t);
  made.put("helper.md", definition("helper", { description: "of the user" }), "system");
  made.put("helper.md", definition("helper", { more: "enabled: false\n" }));
  await project.trust();
  assert.ok(!(await made.names()).includes("helper"));
  const refused = await made.get("helper");
  assert.equal(refused.status, 404);
  assert.match(refused.json.message, /^agent not found/);
  assert.doesNotMatch((await project.cru("agents", "list")).stdout, /helper/);
  made.put("helper.md", definition("helper", { more: "enabled: true\n" }));
  await project.trust();
  assert.ok((await made.names()).includes("helper"));
  made.put("helper.md", definition("helper"));
  await project.trust();
  assert.equal((await made.get("helper")).json.enabled, true);
  made.put("helper.md", definition("helper", { more: "enabled: false\n" }));
  await project.trust();
  assert.equal((await made.get("helper", "?disabled=true")).json.enabled, false);
  await project.killDaemon("SIGTERM");
  made.put("helper.md", definition("helper", { more: "enabled: true\n" }));
  await project.startDaemon();
  assert.ok((await made.names()).includes("helper"), "after a restart");
});

test("agents new writes a definition that is valid, once", async (t) => {
  const { project, crew: made } = await crew(t);
  rmSync(made.folders.project, { recursive: true });
  const written = await project.cru("agents", "new", "release-notes", "--description", "Writes: release notes", "--permit", "FilesystemWrite", "--model", "opus");
  assert.deepEqual([written.code, written.stdout], [0, ".crucible/agents/release-notes.md\n"], JSON.stringify(written));
  assert.match(written.stderr, /cru agents validate release-notes/);
  golden("new.md", readFileSync(project.path(".crucible/agents/release-notes.md"), "utf8"));
  assert.equal((await project.cru("agents", "validate", "release-notes")).code, 0);
  assert.equal((await made.get("release-notes")).json.description, "Writes: release notes");
  const twice = await project.cru("agents", "new", "release-notes");
  assert.equal(twice.code, 1);
  assert.match(twice.stderr, /already exists/);
  const user = await project.cru("agents", "new", "everywhere", "--user", "--json");
  assert.deepEqual(JSON.parse(user.stdout), { name: "everywhere", path: "~/.config/crucible/agents/everywhere.md" });
  for (const words of [["Bad Name"], ["../../x"], ["x", "--permit", "Everything"], ["x", "--model", "a b"]]) {
    const refused = await project.cru("agents", "new", ...words);
    assert.equal(refused.code, 2, JSON.stringify([words, refused]));
  }
  assert.ok(!existsSync(project.path(".crucible/agents/x.md")));
});
