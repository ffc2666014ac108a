// Teams: teams.yaml read, checked and brought to life.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Agent, cru_bin, noneLeft, Project, waitFor } from "./harness.mjs";

/// A command for every member.
const command = (...words) => ["--", ...words];

const good = `team: compiler
agents:
  - name: lead
    role: coordinator
    capabilities: [planning]
    description: splits the work
  - name: coder
    role: worker
    capabilities: [c++, tests]
    description: writes it
  - name: critic
    role: reviewer
    capabilities: []
    description: reads it
coordination:
  max_parallel: 3
  lock_ttl_minutes: 30
`;

test("CO-09: a team file is read, with names, roles, capabilities and descriptions", async (t) => {
  const project = await Project.started({}, t);
  writeFileSync(project.path("teams.yaml"), good);
  const { json } = await project.get("/teams");
  assert.equal(json.team, "compiler", JSON.stringify(json));
  assert.deepEqual(json.agents.map(({ name, role, capabilities, description }) => ({ name, role, capabilities, description })), [
    { name: "lead", role: "coordinator", capabilities: ["planning"], description: "splits the work" },
    { name: "coder", role: "worker", capabilities: ["c++", "tests"], description: "writes it" },
    { name: "critic", role: "reviewer", capabilities: [], description: "reads it" },
  ]);
  const valid = await project.cru("teams", "validate");
  assert.equal(valid.code, 0, JSON.stringify(valid));
  const listed = await project.cru("teams", "list");
  assert.match(listed.stdout, /coder/);
  const named = await project.cru("teams", "validate", "teams.yaml");
  assert.equal(named.code, 0, JSON.stringify(named));
});

test("the members of a team have the account of whoever brings them up, each its own program's", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  const bin = project.path("bin");
  mkdirSync(bin);
  for (const name of ["claude", "codex"])
    writeFileSync(join(bin, name), '#!/bin/sh\necho "a=$ANTHROPIC_API_KEY o=$OPENAI_API_KEY"\n', { mode: 0o755 });
  project.env.PATH = `${bin}:${project.env.PATH}`;
  await project.startDaemon();
  writeFileSync(project.path("teams.yaml"), good.replace("description: writes it", "description: writes it\n    backend: codex"));
  await project.cru("trust", "--yes");
  const up = await project.cru("teams", "up", "--json", { env: { ANTHROPIC_API_KEY: "anthropic-1", OPENAI_API_KEY: "openai-1" } });
  assert.equal(up.code, 0, JSON.stringify(up));
  for (const { name, task_id } of JSON.parse(up.stdout).agents) {
    const wanted = name === "coder" ? "a= o=openai-1" : "a=anthropic-1 o=";
    await waitFor(async () => (await project.cru("logs", "--raw", task_id)).stdout.trim() === wanted, { what: `${name} has its account` });
  }
});

test("CO-10: every mistake in a team file is told at once, with its line, field and reason", async (t) => {
  const project = await Project.started({}, t);
  writeFileSync(project.path("teams.yaml"), `team: compiler
agents:
  - name: lead
    role: coordinator
    capabilities: [planning]
    description: splits the work
  - name: lead
    role: worker
    capabilities: [1, {a: b}]
    description: the same name
  - name: critic
    role: emperor
    capabilities: []
    description: no such role
  - role: worker
    capabilities: []
    colour: green
`);
  const told = await project.cru("teams", "validate", "--file", "teams.yaml");
  assert.equal(told.code, 1, JSON.stringify(told));
  const text = told.stdout + told.stderr;
  assert.match(text, /teams\.yaml:12: agents\[2\]\.role: \S/, "file:line: field: reason");
  assert.match(text, /teams\.yaml:7: agents\[1\]\.name: \S/);
  assert.match(text, /agents\[3\]\.name: /);
  assert.match(text, /agents\[3\]\.description: /);
  assert.match(text, /teams\.yaml:17: agents\[3\]\.colour: /);
  const { json } = await project.get("/teams/validate");
  assert.equal(json.valid, false, JSON.stringify(json));
  const wrong = json.errors.find(({ field }) => field === "agents[2].role");
  assert.equal(wrong.line, 12);
  assert.ok(wrong.reason && wrong.text.endsWith(`teams.yaml:12: agents[2].role: ${wrong.reason}`), wrong.text);
  assert.ok(json.errors.length >= 5, "all at once");
  const up = await project.cru("teams", "up", ...command("sleep", "60"));
  assert.notEqual(up.code, 0, "an invalid team is not started");
  assert.deepEqual((await project.get("/agents")).json.agents, []);
});

