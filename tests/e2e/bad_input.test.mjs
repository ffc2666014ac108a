// Bad input for every tool, made from its own schema: missing, wrong type, too long, out of range, no such choice,
// traversal, NUL, unknown field. Each is an error that names the field, and nothing has changed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, changeDatabase, codeOf, cru_bin, exchange, Project, stateOf } from "./harness.mjs";
import { attempt, stdioClient, use } from "./harness/mcp.mjs";

/// What each tool would take; `claimed` and `pending` are pieces of work that are there.
const sound = {
  register_session: {}, heartbeat: {}, discover_agents: {}, list_crew: {}, cleanup_dead_agents: {}, check_locks: {}, get_work: {}, list_work: {}, read_handoff: {}, recall: {},
  acquire_lock: { file_path: "src/new.cc" }, release_lock: { file_path: "src/held.cc" },
  submit_work: { task_type: "t", description: "d" }, complete_work: { task_id: "claimed", success: true }, cancel_work: { task_id: "pending" }, why_work: { task_id: "pending" },
  write_handoff: { summary: "s" }, remember: { event_type: "error", summary: "s" }, check_guardrails: { operation_text: "ls" }, ask_user: { prompt: "p", wait_seconds: 0 }, request_approval: { action: "a", wait_seconds: 0 },
  list_live_agents: {}, get_auto_mode: {}, say: { content: "hello" },
  list_agents: {}, get_agent: { name: "explorer" }, read_note: { path: "x.md" }, list_notes: {}, semantic_search: { query: "x" },
  spawn_agent: { agent: "nobody", task: "t", wait_seconds: 0 }, get_subagent: { task_id: "x" },
};

const typeOf = (schema) => (Array.isArray(schema.type) ? schema.type.find((type) => type !== "null") : schema.type);
const is_path = /^file_paths?$/;
const traversals = ["../outside", "/etc/passwd", "src/../../outside", "a/../../../etc/passwd"];

/// [what, value] for one property.
function badValues(tool, name, schema, is_required) {
  const type = typeOf(schema);
  const bad = [];
  const lists = (values) => (type === "array" ? values.map((value) => [value]) : values);
  if (type === "string" || type === "array") {
    bad.push(["an object", { a: 1 }], ["a number", 7], ...lists(["a\u0000b"]).map((value) => ["NUL", value]));
    if (type === "array") bad.push(["a list of numbers", [1, 2]], ["a list of lists", [["a"]]]);
    if (schema.maxLength) bad.push(["too long", "x".repeat(schema.maxLength + 1)]);
    if (schema.maxItems) bad.push(["too many", Array(schema.maxItems + 1).fill("x")]);
    if (schema.minLength) bad.push(["empty", ""]);
    if (schema.enum) bad.push(["no such choice", "nonsense"]);
    if (schema.pattern) bad.push(["traversal in an id", "../x"], ["an id that is too long", "x".repeat(65)], ["an empty id", ""]);
    // check_guardrails is asked about paths outside: that is what it is for.
    if (is_path.test(name) && tool !== "check_guardrails") bad.push(...lists(traversals).map((value) => ["traversal", value]));
  } else if (type === "integer" || type === "number") {
    bad.push(["words", "many"], ["an object", {}], ["a list", [1]], ["a truth", true]);
    if (type === "integer") bad.push(["a fraction", 1.5], ["beyond all bounds", 1e300]);
    if (schema.minimum !== undefined && schema.minimum > -1e18) bad.push(["too small", schema.minimum - 1]);
    if (schema.maximum !== undefined && schema.maximum < 1e15) bad.push(["too great", schema.maximum + 1]);
    if (name === "ttl_minutes") bad.push(["below", 0], ["above", 481]);
  } else if (type === "boolean") {
    bad.push(["words", "perhaps"], ["a number", 7]);
  } else {
    bad.push(["more than it may hold", "x".repeat(300_000)]);
  }
  // Elsewhere null is a way to leave a field out.
  if (is_required) bad.push(["null", null]);
  return bad;
}

