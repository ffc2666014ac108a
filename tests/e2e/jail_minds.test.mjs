// Minds that are programs, confined: what their agent may do is all that they can do, whatever the program tries; and what of
// their own folder they share with the person. The programs are stand-ins; jail_real has the real ones.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { waitFor } from "./harness/basics.mjs";
import { report } from "./harness/cast.mjs";
import { Crew } from "./harness/crew.mjs";
import { attempt, means } from "./harness/jails.mjs";

const skip = !means.namespaces && `no namespaces here: ${means.why_not}`;
const spawn = (agent, task, more = {}) => ({ call: "spawn_agent", input: { agent, task, ...more } });
const reading = ["FilesystemRead", "SemanticSearch"];
const tries = [
  attempt("project", "echo evil >>README"), attempt("new file", "echo evil >made.txt"), attempt("home", "echo evil >>$HOME/.bashrc"),
  attempt("commit", "git -c user.name=a -c user.email=a@b commit --allow-empty -qm evil"), attempt("token", "cat .coven/token"), attempt("read", "cat README"), attempt("tmp", "echo x >/tmp/x"),
].join("; ");
const held = ["project refused", "new file refused", "home refused", "commit refused", "token refused", "read done", "tmp done"];

async function crewOf(t, replies, { agents = {}, user_agents = {}, machine, ...more } = {}) {
  const crew = new Crew({
    git: true, user_settings: { confine: "default" }, standin: { log: "", replies }, models: { sonnet: { provider: "claude", id: "model-1" } },
    user_agents: { reader: { permissions: reading }, runner: { permissions: [...reading, "ProcessSpawn"] }, ...user_agents }, agents, ...more,
  });
  t.after(() => crew.close());
  crew.machine = machine;
  writeFileSync(join(crew.home, ".bashrc"), "# theirs\n");
  await crew.startDaemon();
  return crew;
}
/// What came of the attempts; a tool's result may be JSON.
const outcomes = (text) => text.replaceAll("\\n", "\n").match(/[\w ]+ (done|refused)/gm)?.map((line) => line.trim());
/// An agent, run by a person, to its end: the record.
async function run(crew, agent, task, ...flags) {
  const { code, stdout, stderr } = await crew.cru("run", agent, task, ...flags, "--json");
  assert.equal(code, 0, stdout + stderr);
  return JSON.parse(stdout);
}
/// What its program was offered when it began.
async function offered(crew, { run_id }) {
  const lines = (await crew.output(run_id)).map(({ data }) => data).filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line)).find(({ subtype }) => subtype === "init").tools;
}

test("SA-10: an agent that reads and searches writes nothing and has no shell, whatever its program does", { skip }, async (t) => {
  const crew = await crewOf(t, [{ when: "go", steps: [
    { tool: "Write", input: { file_path: "made.txt", content: "x" } }, { tool: "Bash", input: { command: "touch made.txt" } }, { call: "run_command", input: { argv: ["touch", "made.txt"] } },
    { really: tries }, { say: report("Tried.", "{{result}}") }] }]);
  const record = await run(crew, "reader", "go");
  assert.deepEqual(outcomes(record.result), held);
  const tools = await offered(crew, record);
  for (const tool of ["Write", "Edit", "Bash", "mcp__cru__run_command"]) assert.ok(!tools.includes(tool), `${tools}`);
  assert.ok(tools.includes("mcp__cru__semantic_search"), "our tools are there");
  assert.ok(!existsSync(crew.path("made.txt")));
  assert.equal(readFileSync(join(crew.home, ".bashrc"), "utf8"), "# theirs\n");
  assert.equal((await crew.must(200, crew.get(`/agents/${record.run_id}`))).confined, "writes nothing, network for its model");
});

test("SA-18, SA-19, SA-20: a subagent of a parent that may write has what it was granted and the baseline, and asks for more in vain", { skip }, async (t) => {
  const crew = await crewOf(t, [
    { when: "plan it", steps: [{ really: "echo ours >by-parent" }, spawn("reader", "part one", { permissions: [] }), { say: "Woven: {{result}}" }] },
    { when: "part one", steps: [{ really: tries }, { say: report("Tried.", "{{result}}") }] },
    { when: "ask too much", steps: [spawn("reader", "part one", { permissions: ["NetworkAccess"] }), { say: report("Told.", "{{result}}") }] }]);
  const chat = await crew.chat({ message: "plan it", permissions: [...reading, "FilesystemWrite"] });
  assert.deepEqual(outcomes(await chat.answer()), held);
  assert.ok(existsSync(crew.path("by-parent")), "the parent may write");
  const { subagents: [child] } = await chat.record();
  assert.deepEqual([...child.permissions].sort(), reading);
  assert.equal((await crew.must(200, crew.get(`/agents/${child.run_id}`))).confined, "writes nothing, network for its model");
  const other = await crew.chat({ message: "ask too much", permissions: [...reading, "FilesystemWrite"] });
  const said = await other.answer();
  assert.match(said, /NetworkAccess/);
  assert.match(said, /FilesystemWrite/, "the parent's own are named");
  assert.deepEqual((await other.record()).subagents, []);
});

