// The real Claude Code in a run, offline, which asks before it writes and before it runs a command. Needs CRU_TEST_CLAUDE.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { claude_bin, needs_claude, plannedModel, realProject } from "./harness/real_clients.mjs";

const pending = async (project, than = []) => {
  const one = await waitFor(async () => (await project.get("/approvals?pending=true")).json.approvals.find(({ id }) => !than.includes(id)), { what: "an approval waits" });
  return (await project.get(`/approvals/${one.id}`)).json;
};

test("the real Claude Code asks for approvals in a run: a diff that is approved, a command that is denied with a reason", needs_claude, async (t) => {
  const plans = {}, model = await plannedModel(plans, t), project = await realProject(t, model);
  // It asks, as it does for people.
  const settings = join(project.home, ".claude/settings.json");
  writeFileSync(settings, readFileSync(settings, "utf8").replace('"bypassPermissions"', '"default"'));
  plans.work = [
    { tools: [{ name: "Write", input: { file_path: project.path("made.txt"), content: "made\n" } }] },
    { tools: [{ name: "Bash", input: { command: "touch ran.txt", description: "Makes a file" } }] },
    { text: "all done" },
  ];
  const env = { ...project.real_env, PATH: [dirname(claude_bin), project.env.PATH].join(":") };
  const passed = Object.keys(project.real_env).flatMap((name) => ["--env", name]);
  const { code, stdout, stderr } = await project.cru("run", "--backend", "claude", "--id", "claude", "--detach", ...passed, "PLAN work", { env });
  assert.equal(code, 0, stdout + stderr);
  const write = await pending(project);
  assert.deepEqual([write.tool, write.preview.kind, write.reversible, write.checked], ["Write", "diff", true, "at answer"]);
  assert.match(write.preview.text, /\+made/);
  assert.equal((await project.cru("approvals", "approve", write.id)).code, 0);
  const shell = await pending(project, [write.id]);
  assert.deepEqual([shell.tool, shell.preview.kind, shell.reversible], ["Bash", "command", false]);
  assert.equal(readFileSync(project.path("made.txt"), "utf8"), "made\n");
  assert.equal((await project.cru("approvals", "deny", shell.id, "no shell today")).code, 0);
  const ended = await project.ended("claude");
  assert.equal(ended.status, "completed", JSON.stringify(ended));
  assert.ok(!existsSync(project.path("ran.txt")));
  assert.match(JSON.stringify(model.requests.map(({ results }) => results)), /no shell today/);
});

test("the real Claude Code in a run carries out what a person has changed", needs_claude, async (t) => {
  const plans = {}, model = await plannedModel(plans, t), project = await realProject(t, model);
  const settings = join(project.home, ".claude/settings.json");
  writeFileSync(settings, readFileSync(settings, "utf8").replace('"bypassPermissions"', '"default"'));
  plans.work = [{ tools: [{ name: "Write", input: { file_path: project.path("made.txt"), content: "made\n" } }] }, { tools: [{ name: "Bash", input: { command: "touch ran.txt", description: "Makes a file" } }] }, { text: "all done" }];
  const env = { ...project.real_env, PATH: [dirname(claude_bin), project.env.PATH].join(":") };
  const passed = Object.keys(project.real_env).flatMap((name) => ["--env", name]);
  await project.cru("run", "--backend", "claude", "--id", "claude", "--detach", ...passed, "PLAN work", { env });
  const write = await pending(project);
  assert.equal((await project.cru("approvals", "approve", write.id, "--set", "content=changed")).code, 0);
  const shell = await pending(project, [write.id]);
  assert.equal(readFileSync(project.path("made.txt"), "utf8"), "changed");
  assert.equal((await project.cru("approvals", "approve", shell.id, "--confirm", shell.id, "--set", "command=touch other.txt")).code, 0);
  await project.ended("claude");
  assert.deepEqual([existsSync(project.path("ran.txt")), existsSync(project.path("other.txt"))], [false, true]);
});

test("the real Claude Code in a run goes back to the folder that an approval shows", needs_claude, async (t) => {
  const plans = {}, model = await plannedModel(plans, t), project = await realProject(t, model);
  const settings = join(project.home, ".claude/settings.json");
  writeFileSync(settings, readFileSync(settings, "utf8").replace('"bypassPermissions"', '"default"'));
  // A repository may bring settings that say otherwise.
  const own = project.path(".claude/settings.json"), given = JSON.parse(readFileSync(own, "utf8"));
  writeFileSync(own, JSON.stringify({ ...given, env: { ...given.env, CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR: "0" } }));
  mkdirSync(project.path("sub"));
  writeFileSync(project.path("deploy.sh"), `echo shown > ${project.path("which.txt")}\n`);
  writeFileSync(project.path("sub/deploy.sh"), `echo other > ${project.path("which.txt")}\n`);
  const bash = (command) => ({ tools: [{ name: "Bash", input: { command, description: "Runs it" } }] });
  plans.work = [bash("cd sub"), bash("sh deploy.sh"), { text: "all done" }];
  const env = { ...project.real_env, PATH: [dirname(claude_bin), project.env.PATH].join(":") };
  const passed = Object.keys(project.real_env).flatMap((name) => ["--env", name]);
  await project.cru("run", "--backend", "claude", "--id", "claude", "--detach", ...passed, "PLAN work", { env });
  const shell = await pending(project);
  assert.equal(shell.folder, project.root);
  assert.deepEqual(shell.files.map(({ path }) => path).filter((path) => path.startsWith(project.root)), [project.path("deploy.sh")]);
  assert.equal((await project.cru("approvals", "approve", shell.id, "--confirm", shell.id)).code, 0);
  await project.ended("claude");
  assert.equal(readFileSync(project.path("which.txt"), "utf8"), "shown\n");
});
