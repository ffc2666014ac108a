// `cru hooks install --codex`: Codex writes in the same file, moves what is ours and drops comments.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { Project } from "./harness.mjs";
import { cru_bin, repository, waitFor } from "./harness/basics.mjs";
import { CodexServer, codex_bin, needs_codex } from "./harness/codex.mjs";
import { with_cru } from "./harness/standin.mjs";

/// What Codex 0.166 made of the block of cru 0.1: it was trusted, and a project, a server, [tui] and [features] were added.
const rewritten = readFileSync(join(repository, "tests/fixtures/codex-rewritten.toml"), "utf8");
const config = (project) => join(project.home, ".codex/config.toml");
const read = (project) => readFileSync(config(project), "utf8");
const put = (project, text) => { mkdirSync(dirname(config(project)), { recursive: true }); writeFileSync(config(project), text); };
const ok = async (project, ...argv) => {
  const { code, stdout, stderr } = await project.cru(...argv);
  assert.equal(code, 0, `${argv.join(" ")}: ${stdout}${stderr}`);
  return stdout + stderr;
};
const doctor = async (project) => JSON.parse((await project.cru("doctor", "--json")).stdout).checks.find(({ name }) => name === "codex hooks");
/// The tables of a file that are not ours, each with its lines, and without blank lines.
const theirs = (text) => text.replace(/^# (<<< cru <<<|Added by: cru hooks .*)\n/gm, "").replace(/\n+/g, "\n").split(/^(?=\[(?!\[[\w.]+\.hooks\]\]))/m)
  .filter((table) => !/\[mcp_servers\.cru\]|installed-by=cru/.test(table)).join("");

test("a file that Codex has rewritten is brought up to date, and cleared of exactly ours", async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  put(project, rewritten);
  assert.equal((await doctor(project)).fix, "cru hooks install --codex", "one event is new");
  await ok(project, "hooks", "install", "--codex");
  const installed = read(project);
  assert.ok(!installed.includes("/old/bin/cru") && installed.includes('"AGENT_ID"') && installed.includes("session-end"), installed);
  assert.match(await ok(project, "hooks", "install", "--codex"), /nothing to add/);
  assert.equal(read(project), installed);
  await ok(project, "hooks", "uninstall", "--codex");
  const after = read(project);
  assert.ok(!/cru/.test(after), after);
  for (const table of ["[projects]", '[projects."/home/ann/other"]', "[tui]", "[hooks.state]", "[mcp_servers.db]", "[features]", "# my own settings", "# the good one", "say done"])
    assert.ok(after.includes(table), table);
  assert.equal(after.replace(/\n+/g, "\n"), theirs(rewritten), "every other line, in its order");
});

test("install, status and doctor say that Codex waits for a person's trust", async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  assert.equal(await doctor(project), undefined, "not installed, nothing to say");
  assert.match(await ok(project, "hooks", "install", "--codex"), /not trusted them yet.*Trust all and continue.*\/hooks/s);
  assert.match(await ok(project, "hooks", "status"), /not trusted them yet/);
  const { status, message, fix } = await doctor(project);
  assert.deepEqual([status, /7 of cru's 7 hooks/.test(message), /Hooks need review/.test(fix)], ["warn", true, true]);
  put(project, `${read(project)}[features]\nhooks = false\n`);
  assert.match((await doctor(project)).message, /turned off/);
});

test("a server that a person wrote or turned off is left as it is, and install, status and doctor say so", async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  const mine = '[mcp_servers.cru]\ncommand = "/my/cru"\nargs = ["mcp"]\n';
  put(project, mine);
  for (const verb of ["install", "status"]) assert.match(await ok(project, "hooks", verb, "--codex"), /\[mcp_servers\.cru\] was written by you, and is left as it is/);
  assert.ok(read(project).startsWith(mine));
  await ok(project, "hooks", "uninstall", "--codex");
  assert.equal(read(project), mine);
  put(project, "");
  await ok(project, "hooks", "install", "--codex");
  put(project, read(project).replace("[mcp_servers.cru]\n", "[mcp_servers.cru]\nenabled = false\nstartup_timeout_sec = 20\n"));
  assert.match(await ok(project, "hooks", "status"), /disabled.*disabled by you in config\.toml/s);
  assert.match((await doctor(project)).message, /disabled by you in config\.toml/);
  await ok(project, "hooks", "uninstall", "--codex");
  assert.match(read(project), /^# startup_timeout_sec = 20$/m);
  put(project, '[mcp_servers.cru]\ncommand = "other"\n');
  const taken = await project.cru("hooks", "install", "--codex");
  assert.match(taken.stderr, /another MCP server named cru exists.*another name/s);
});

test("a pipe or a folder in place of the file is refused at once", async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  mkdirSync(dirname(config(project)), { recursive: true });
  execFileSync("mkfifo", [config(project)]);
  for (const verb of ["install", "uninstall", "status"]) assert.match(Object.values(await project.cru("hooks", verb, "--codex")).join(), /config\.toml is a device or pipe, not a file/);
  rmSync(config(project));
  mkdirSync(config(project));
  assert.match((await project.cru("hooks", "install", "--codex")).stderr, /config\.toml is a folder, not a file.*move it away/s);
});