test("ProcessSpawn alone: run_command is offered, runs confined, and is offered to no other", { skip }, async (t) => {
  const crew = await crewOf(t, [{ when: "go", steps: [{ call: "run_command", input: { argv: ["sh", "-c", `${tries}; ${attempt("network", "perl -MSocket -e 'socket(A, AF_UNIX, SOCK_STREAM, 0) or die'")}`] } }, { say: report("Ran.", "{{result}}") }] }]);
  const record = await run(crew, "runner", "go");
  const tools = await offered(crew, record);
  assert.ok(tools.includes("mcp__cru__run_command") && !tools.includes("Bash"), `${tools}`);
  const rest = (lines) => lines.filter((line) => !line.startsWith("tmp"));
  assert.deepEqual(rest(outcomes(record.result)), [...rest(held), "network refused"]);
  const without = await run(crew, "reader", "go");
  assert.ok(!(await offered(crew, without)).includes("mcp__cru__run_command"));
  assert.doesNotMatch(without.result, /read done/);
});

test("a command that a mind asks for is begun once, however often the request is sent", { skip }, async (t) => {
  const send = `curl -sS -H "Authorization: Bearer $CRU_TOKEN" -H "Cru-Request-Id: k1" -H "Content-Type: application/json" -d '{"argv":["sh","-c","echo begun >>began; echo $$"]}' "$(cat where)/commands"`;
  const crew = await crewOf(t, [{ when: "go", steps: [{ really: `${send}; echo; ${send}` }, { say: report("Told.", "{{result}}") }] }],
    { user_agents: { doer: { permissions: [...reading, "FilesystemWrite", "ProcessSpawn"] } } });
  writeFileSync(crew.path("where"), `http://127.0.0.1:${crew.tcp.port}`);
  const { result } = await run(crew, "doer", "go");
  assert.equal(existsSync(crew.path("began")) && readFileSync(crew.path("began"), "utf8"), "begun\n", result);
  const replies = result.match(/^\{"success":true.*$/gm);
  assert.equal(replies?.length, 2, result);
  assert.equal(replies[0], replies[1]);
});

test("ProcessSpawn is not enough: a definition that does not list run_command, or forbids it, has none", { skip }, async (t) => {
  const permissions = [...reading, "ProcessSpawn"], command = { call: "run_command", input: { argv: ["touch", "/tmp/x"] } };
  const crew = await crewOf(t, [{ when: "go", steps: [command, { say: report("Asked.", "{{result}}") }] }], {
    user_agents: { lister: { permissions, tools: ["Read", "Grep"] }, without: { permissions, disallowedTools: ["run_command"] }, with: { permissions, tools: ["Read", "run_command"] } } });
  for (const agent of ["lister", "without"]) {
    const record = await run(crew, agent, "go");
    assert.ok(!(await offered(crew, record)).includes("mcp__cru__run_command"), agent);
    assert.doesNotMatch(record.result, /exit code 0|"exit_code":0/, agent);
  }
  assert.ok((await offered(crew, await run(crew, "with", "go"))).includes("mcp__cru__run_command"));
});

// What of a program's own folder it shares with the person. `login` is refreshed as the real one does it: Claude Code writes a
// new file beside the old one and renames it, or copies it where that cannot be; Codex and Gemini write in place.
// What is `executed` by its other sessions, or believed, is never the person's. In `in_shell` the shell has come from the project.
const programs = {
  claude: {
    folder: ".claude", at: "$CLAUDE_CONFIG_DIR", login: ".credentials.json", in_shell: "projects/$(echo $OLDPWD | sed 's/[^a-zA-Z0-9]/-/g')/transcript", kept: (root) => `projects/${root.replace(/[^a-zA-Z0-9]/g, "-")}/transcript`,
    executed: ["shell-snapshots/evil.sh", "session-env/evil.sh", "projects/-home-other/memory/MEMORY.md"],
    refresh: "cat >.credentials.json.tmp.1; mv .credentials.json.tmp.1 .credentials.json 2>/dev/null || { cat .credentials.json.tmp.1 >.credentials.json; rm .credentials.json.tmp.1; }",
    files: ["settings.json", "CLAUDE.md"], anew: ["plugins/evil.json", "commands/evil.md", "hooks/evil.sh"],
  },
  codex: { folder: ".codex", at: "$CODEX_HOME", login: "auth.json", in_shell: "sessions/transcript", kept: () => "sessions/transcript", executed: ["shell_snapshots/evil.sh"], refresh: "cat >auth.json", files: ["config.toml", "hooks.json", "AGENTS.md"], anew: ["prompts/evil.md", "skills/evil.md"] },
  gemini: { folder: ".gemini", at: "$HOME/.gemini", login: "oauth_creds.json", in_shell: "history/transcript", kept: () => "history/transcript", executed: ["tmp/bin/evil"], refresh: "cat >oauth_creds.json", files: ["settings.json", "GEMINI.md", ".env", "trustedFolders.json"], anew: ["extensions/evil.json", "commands/evil.toml"] },
};
/// Where logins are given: {url, asked}, on loopback.
async function loginServer(t) {
  const asked = [];
  const server = http.createServer(async (request, reply) => {
    asked.push(`${request.method} ${await text(request)}`);
    reply.end(`refreshed ${asked.length}\n`);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${server.address().port}/token`, asked };
}
for (const machine of [undefined, "without_namespaces"]) for (const [program, its] of Object.entries(programs)) {
  test(`${program}: a login that is refreshed reaches the person; settings stay, and what is new is gone with the run${machine ? ": without namespaces" : ""}`, { skip: machine ? means.landlock === 0 && "no Landlock here" : skip }, async (t) => {
    const { url, asked } = await loginServer(t);
    const meddle = [
      `cd "${its.at}" && curl -sS --data grant_type=refresh_token ${url} | { ${its.refresh}; }; cat ${its.login}`,
      ...its.files.map((name) => attempt(name, `echo evil >>${name}`)), ...its.anew.map((name) => attempt(name, `echo evil >${name}`)),
      attempt("new", "echo x >made-anew"), attempt("transcript", `echo x >>${its.in_shell}`), attempt("memory", `test -d $(dirname ${its.in_shell})/memory && echo evil >$(dirname ${its.in_shell})/memory/MEMORY.md`),
      ...its.executed.map((name) => `(mkdir -p $(dirname ${name}) && echo evil >${name}) 2>/dev/null`),
    ].join("\n");
    const crew = await crewOf(t, [{ when: "go", steps: [{ really: meddle }, { say: report("Done.", "{{result}}") }] }], { machine, models: { sonnet: { provider: program, id: "model-1" } } });
    const own = join(crew.home, its.folder), file = (name) => readFileSync(join(own, name), "utf8");
    for (const name of its.anew) mkdirSync(dirname(join(own, name)), { recursive: true });
    for (const name of [its.login, ...its.files]) writeFileSync(join(own, name), "theirs\n", { mode: 0o600 });
    writeFileSync(join(crew.home, ".claude.json"), '{"theirs":1}');
    const { result } = await run(crew, "reader", "go");
    assert.match(result, /^refreshed 1$/m, "and it reads it itself");
    assert.deepEqual(asked, ["POST grant_type=refresh_token"]);
    // Where nothing can be mounted, what stands in a folder of the run's own is a link, which it may replace, and no more than that.
    if (!machine) assert.deepEqual(result.match(/^\S+ done$/gm), ["new done", "transcript done"]);
    await waitFor(() => file(its.login) === "refreshed 1\n", { what: "the person has the new login" });
    assert.equal(statSync(join(own, its.login)).mode & 0o777, 0o600);
    assert.equal(file(its.kept(crew.root)), "x\n");
    // Landlock closes nothing in a folder that is shared, as gemini's tmp is.
    if (!machine || program !== "gemini") for (const name of its.executed) assert.ok(!existsSync(join(own, name)), name);
    for (const name of its.files) assert.equal(file(name), "theirs\n", name);
    for (const name of [...its.anew, "made-anew", ".claude.json"]) assert.ok(!existsSync(join(own, name)), name);
    assert.equal(readFileSync(join(crew.home, ".claude.json"), "utf8"), '{"theirs":1}');
  });
}