test("bad input for every tool is an error that names the field, and nothing has changed", async (t) => {
  const project = await Project.started({}, t);
  const client = await stdioClient(project, t, { env: { AGENT_ID: "ada" } });
  const looker = new Agent(project, "looker");
  await use(client, "register_session", { capabilities: ["one"], current_task: "two" });
  await use(client, "acquire_lock", { file_path: "src/held.cc" });
  await use(client, "submit_work", { task_type: "t", description: "d", task_id: "claimed" });
  await use(client, "get_work");
  await use(client, "submit_work", { task_type: "t", description: "d", task_id: "pending" });
  const snapshot = async () => {
    const { agents } = await looker.ask("discover_agents");
    const state = await stateOf(looker);
    const still = ({ agent_id, capabilities, current_task, status }) => ({ agent_id, capabilities, current_task, status });
    // A call renews leases and heartbeats: that is no change.
    return { ...state, work: state.work.map(({ lease_expires_at, ...item }) => item), agents: agents.map(still) };
  };
  await looker.ask("heartbeat").catch(() => {});
  const before = await snapshot();
  const { tools } = await client.listTools();
  let count = 0;
  const wrong = [];
  for (const { name: tool, inputSchema } of tools) {
    const base = sound[tool];
    assert.ok(base, `${tool} has no sound input here: say one`);
    const expect = async (what, field, args) => {
      ++count;
      const shown = `${tool} ${field}: ${what}`;
      let reply;
      try { reply = await attempt(client, tool, args); } catch (error) { wrong.push(`${shown}: ${error.message}`); return; }
      const names = reply.field?.startsWith(field) || (reply.message ?? "").includes(field) || (field === "summary" && /summary_required/.test(JSON.stringify(reply)));
      if (!(reply.isError || reply.success === false) || !names) wrong.push(`${shown}: ${JSON.stringify(reply).slice(0, 300)}`);
    };
    assert.equal(inputSchema.additionalProperties, false, `${tool}: the schema says that there is no more`);
    for (const field of inputSchema.required ?? []) {
      const { [field]: _, ...rest } = base;
      await expect("missing", field, rest);
    }
    await expect("unknown field", "nonsense", { ...base, nonsense: 1 });
    for (const [name, schema] of Object.entries(inputSchema.properties ?? {})) {
      for (const [what, value] of badValues(tool, name, schema, inputSchema.required?.includes(name))) await expect(what, name, { ...base, [name]: value });
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(count > 300, `${count} cases`);
  t.diagnostic(`${count} cases`);
  assert.deepEqual(await snapshot(), before, "nothing has changed");
});

test("paths through links that lead outside are refused, names that only look so are not", async (t) => {
  const project = await Project.started({}, t);
  const { mkdirSync, symlinkSync, writeFileSync } = await import("node:fs");
  mkdirSync(project.path("src"));
  writeFileSync(project.path("src/real.cc"), "");
  symlinkSync("/etc", project.path("away"));
  symlinkSync("real.cc", project.path("src/link.cc"));
  const ada = new Agent(project, "ada"), bob = new Agent(project, "bob");
  const { json } = await ada.call("acquire_lock", { file_path: "away/passwd" });
  assert.deepEqual([json.success, json.reason], [false, "invalid_file_path"], JSON.stringify(json));
  assert.equal((await ada.ask("acquire_lock", { file_path: "src/link.cc" })).file_path, "src/real.cc", "the same file, the same lock");
  const { json: refused } = await bob.call("acquire_lock", { file_path: "./src//real.cc" });
  assert.deepEqual([refused.reason, refused.locked_by], ["locked_by_other", "ada"], JSON.stringify(refused));
  const { json: glob } = await bob.call("acquire_lock", { file_path: "src/**/*.cc" });
  assert.deepEqual([glob.reason, glob.locked_by], ["locked_by_other", "ada"], "a glob that covers it is a conflict");
  assert.equal((await bob.ask("acquire_lock", { file_path: "src/..real.cc" })).success, true);
  assert.equal((await bob.ask("acquire_lock", { file_path: `${project.root}/docs/x.md` })).file_path, "docs/x.md", "an absolute path inside");
});

/// What a shell passes on: words whose \377 is a byte that is not UTF-8.
const inShell = (project, script, options) => project.spawn(["-c", script, "sh", project.cru_bin ?? cru_bin], { argv0: "sh", ...options }).ended;

test("a word that is not UTF-8 is refused, and the refusal names it", async (t) => {
  const project = await Project.started({}, t);
  const bad = `"$(printf 'a\\377b')"`;
  for (const [words, said] of [
    [`run --id one -- echo ${bad}`, 'run: command is not valid UTF-8: "a\\xffb"'],
    [`run --id ${bad} -- true`, 'run: --id is not valid UTF-8: "a\\xffb"'],
    [`run --env X=${bad} -- true`, 'run: --env is not valid UTF-8: "X=a\\xffb"'],
    [`work submit fix ${bad}`, 'work submit: description is not valid UTF-8: "a\\xffb"'],
    [`locks acquire ${bad}`, 'locks acquire: file-path is not valid UTF-8: "a\\xffb"'],
  ]) {
    const { code, stderr } = await inShell(project, `exec "$1" ${words}`);
    assert.deepEqual([code, stderr.split("\n")[0]], [2, `cru: ${said}`]);
  }
  const variable = await inShell(project, `LC_NAME=${bad} exec "$1" run -- true`);
  assert.deepEqual([variable.code, variable.stderr.split("\n")[0]], [2, "cru: the environment variable LC_NAME is not valid UTF-8"]);
  const folder = await inShell(project, `mkdir ${bad}; cd ${bad}; exec "$1" run -- true`);
  assert.deepEqual([folder.code, folder.stderr.split("\n")[0]], [2, `cru: the name of the folder is not valid UTF-8: ${project.root}/a\\xffb`]);
  const body = await exchange(project.unix, "POST", "/tasks/one/start", { raw: Buffer.from('{"argv":["echo","a\xff"]}', "latin1") });
  assert.deepEqual([body.status, body.json.message], [400, "not valid JSON at byte 18: not UTF-8"], body.text);
  assert.deepEqual((await project.get("/agents")).json.agents, []);
});

test("a project in a folder whose name is not UTF-8 is shown, and starts no run", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  const { code, stdout, stderr } = await inShell(project, `
    set -e; mkdir -p "$(printf 'caf\\351')/.git"; cd "$(printf 'caf\\351')"; unset CRU_START_HERE
    "$1" daemon start >&2
    "$1" daemon status --json; "$1" config --json; "$1" doctor --json
    curl -sS --unix-socket .coven/covend.sock http://localhost/version; echo
    curl -sS --unix-socket .coven/covend.sock -H 'Content-Type: application/json' -d '{"argv":["true"]}' http://localhost/tasks/one/start; echo
    "$1" daemon stop >&2`, { env: { CRU_PROJECT: "" } });
  assert.equal(code, 0, stdout + stderr);
  const [status, , doctor, version, start] = stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const shown = `${project.root}/caf\uFFFD`;
  assert.equal(status.project, shown);
  assert.equal(doctor.checks.find(({ name }) => name === "project").message, shown);
  assert.equal(version.project, shown, JSON.stringify(version));
  assert.deepEqual([start.error, start.field], ["invalid_argument", "cwd"]);
});

test("a record that is not UTF-8 is shown with what stands for its bytes", async (t) => {
  const project = await Project.started({}, t);
  assert.equal((await project.cru("work", "submit", "fix", "a description")).code, 0);
  await project.sh("one", "true");
  await project.ended("one");
  await project.killDaemon("SIGTERM");
  changeDatabase(project, "UPDATE work_queue SET description = CAST(x'61ff62' AS TEXT); UPDATE runs SET task = CAST(x'61ff62' AS TEXT), error_detail = CAST(x'c3' AS TEXT)");
  await project.startDaemon();
  assert.equal((await project.get("/work")).json.work[0].description, "a\uFFFDb");
  assert.equal((await project.run("one")).task, "a\uFFFDb");
  // What is not UTF-8 is replaced by our own reader too: only the bytes tell.
  const checked = await inShell(project, `for path in work agents state; do
    curl -sS --unix-socket .coven/covend.sock http://localhost/$path | iconv -f UTF-8 -t UTF-8 > /dev/null || exit 1; done`);
  assert.equal(checked.code, 0, checked.stderr);
});

test("whoever has long arguments is recognised like anybody else", async (t) => {
  const project = await Project.started({}, t);
  const long = "x".repeat(100_000), script = `printf "%s" "$1" | wc -c # ${long}`;
  const run = await project.cru("run", "--id", "one", "--", "sh", "-c", script, "sh", long);
  assert.deepEqual([run.code, run.stdout.trim()], [0, "100000"], run.stderr.slice(0, 500));
  const work = await project.cru("work", "submit", "fix", "y".repeat(60_000), "--json");
  assert.equal(work.code, 0, work.stderr.slice(0, 500));
  const { status, text } = await project.post("/tasks/two/start", { argv: ["true", long, long, long] });
  assert.equal(status, 201, text.slice(0, 500));
  const too_long = await project.post("/work", { task_type: "fix", description: "z".repeat(2_000_000) });
  assert.notEqual(codeOf(too_long.json), "not_a_person", too_long.text.slice(0, 500));
});