test("where there was no Codex, no folder is left; a file that is not TOML is left alone", async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  await ok(project, "hooks", "install", "--codex");
  await ok(project, "hooks", "uninstall", "--codex");
  assert.ok(!existsSync(dirname(config(project))));
  put(project, "model = \n[x]\n");
  for (const verb of ["install", "uninstall"]) {
    const told = await project.cru("hooks", verb, "--codex");
    assert.notEqual(told.code, 0);
    assert.match(told.stderr, /config\.toml: line 1, column/);
  }
  assert.equal(read(project), "model = \n[x]\n");
});

test("a real Codex sees our hooks, and keeps and loses them with the file", needs_codex, async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  const mine = '# mine\nmodel = "gpt-5.4" # good\n\n[[hooks.Stop]]\nhooks = [{ type = "command", command = "true" }]\n';
  put(project, mine);
  await ok(project, "hooks", "install", "--codex");
  let codex = await CodexServer.started(project);
  const hooks = await codex.hooks();
  assert.equal(hooks.length, 8, "seven of ours, and the one that was there");
  assert.ok(hooks.every(({ trustStatus }) => trustStatus === "untrusted"));
  await codex.trust();
  assert.equal((await doctor(project)).status, "ok", "we count the same hashes as Codex");
  await codex.write("projects", { "/somewhere": { trust_level: "trusted" } });
  await codex.write("tui.notifications", true);
  await codex.write("mcp_servers.db", { command: "db", args: ["x"] });
  await codex.stop();
  // Another program at another place: the hooks stay at theirs, so that Codex still trusts what is not ours.
  const elsewhere = join(project.root, "tools/cru");
  mkdirSync(dirname(elsewhere));
  writeFileSync(elsewhere, `#!/bin/sh\nexec ${cru_bin} "$@"\n`);
  chmodSync(elsewhere, 0o755);
  put(project, read(project).replaceAll('"cru hook', `"${elsewhere} hook`).replace('command = "cru"', `command = "${elsewhere}"`));
  assert.match((await doctor(project)).message, /since they changed/);
  await ok(project, "hooks", "install", "--codex");
  assert.equal((await doctor(project)).status, "ok", "what was trusted is back");
  const kept = theirs(read(project));
  await ok(project, "hooks", "uninstall", "--codex");
  assert.equal(read(project).replace(/\n+/g, "\n"), kept);
  assert.match(read(project), /trust_level = "trusted"[^]*notifications = true/);
  codex = await CodexServer.started(project);
  assert.deepEqual((await codex.hooks()).map(({ command, trustStatus }) => [command, trustStatus]), [["true", "trusted"]]);
  await codex.stop();
});

test("a real Codex gives our MCP server what it has to know", needs_codex, async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  await ok(project, "hooks", "install", "--codex");
  const said = join(project.root, "environment.txt"), recorder = join(project.root, "tools/cru");
  mkdirSync(dirname(recorder));
  writeFileSync(recorder, `#!/bin/sh\nenv > ${said}.part\nmv ${said}.part ${said}\nexec ${cru_bin} "$@"\n`);
  chmodSync(recorder, 0o755);
  put(project, `${read(project).replace('command = "cru"', `command = "${recorder}"`)}`);
  const codex = await CodexServer.started(project, { AGENT_ID: "ada", CRU_TOKEN: "secret", SECRET: "not ours" });
  await codex.ask("thread/start", { cwd: project.root });
  const environment = await waitFor(() => existsSync(said) && readFileSync(said, "utf8"), { what: `${codex_bin} starts our server` });
  await codex.stop();
  for (const line of ["AGENT_ID=ada", "CRU_TOKEN=secret", `XDG_STATE_HOME=${project.home}/.state`]) assert.ok(environment.includes(`${line}\n`), line);
  assert.ok(!environment.includes("SECRET="));
});