test("a file that is missing, empty, no YAML, or hostile is an error and no more", async (t) => {
  const project = await Project.started({}, t);
  const missing = await project.cru("teams", "validate", "--file", "nowhere.yaml");
  assert.notEqual(missing.code, 0);
  assert.match(missing.stderr + missing.stdout, /nowhere\.yaml/);
  const texts = { "empty.yaml": "", "broken.yaml": "team: [", "list.yaml": "- a\n- b\n", "alias.yaml": `a: &a [x]\nteam: *a\nagents: []\n`, "none.yaml": "team: t\nagents: []\n", "deep.yaml": `team: ${"[".repeat(200)}${"]".repeat(200)}\n` };
  for (const [name, text] of Object.entries(texts)) {
    writeFileSync(project.path(name), text);
    const told = await project.cru("teams", "validate", "--file", name);
    assert.notEqual(told.code, 0, `${name}: ${JSON.stringify(told)}`);
    assert.match(told.stderr + told.stdout, new RegExp(name.replace(".", "\\.")), name);
  }
  assert.equal((await project.get("/health")).status, 200);
});

test("a team goes up as runs that others can discover, and down again", async (t) => {
  const project = await Project.started({}, t);
  writeFileSync(project.path("teams.yaml"), good);
  await project.trust();
  const up = await project.cru("teams", "up", ...command("sh", "-c", "echo here; exec sleep 300"));
  assert.equal(up.code, 0, JSON.stringify(up));
  const person = new Agent(project, "looker");
  const members = async (input) => (await person.ask("discover_agents", input)).agents.map(({ agent_id }) => agent_id).filter((id) => id !== "looker").sort();
  await waitFor(async () => (await members({})).length === 3, { what: "the members are there" });
  const workers = (await person.ask("discover_agents", { capability: "c++" })).agents;
  assert.equal(workers.length, 1);
  assert.deepEqual(workers[0].capabilities, ["c++", "tests"]);
  assert.match(workers[0].agent_id, /coder/);
  const runs = (await project.get("/agents")).json.agents;
  assert.deepEqual(runs.map(({ status }) => status), ["running", "running", "running"], JSON.stringify(runs));
  const again = await project.cru("teams", "up", ...command("sh", "-c", "exec sleep 300"));
  assert.equal(again.code, 0, JSON.stringify(again));
  assert.equal((await project.get("/agents")).json.agents.length, 3, "those that are up are left as they are");
  const listed = await project.cru("teams", "list", "--json");
  assert.ok(JSON.parse(listed.stdout).agents.every(({ status }) => /up|running|active/.test(status)), listed.stdout);
  const down = await project.cru("teams", "down");
  assert.equal(down.code, 0, JSON.stringify(down));
  await waitFor(async () => (await project.get("/agents")).json.agents.every(({ status }) => status !== "running"), { what: "the runs end" });
  await waitFor(async () => (await members({})).length === 0, { what: "their sessions end" });
  await noneLeft(project);
});

test("a team that comes up in part says who started and who did not and why, and a second up starts the rest", async (t) => {
  const project = await Project.started({ user_config: "backends:\n  here: {argv: [sh, -c, 'exec sleep 300']}\n  gone: {argv: [no-such-program-here]}\n" }, t);
  const team = (backend) => `team: half\nagents:\n  - {name: one, role: worker, capabilities: [a], description: first, backend: here}\n  - {name: two, role: worker, capabilities: [b], description: second, backend: ${backend}}\n`;
  writeFileSync(project.path("teams.yaml"), team("gone"));
  await project.trust();
  const up = await project.cru("teams", "up");
  assert.equal(up.code, 1, JSON.stringify(up));
  assert.match(up.stdout, /^started one \(run one\)\ntwo failed: .*no-such-program-here.*\n$/);
  assert.match(up.stderr, /1 of 2 members could not be started: two: .*no-such-program-here[^]*cru teams up\n/);
  writeFileSync(project.path("teams.yaml"), team("here"));
  await project.trust();
  const rest = await project.cru("teams", "up");
  assert.equal(rest.code, 0, JSON.stringify(rest));
  assert.equal(rest.stdout, "one is already running (run one)\nstarted two (run two)\n");
});

test("an agent may not bring a team up: that is a person's", async (t) => {
  const project = await Project.started({}, t);
  writeFileSync(project.path("teams.yaml"), good);
  await project.sh("sly", `${cru_bin} teams up --argv=sleep --argv=300; echo "code $?"`);
  await project.outputWith("sly", "code 4");
  assert.equal((await project.get("/agents")).json.agents.length, 1);
});
