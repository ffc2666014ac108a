// The real Claude Code and Codex in the jail, offline: a shell command, an edit, a commit, a login that is refreshed. Needs
// CRU_TEST_CLAUDE and CRU_TEST_CODEX.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { report } from "./harness/cast.mjs";
import { codex_bin } from "./harness/codex.mjs";
import { Crew } from "./harness/crew.mjs";
import { claude_bin, claudes, codexs, needs_claude, needs_codex, plannedModel, realProject, settleClaude } from "./harness/real_clients.mjs";

async function jailedProject(t, model) {
  const project = await realProject(t, model);
  writeFileSync(join(project.home, ".config/crucible/config.yaml"), "confine: require\n");
  writeFileSync(join(project.home, ".bashrc"), "# theirs\n");
  await project.restartDaemon();
  return project;
}
/// A backend with this plan, to its end.
async function run(project, backend, plan, ...flags) {
  const env = { ...project.real_env, PATH: [dirname(claude_bin ?? "/"), dirname(codex_bin ?? "/"), project.env.PATH].join(":") };
  const passed = Object.keys(project.real_env).flatMap((name) => ["--env", name]);
  const { code, stdout, stderr } = await project.cru("run", "--backend", backend, "--id", backend, "--detach", ...passed, ...flags, `PLAN ${plan}`, { env });
  assert.equal(code, 0, stdout + stderr);
  const ended = await project.ended(backend);
  return { ...ended, said: (await project.output(backend)).map(({ data }) => data).join("\n") };
}
const commands = [
  "echo inside >made; git add made; git -c user.name=a -c user.email=a@b commit -qm 'from inside'; echo committed $?",
  "echo evil >>$HOME/.bashrc; echo home $?", "cat .coven/token; echo token $?", "echo '{}' >.claude/settings.json; echo settings $?",
].join("; ");
const results = (model) => JSON.stringify(model.requests.map(({ results: each }) => each));
function assertHeld(project, seen) {
  assert.match(seen, /committed 0/);
  for (const what of ["home", "token", "settings"]) assert.match(seen, new RegExp(`${what} [1-9]`), what);
  assert.equal(readFileSync(join(project.home, ".bashrc"), "utf8"), "# theirs\n");
  assert.match(project.git("log", "--oneline"), /from inside/);
}

test("Claude Code works in the jail: a shell command, an edit, a commit, our tools; its transcript is kept", needs_claude, async (t) => {
  const plans = {}, model = await plannedModel(plans, t), project = await jailedProject(t, model);
  plans.work = [{ tools: [{ name: "Bash", input: { command: commands } }] }, claudes.edit(project, "own.txt"), claudes.cru("acquire_lock", { file_path: "own.txt" }), { text: "all done" }];
  const ended = await run(project, "claude", "work");
  const seen = results(model);
  assert.equal(ended.status, "completed", ended.said.slice(-3000));
  assert.equal(ended.confined, "writes below the project");
  assertHeld(project, seen);
  assert.ok(existsSync(project.path("own.txt")), seen);
  assert.match(seen, /locked_by|success/);
  const transcripts = join(project.home, ".claude/projects");
  assert.ok(existsSync(transcripts), "its sessions are the person's");
  assert.doesNotMatch(readFileSync(join(project.home, ".claude.json"), "utf8"), /"tipsHistory"/, "its own state was a copy");
});

test("what works as `claude -p` works as `cru run --backend claude`, without a flag: its settings, its login, its transcript", needs_claude, async (t) => {
  const plans = {}, model = await plannedModel(plans, t), project = await jailedProject(t, model);
  plans.plain = [{ tools: [{ name: "Bash", input: { command: "echo plain >plain.txt; npm config get cache; echo x >>$HOME/.cache/x; echo cache $?" } }] }, { text: "all done" }];
  const env = { ...project.real_env, PATH: [dirname(claude_bin), project.env.PATH].join(":") };
  // Only a superuser needs a word more: the program refuses him otherwise.
  const root = process.getuid() === 0 ? ["--env", "IS_SANDBOX"] : [];
  const { code, stdout, stderr } = await project.cru("run", "--backend", "claude", "--id", "plain", "--detach", ...root, "PLAN plain", { env });
  assert.equal(code, 0, stdout + stderr);
  const ended = await project.ended("plain");
  assert.equal(ended.status, "completed", (await project.output("plain")).map(({ data }) => data).join("\n").slice(-3000));
  assert.equal(readFileSync(project.path("plain.txt"), "utf8"), "plain\n", results(model));
  assert.match(results(model), /cache 0/);
  const sessions = join(project.home, ".claude/projects", project.root.replace(/[^a-zA-Z0-9]/g, "-"));
  assert.ok(readdirSync(sessions).some((name) => name.endsWith(".jsonl")), "where the person resumes it");
  assert.deepEqual(readdirSync(join(project.home, ".claude")).filter((name) => ["shell-snapshots", "session-env"].includes(name)), []);
});

test("Codex works in the jail: a shell command, an edit, a commit, our tools", needs_codex, async (t) => {
  const plans = {}, model = await plannedModel(plans, t), project = await jailedProject(t, model);
  plans.work = [{ tools: [{ name: "exec_command", input: { cmd: commands } }] }, codexs.edit(project, "own.txt"), { text: "all done" }];
  const ended = await run(project, "codex", "work");
  const seen = results(model);
  assert.equal(ended.status, "completed", ended.said.slice(-3000));
  assertHeld(project, `${seen}${ended.said}`);
  assert.ok(existsSync(project.path("own.txt")), seen);
  assert.ok(existsSync(join(project.home, ".codex/sessions")));
});

/// Where a login is refreshed: gives each a new one, and remembers what it was asked.
async function loginServer(t, reply) {
  const asked = [], server = http.createServer(async (request, response) => {
    asked.push({ url: request.url, body: await text(request) });
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(reply));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close());
  return { asked, url: `http://127.0.0.1:${server.address().port}` };
}
const token = (claims) => ["{\"alg\":\"none\"}", JSON.stringify(claims), "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".");

// Claude Code cannot be asked the same: the address of its token server is part of the program (CLAUDE_CODE_CUSTOM_OAUTH_URL takes three
// addresses of its maker's and no other, and the local one is left out of what is published). jail_minds has a stand-in that writes as it does.
test("Codex refreshes its login in the jail, and the person has the new one", needs_codex, async (t) => {
  const claims = (exp) => ({ exp, email: "ann@example.com", "https://api.openai.com/auth": { chatgpt_plan_type: "pro", chatgpt_account_id: "account-1", chatgpt_user_id: "user-1" } });
  const day = 86400, now = Math.floor(Date.now() / 1000), fresh = token(claims(now + day));
  const { asked, url } = await loginServer(t, { id_token: fresh, access_token: fresh, refresh_token: "refresh-new" });
  const plans = {}, model = await plannedModel(plans, t), project = await jailedProject(t, model);
  plans.login = [{ text: "all done" }];
  const auth = join(project.home, ".codex/auth.json"), config = join(project.home, ".codex/config.toml"), old = token(claims(now - day));
  writeFileSync(auth, JSON.stringify({ OPENAI_API_KEY: null, auth_mode: "chatgpt", tokens: { id_token: old, access_token: old, refresh_token: "refresh-old", account_id: "account-1" }, last_refresh: "2020-01-01T00:00:00Z" }), { mode: 0o600 });
  writeFileSync(config, readFileSync(config, "utf8").replace(/^.*env_key.*$/m, "requires_openai_auth = true"));
  project.real_env.CODEX_REFRESH_TOKEN_URL_OVERRIDE = `${url}/oauth/token`;
  const ended = await run(project, "codex", "login");
  assert.equal(asked.length, 1, ended.said.slice(-3000));
  assert.equal(JSON.parse(asked[0].body).refresh_token, "refresh-old");
  const { tokens } = await waitFor(() => { const login = JSON.parse(readFileSync(auth, "utf8")); return login.tokens.refresh_token !== "refresh-old" && login; }, { what: "the new login is the person's" });
  assert.deepEqual([tokens.refresh_token, tokens.access_token], ["refresh-new", fresh]);
  assert.equal(ended.status, "completed", ended.said.slice(-3000));
});

// As minds of the crew, with namespaces and without. Then there are no unix sockets, and our tools are reached over HTTP.
const reading = ["FilesystemRead", "SemanticSearch"];
async function crewOf(t, model, machine) {
  const bin = claude_bin ? [dirname(claude_bin)] : [];
  const crew = new Crew({
    bin, git: true, user_settings: { confine: "default" }, models: { sonnet: { provider: "claude", id: "sonnet" }, gpt: { provider: "codex", id: "gpt-5.5" } },
    user_agents: { reader: { permissions: reading }, runner: { permissions: [...reading, "ProcessSpawn"] }, writer: { permissions: [...reading, "FilesystemWrite", "NetworkAccess", "ProcessSpawn", "DatabaseWrite"] } },
  });
  t.after(() => crew.close());
  crew.machine = machine;
  Object.assign(crew.env, settleClaude(crew, model), { CODEX_API_KEY: "loopback", IS_SANDBOX: "1", PATH: `${crew.home}/bin:${crew.env.PATH}` });
  for (const folder of [".codex", "bin"]) mkdirSync(join(crew.home, folder), { recursive: true });
  // A mind has no configuration of its user's, so where its model is has to be said on its command line.
  const loopback = `{name="loopback",base_url="${model.url}/v1",env_key="CODEX_API_KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}`;
  if (codex_bin) writeFileSync(join(crew.home, "bin/codex"), `#!/bin/sh\nexec=$1; shift\nexec ${codex_bin} $exec -c 'model_provider="loopback"' -c 'model_providers.loopback=${loopback}' "$@"\n`, { mode: 0o755 });
  mkdirSync(crew.path("src"));
  writeFileSync(join(crew.home, ".bashrc"), "# theirs\n");
  await crew.startDaemon();
  return crew;
}
async function think(crew, agent, plan, ...flags) {
  const { code, stdout, stderr } = await crew.cru("run", agent, `PLAN ${plan}`, ...flags, "--json");
  assert.equal(code, 0, stdout + stderr + crew.log());
  return JSON.parse(stdout);
}
const minds = [
  { name: "Claude Code", model: "sonnet", needs: needs_claude, words: claudes, shell: (command) => ({ tools: [{ name: "Bash", input: { command } }] }) },
  { name: "Codex", model: "gpt", needs: needs_codex, words: codexs, shell: (cmd) => ({ tools: [{ name: "exec_command", input: { cmd } }] }) },
];
for (const machine of [undefined, "without_namespaces"]) for (const { name, model: thinks_with, needs, words, shell } of minds) {
  test(`${name} as a mind${machine ? " without namespaces" : ""}: its rights hold, and our tools are there`, needs, async (t) => {
    const plans = {}, model = await plannedModel(plans, t), crew = await crewOf(t, model, machine);
    const seen = () => { const text = results(model); model.requests.length = 0; return text; };
    plans.look = [words.edit(crew, "src/made.txt"), shell("echo evil >src/made.txt"), { text: report("Looked.") }];
    for (const agent of ["reader", "explorer"]) {
      const { run_id } = await think(crew, agent, "look", "--model", thinks_with);
      assert.ok(!existsSync(crew.path("src/made.txt")), seen());
      assert.equal((await crew.must(200, crew.get(`/agents/${run_id}`))).confined, "writes nothing, network for its model");
    }
    plans.command = [words.cru("run_command", { argv: ["sh", "-c", "cat README; echo evil >src/made.txt; echo wrote $?"] }), { text: report("Ran.") }];
    seen();
    await think(crew, "runner", "command", "--model", thinks_with);
    assert.match(seen(), /a project[^]*wrote [1-9]/);
    plans.work = [shell("echo inside >src/made.txt; echo mine $?; echo evil >>$HOME/.bashrc; echo home $?; cat .coven/token; echo token $?"), words.cru("acquire_lock", { file_path: "own.txt" }), { text: report("Worked.") }];
    await think(crew, "writer", "work", "--model", thinks_with);
    const said = seen();
    assert.match(said, /mine 0[^]*home [1-9][^]*token [1-9]/);
    assert.match(said, /acquired/);
    assert.equal(readFileSync(crew.path("src/made.txt"), "utf8"), "inside\n");
    assert.equal(readFileSync(join(crew.home, ".bashrc"), "utf8"), "# theirs\n");
  });
}
