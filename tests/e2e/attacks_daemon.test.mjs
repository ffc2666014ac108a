// What nobody can make the daemon do: write through a repository's links, wait for a FIFO, die of a record, run out of
// descriptors, hang on its keeper, or lose what it holds when its folder is removed. Every program here is an ordinary
// user's (harness/ordinary_user.mjs).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { changeDatabase, codeOf, exchange, isAlive, noneLeft, random, repository, waitFor } from "./harness.mjs";
import { giveAway, UserProject as OrdinaryProject } from "./harness/ordinary_user.mjs";

const oneSentence = (text) => text.trim().split("\n").length === 1;

// ---- what a repository brings

/// A repository that brings links at the names of our files, to a file of the person's. `commit` tells how.
function hostileProject(t, links, { tracked = true } = {}) {
  const project = new OrdinaryProject({ git: true });
  t.after(() => project.close());
  const precious = join(project.home, ".profile");
  writeFileSync(precious, "precious\n");
  for (const name of links) {
    mkdirSync(join(project.root, name, ".."), { recursive: true });
    symlinkSync(precious, join(project.root, name));
  }
  if (tracked) {
    project.git("add", "-f", ...links);
    project.git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "harmless");
  }
  giveAway(project.root);
  giveAway(project.home);
  return { project, isIntact: () => readFileSync(precious, "utf8") === "precious\n" };
}

const everythingIn = (folder) => readdirSync(folder, { recursive: true }).sort();

for (const tracked of [true, false])
  test(`a .coven with links to dot files${tracked ? ", as a repository commits it," : ""} is refused in one sentence, and nothing is written`, async (t) => {
    const { project, isIntact } = hostileProject(t, [".coven/covend.pid", ".coven/log/daemon.log"], { tracked });
    const before = everythingIn(project.path(".coven"));
    for (const words of [["ps"], ["daemon", "run"], ["daemon", "start"], ["hooks", "install"]]) {
      const verb = await project.cru(...words);
      assert.notEqual(verb.code, 0, words.join(" "));
      assert.ok(oneSentence(verb.stderr), verb.stderr);
      assert.match(verb.stderr, tracked ? /\.coven is tracked by git/ : /\.coven\/\S+ is a symbolic link/);
    }
    const hook = await project.cru("hook", "session-start", "--user", { input: JSON.stringify({ session_id: "s", cwd: project.root }) });
    assert.equal(hook.code, 0, "a hook never breaks its host");
    assert.ok(oneSentence(hook.stderr), hook.stderr);
    assert.match(hook.stderr, /\.coven/);
    assert.deepEqual(everythingIn(project.path(".coven")), before);
    assert.ok(isIntact());
  });

test("a .coven that is itself a link is refused", async (t) => {
  const project = new OrdinaryProject({});
  t.after(() => project.close());
  mkdirSync(`${project.home}/elsewhere`);
  symlinkSync(`${project.home}/elsewhere`, project.path(".coven"));
  giveAway(project.home);
  const verb = await project.cru("ps");
  assert.notEqual(verb.code, 0);
  assert.match(verb.stderr, /\.coven is a symbolic link/);
  assert.deepEqual(readdirSync(`${project.home}/elsewhere`), []);
});

test("nothing is written through a linked .crucible/agents or a linked worktrees folder", async (t) => {
  const project = await OrdinaryProject.started({ git: true }, t);
  const elsewhere = `${project.home}/elsewhere`;
  mkdirSync(elsewhere);
  giveAway(project.home);
  symlinkSync(elsewhere, project.path(".crucible/agents"));
  symlinkSync(elsewhere, project.path(".coven/worktrees"));
  const agent = await project.cru("agents", "new", "scribe");
  assert.notEqual(agent.code, 0);
  assert.match(agent.stderr, /\.crucible\/agents is a symbolic link/);
  const run = await project.cru("run", "--worktree", "--id", "tree", "--", "true");
  assert.notEqual(run.code, 0);
  assert.match(run.stderr, /\.coven\/worktrees is a symbolic link/);
  assert.deepEqual(readdirSync(elsewhere), []);
});

test("nothing is written through a linked .crucible or linked sessions", async (t) => {
  for (const linked of [".crucible", ".crucible/sessions"]) {
    const project = new OrdinaryProject({ config: "" });
    t.after(() => project.close());
    const elsewhere = `${project.home}/elsewhere`;
    mkdirSync(elsewhere);
    giveAway(project.home);
    rmSync(project.path(".crucible"), { recursive: true });
    if (linked !== ".crucible") mkdirSync(project.path(".crucible"));
    symlinkSync(elsewhere, project.path(linked));
    giveAway(project.root);
    const said = await project.cru("chat", "--model", "scripted", "-m", "hello");
    if (linked === ".crucible") {
      assert.equal(said.code, 4, said.stderr);
      assert.match(said.stderr, /\.crucible is a symbolic link, which cru does not follow/);
    } else {
      assert.equal(said.code, 0, said.stderr);
      await waitFor(() => /is a symbolic link/.test(project.log()), { what: "the log says why there are no files" });
    }
    assert.deepEqual(readdirSync(elsewhere), [], linked);
  }
});

// ---- files that wait

test("a FIFO in the place of .git/HEAD, of a config or of a script holds nobody up", async (t) => {
  const project = await OrdinaryProject.started({ git: true }, t);
  unlinkSync(project.path(".git/HEAD"));
  for (const name of [".git/HEAD", ".crucible/config.yaml", ".crucible/guardrails.yaml", ".crucible/teams.yaml"])
    assert.equal(spawnSync("mkfifo", [project.path(name)]).status, 0);
  giveAway(project.root);
  await project.sh("a", "true");
  assert.equal((await project.ended("a")).status, "completed");
  for (const path of ["/config", "/health", "/agents"]) assert.ok((await project.get(path)).status > 0, path);
  assert.equal((await project.cru("ps")).code, 0);
  assert.equal((await project.get("/health")).status, 200);
});

// ---- records

/// The newest database of the fixtures: a table that is younger is damaged too.
const databases = join(repository, "tests/fixtures/databases");
const fixture = join(databases, `schema-${Math.max(...readdirSync(databases).map((name) => Number(/^schema-(\d+)\.db$/.exec(name)?.[1] ?? 0)))}.db`);

/// A project with a database that a hand has been at, as it would come in an archive: nobody has made its .coven.
function withDatabase(t, sql) {
  const project = new OrdinaryProject({});
  t.after(() => project.close());
  mkdirSync(project.path(".coven"), { mode: 0o700 });
  copyFileSync(fixture, project.path(".coven/coven.db"));
  for (const one of [sql].flat()) changeDatabase(project, one);
  giveAway(project.root);
  return project;
}

async function adopt(project) {
  const { code, stderr } = await project.cru("daemon", "adopt", "--yes");
  assert.equal(code, 0, stderr);
}

// ---- a state folder that came in an archive

const verifying = (command) => `UPDATE work_queue SET status = 'running', completed_at = NULL, attempts = 1, claimed_by_session = NULL, lease_wall = NULL, verify_run = 'verify-brought-1',
  verify_context = '{}', verify = '${JSON.stringify({ argv: command, confined: false, jail: "" })}' WHERE task_id = 'work-claimed'`;

test("a .coven that came in an archive is refused in one sentence, and nothing of it counts until a person adopts it", async (t) => {
  const project = withDatabase(t, "SELECT 1");
  changeDatabase(project, verifying(["touch", project.path("pwned")]));
  writeFileSync(project.path(".coven/token"), `${"a".repeat(64)}\n`, { mode: 0o600 });
  giveAway(project.root);
  const before = everythingIn(project.path(".coven"));
  for (const words of [["ps"], ["daemon", "run"], ["daemon", "start"], ["daemon", "restart"], ["hooks", "install"]]) {
    const verb = await project.cru(...words);
    assert.notEqual(verb.code, 0, words.join(" "));
    assert.ok(oneSentence(verb.stderr), verb.stderr);
    assert.match(verb.stderr, /does not know \.coven .*cru daemon adopt/);
  }
  const hook = await project.cru("hook", "session-start", "--user", { input: JSON.stringify({ session_id: "s", cwd: project.root }) });
  assert.equal(hook.code, 0, "a hook never breaks its host");
  assert.match(hook.stderr, /does not know \.coven/);
  const examined = (await project.cru("doctor")).stdout;
  assert.match(examined, /fail\s+state folder.*does not know/);
  assert.match(examined, /→ if it is yours: cru daemon adopt; if not, move it aside/);
  assert.doesNotMatch(examined, /rm -r/);
  const unasked = await project.cru("daemon", "adopt");
  assert.notEqual(unasked.code, 0, "nobody is there to be asked");
  assert.notEqual((await project.cru("daemon", "adopt", "--yes", { env: { CRU_RUN: "r" } })).code, 0, "a run is not a person");
  assert.deepEqual(everythingIn(project.path(".coven")), before);
  assert.ok(!existsSync(project.path("pwned")));
  // A person who knows what it is, an older version's for example, says so once.
  await adopt(project);
  assert.match((await project.cru("daemon", "adopt", "--yes")).stderr, /nothing to do/);
  assert.equal((await project.cru("ps")).code, 0);
  await waitFor(() => existsSync(project.path("pwned")), { what: "from then on everything in it counts" });
});

test("where there is no folder to note it in, that is said", async (t) => {
  const project = new OrdinaryProject({});
  t.after(() => project.close());
  const ps = await project.cru("ps", { env: { HOME: "", XDG_STATE_HOME: "" } });
  assert.notEqual(ps.code, 0);
  assert.match(ps.stderr, /no folder of your own.*\n.*HOME/);
  assert.equal((await project.cru("ps")).code, 0);
});

test("a project that is moved keeps its .coven", async (t) => {
  const project = await OrdinaryProject.started({}, t);
  await project.sh("before", "true");
  await project.ended("before");
  await project.killDaemon();
  await project.endKeeper();
  const home = `${project.root}-moved`;
  renameSync(project.root, home);
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const ps = await project.cru("--project", home, "ps", { cwd: home });
  await project.cru("--project", home, "daemon", "stop", { cwd: home });
  assert.equal(ps.code, 0, ps.stderr);
  assert.match(ps.stdout, /before/);
  mkdirSync(project.root);
});

/// A copy of the project as `cp -a` makes it, gone when the test is.
async function copyOf(t, project) {
  const copy = `${project.root}-copy`;
  t.after(() => rmSync(copy, { recursive: true, force: true }));
  assert.equal((await project.spawn(["-a", project.root, copy], { argv0: "cp" }).ended).code, 0);
  return copy;
}

test("a copy of a project is not known as ours while the original is there; adopted, it has none of its keys", async (t) => {
  const project = await OrdinaryProject.started({}, t);
  const { code } = await project.json("pair", "--label", "phone");
  const { json: { key } } = await project.post("/pairings/redeem", { code });
  const { code: unused } = await project.json("pair", "--label", "tablet");
  const copy = await copyOf(t, project), here = { cwd: copy };
  const refused = await project.cru("ps", here);
  assert.notEqual(refused.code, 0);
  assert.ok(oneSentence(refused.stderr), refused.stderr);
  assert.match(refused.stderr, /does not know \.coven .*cru daemon adopt/);
  assert.equal((await project.cru("ps")).code, 0, "the original is as it was");
  assert.equal((await project.cru("daemon", "adopt", "--yes", here)).code, 0);
  t.after(() => project.cru("daemon", "stop", here));
  const listed = await project.cru("pair", "list", "--json", here);
  assert.deepEqual(JSON.parse(listed.stdout).pairings, [], listed.stderr);
  const read = (file) => readFileSync(join(copy, ".coven", file), "utf8").trim();
  assert.notEqual(read("made"), readFileSync(project.path(".coven/made"), "utf8").trim());
  assert.notEqual(read("token"), project.token);
  assert.ok(!existsSync(join(copy, ".coven/adopted")), "once is enough");
  const url = new URL(read("url")), there = { host: url.hostname, port: Number(url.port) };
  assert.equal((await exchange(there, "GET", "/pairings", { headers: { Authorization: `Bearer ${key}` } })).status, 401);
  assert.equal((await exchange(there, "POST", "/pairings/redeem", { body: { code: unused } })).status, 404);
  assert.ok((await project.json("pair", "list")).pairings.some(({ label }) => label === "phone"), "in the original nothing has changed");
});

test("a copy whose original is gone is the project", async (t) => {
  const project = await OrdinaryProject.started({}, t);
  await project.killDaemon();
  await project.endKeeper();
  const copy = await copyOf(t, project);
  rmSync(project.root, { recursive: true });
  const ps = await project.cru("--project", copy, "ps", { cwd: copy });
  await project.cru("--project", copy, "daemon", "stop", { cwd: copy });
  assert.equal(ps.code, 0, ps.stderr);
  mkdirSync(project.root);
});

test("what cannot be adopted is said before anybody is asked", async (t) => {
  const { project } = hostileProject(t, [".coven/covend.pid"], { tracked: false });
  const { stderr } = await project.cru("daemon", "adopt");
  assert.match(stderr, /is a symbolic link/);
  assert.doesNotMatch(stderr, /asked/);
  const empty = new OrdinaryProject({});
  t.after(() => empty.close());
  assert.match((await empty.cru("daemon", "adopt")).stderr, /there is no \.coven/);
  assert.match((await project.cru("doctor")).stdout, /→ move it aside: mv \.coven \.coven\.aside/);
});

// ---- damaged records

/// Every GET of the table that needs no more than what a list has named.
async function readEverything(project) {
  const { json: { paths } } = await project.get("/openapi.json");
  const ids = new Map();
  const gets = Object.entries(paths).filter(([path, methods]) => methods.get && !["/events", "/mcp", "/ws"].includes(path)).map(([path]) => path);
  const seen = [];
  for (const path of gets.filter((one) => !one.includes("{"))) {
    const { status, json } = await project.get(path);
    seen.push([path, status]);
    for (const list of Object.values(json ?? {})) if (Array.isArray(list)) for (const row of list) for (const key of ["task_id", "id", "session_id", "chat_id", "agent_id"]) if (typeof row?.[key] === "string") ids.set(row[key], path);
  }
  for (const path of gets.filter((one) => /^[^{]*\{\w+\}[^{]*$/.test(one)))
    for (const id of [...ids.keys()].slice(0, 12)) seen.push([path, (await project.get(path.replace(/\{\w+\}/, encodeURIComponent(id)))).status]);
  seen.push(["/events", (await project.get("/events?since=0&limit=500")).status]);
  return seen;
}

test("a record with the wrong kind of value ends nobody: the rest is shown, and the doctor says so", async (t) => {
  const project = withDatabase(t, "UPDATE runs SET argv = '[1]' WHERE task_id = (SELECT task_id FROM runs ORDER BY task_id LIMIT 1)");
  await adopt(project);
  await project.startDaemon();
  const { status, json } = await project.get("/agents");
  assert.equal(status, 200);
  assert.ok(json.agents.some(({ argv }) => argv?.length === 0) && json.agents.some(({ argv }) => argv?.length > 0), JSON.stringify(json));
  assert.equal((await project.cru("ps")).code, 0);
  const doctor = await project.cru("doctor");
  assert.match(doctor.stdout, /records in the table runs are damaged/);
  assert.match(project.log(), /a record is damaged/);
});

test("property: whatever stands in the cells of the database, the daemon starts, lists everything and lives", async (t) => {
  const rounds = Number(process.env.CRU_DAMAGE_ROUNDS ?? 12);
  const seed = Number(process.env.CRU_SEED ?? 20261117);
  const draw = random(seed), below = (n) => Math.floor(draw() * n), one = (list) => list[below(list.length)];
  const values = ["NULL", "0", "-1", "1", "9223372036854775807", "-9223372036854775808", "1e300", "-1e300", "0.5", "''", "'x'", "'[1]'", "'{}'", "'[{\"a\":1}]'", "'null'",
    "'{\"id\":7}'", "x'00ff'", "'../../x'", "'running'", "'active'", "hex(randomblob(2000))", "'[\"a\",[\"b\"]]'"];
  const project = withDatabase(t, "SELECT 1");
  await adopt(project);
  const database = project.path(".coven/coven.db");
  // Replies are kept for a day, so those that are repeated are new. The one fails, the other does not.
  const posts = [["/tasks/good/start", { argv: ["true"] }], ["/tasks/bad/start", { argv: ["/no/such/program"] }]];
  const repeat = async () => { for (const [path, body] of posts) seen.push([path, (await project.post(path, body, { headers: { "Cru-Request-Id": `once-${path}` } })).status]); };
  let seen = [];
  await project.startDaemon();
  await repeat();
  await project.ended("good");
  await project.killDaemon("SIGTERM");
  const sound = join(project.home, "sound.db");
  assert.equal(spawnSync("sqlite3", [database, `VACUUM INTO '${sound}'`]).status, 0);
  const tables = changeDatabase({ path: () => fixture }, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%words%' AND name NOT LIKE 'sqlite%' AND name <> 'schema_versions'");
  const columns = new Map(tables.map((name) => [name, changeDatabase({ path: () => fixture }, `SELECT name FROM pragma_table_info('${name}')`)]));
  for (let round = 0; round < rounds; ++round) {
    for (const part of ["", "-wal", "-shm"]) rmSync(`${database}${part}`, { force: true });
    copyFileSync(sound, database);
    const changes = [`UPDATE replies SET text = ${one(values)};`, `UPDATE replies SET failed = ${one(values)};`];
    for (let i = 0; i < 40; ++i) {
      const table = one(tables), cell = `"${one(columns.get(table))}" = ${one(values)}`;
      // A whole column, or the first or last row of it.
      const rows = one(["", `WHERE rowid = (SELECT min(rowid) FROM ${table})`, `WHERE rowid = (SELECT max(rowid) FROM ${table})`]);
      changes.push(`UPDATE OR IGNORE ${table} SET ${cell} ${rows};`);
    }
    // A CHECK or NOT NULL that refuses leaves the cell as it was, and the next statement is carried out.
    spawnSync("sqlite3", [database], { input: `PRAGMA foreign_keys=OFF;\n${changes.join("\n")}\n` });
    giveAway(project.path(".coven"));
    const told = `seed ${seed}, round ${round}:\n${changes.join("\n")}`;
    await project.startDaemon().catch((error) => { throw new Error(`${told}\n${error.message}`); });
    const { pid } = project.daemon;
    seen = await readEverything(project).catch((error) => { throw new Error(`${told}\n${error.message}\n${project.daemon.text.stderr}`); });
    await repeat().catch((error) => { throw new Error(`${told}\n${error.message}\n${project.daemon.text.stderr}`); });
    assert.ok(isAlive(pid), `${told}\n${project.daemon.text.stderr}`);
    assert.ok(seen.every(([, status]) => status > 0), told);
    assert.equal((await project.get("/health")).status, 200, told);
    await project.killDaemon();
  }
});

// ---- connections

/// So many connections over TCP that say nothing.
async function idleConnections(t, { host, port }, count) {
  const sockets = await Promise.all(Array.from({ length: count }, () => new Promise((resolve) => {
    const socket = net.connect(port, host);
    socket.on("error", () => {});
    socket.on("connect", () => resolve(socket));
    socket.on("close", () => resolve(socket));
  })));
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  return sockets;
}

for (const [name, count, limit] of [["1,030 idle connections by another user", 1030], ["140 connections under a limit of 128 descriptors", 140, 128]])
  test(`${name}: a person's verbs still work, and so does whoever shows a token`, async (t) => {
    const project = new OrdinaryProject({});
    t.after(() => project.close());
    const launch = () => (limit ? project.spawn([`--nofile=${limit}:${limit}`, "--", project.cru_bin, "daemon", "run"], { argv0: "prlimit" }) : project.spawn(["daemon", "run"]));
    await project.launched(launch);
    await project.enter();
    await idleConnections(t, project.tcp, count);
    for (let i = 0; i < 3; ++i) assert.equal((await project.cru("ps")).code, 0);
    await project.sh(`run-${count}`, "true");
    assert.equal((await project.ended(`run-${count}`)).status, "completed");
    const page = await waitFor(() => exchange(project.tcp, "GET", "/agents", { headers: { Authorization: `Bearer ${project.credential}` } }), { what: "whoever shows a token is heard" });
    assert.equal(page.status, 200, page.text);
  });

test("two Origin or two Authorization headers are refused", async (t) => {
  const project = await OrdinaryProject.started({}, t);
  const { host, port } = project.tcp;
  const status = (lines) => new Promise((resolve, reject) => {
    const socket = net.connect(port, host, () => socket.write(["GET /agents HTTP/1.1", `Host: ${host}:${port}`, ...lines, "Connection: close", "", ""].join("\r\n")));
    let text = "";
    socket.on("data", (part) => { text += part; });
    socket.on("error", reject);
    socket.on("close", () => resolve(Number(text.split(" ")[1])));
  });
  const right = `Authorization: Bearer ${project.credential}`, own = `Origin: http://${host}:${port}`;
  assert.equal(await status([right, own]), 200);
  assert.equal(await status([right, own, "Origin: http://evil.example"]), 400);
  assert.equal(await status([right, "Origin: http://evil.example", own]), 400);
  assert.equal(await status([right, "Authorization: Bearer guess"]), 400);
  assert.equal(await status(["Authorization: Bearer guess", right]), 400);
});

// ---- the keeper

test("a keeper that does not answer: the doors open for reading, its runs are unknown, and all is well when it answers", async (t) => {
  const project = await OrdinaryProject.started({}, t);
  await project.sh("long", "echo begun; read x; echo done");
  await project.outputWith("long", "begun");
  const keeper = Number(readFileSync(project.path(".coven/keeper.pid"), "utf8"));
  await project.killDaemon();
  process.kill(keeper, "SIGSTOP");
  t.after(() => { try { process.kill(keeper, "SIGCONT"); } catch { /* gone */ } });
  const ps = await project.cru("ps");
  assert.equal(ps.code, 0, ps.stderr);
  assert.match(ps.stdout, /long\s.*unknown/);
  assert.match(ps.stderr, /the keeper \(pid \d+\) does not answer/);
  assert.match((await project.cru("doctor")).stdout, /does not answer/);
  assert.match(project.log(), /the keeper does not answer/);
  assert.deepEqual((await project.output("long")).map(({ data }) => data), ["begun"]);
  const refused = await project.post("/agents/long/kill");
  assert.deepEqual([refused.status, codeOf(refused.json)], [503, "keeper_unavailable"], refused.text);
  process.kill(keeper, "SIGCONT");
  await waitFor(async () => (await project.get("/agents/long")).json.status === "running", { what: "the run is known again" });
  assert.deepEqual((await project.get("/version")).json.troubles, []);
  // It is heard of before all is taken back; until then nothing is changed.
  await waitFor(async () => (await project.post("/agents/long/input", { text: "x\n" })).status === 200, { what: "it can be written to" });
  assert.equal((await project.ended("long")).status, "completed");
});

// ---- the state folder

test("git clean -fdx under a live daemon: it goes on, makes .coven again, and no second one starts", async (t) => {
  const project = await OrdinaryProject.started({ git: true }, t);
  await project.sh("before", "echo one");
  await project.ended("before");
  await project.sh("during", "echo first; read x; echo last");
  await project.outputWith("during", "first");
  const { pid } = project.daemon, { token } = project;
  const keeper = Number(readFileSync(project.path(".coven/keeper.pid"), "utf8"));
  // As the person whose project it is: git asks that.
  const cleaned = await project.spawn(["-C", project.root, "clean", "-fdxq"], { argv0: "git" }).ended;
  assert.ok(cleaned.code === 0 || /not empty/.test(cleaned.stderr), cleaned.stderr);
  // At once: nobody is there who could be asked, and yet no second daemon starts.
  const ps = await project.cru("ps");
  assert.equal(ps.code, 0, ps.stderr);
  assert.match(ps.stdout, /before/);
  assert.match(ps.stdout, /during/);
  assert.deepEqual(project.daemons(), [pid]);
  await waitFor(() => existsSync(project.path(".coven/keeper.sock")) && existsSync(project.path(".coven/coven.db")) && existsSync(project.path(".coven/token")), { what: ".coven is whole again" });
  assert.equal(project.token, token);
  assert.equal(statSync(project.path(".coven")).mode & 0o777, 0o700);
  // What is acknowledged from here on is found again by the next daemon, and so is what was before.
  assert.equal((await project.post("/agents/during/input", { text: "x\n" })).status, 200);
  assert.equal((await project.ended("during")).status, "completed");
  await waitFor(async () => (await project.output("during")).map(({ data }) => data).join() === "first,last", { what: "its output is whole" });
  const events = await project.events("?since=0&limit=1000");
  await project.killDaemon();
  await project.startDaemon();
  assert.deepEqual((await project.get("/agents")).json.agents.map(({ task_id, status }) => [task_id, status]).sort(), [["before", "completed"], ["during", "completed"]]);
  assert.deepEqual((await project.events("?since=0&limit=1000")).slice(0, events.length), events);
  assert.deepEqual((await project.output("during")).map(({ data }) => data), ["first", "last"]);
  assert.equal(Number(readFileSync(project.path(".coven/keeper.pid"), "utf8")), keeper, "and the keeper is the same");
});

for (const name of ["covend.sock", "covend.pid", "token", "coven.db", "door/mcp.sock", "door", "keeper.sock"])
  test(`.coven/${name}, once removed, is made again`, async (t) => {
    const project = await OrdinaryProject.started({}, t);
    await project.sh("first", "read x");
    const path = project.path(".coven", name), { token } = project;
    rmSync(path, { recursive: true });
    await waitFor(() => existsSync(path), { what: `${name} is there again` });
    await waitFor(async () => (await project.cru("ps")).code === 0, { what: "the door is open" });
    assert.equal((await project.cru("send", "first", "x")).code, 0);
    assert.equal((await project.ended("first")).status, "completed");
    assert.equal(project.token, token);
    assert.deepEqual(project.daemons(), [project.daemon.pid]);
    await project.killDaemon();
    await project.startDaemon();
    assert.equal((await project.get("/agents/first")).json.status, "completed");
  });

const removals = {
  "everything in .coven": (coven) => readdirSync(coven).filter((name) => !name.startsWith(".")),
  ".coven/exits": () => ["exits"],
  ".coven/output": () => ["output"],
};
for (const [what, names] of Object.entries(removals))
  test(`${what}, once removed, is made again, and runs end as ever`, async (t) => {
    const project = await OrdinaryProject.started({}, t);
    await project.sh("during", "echo first; read x; echo last; exit 3");
    await project.outputWith("during", "first");
    const coven = project.path(".coven"), mark = readFileSync(join(coven, "made"), "utf8"), { pid } = project.daemon;
    for (const name of names(coven)) rmSync(join(coven, name), { recursive: true });
    const ps = await project.cru("ps");
    assert.equal(ps.code, 0, ps.stderr);
    const parts = ["made", "token", "coven.db", "keeper.sock", "keeper.pid", "covend.pid", "door/mcp.sock", "exits", "output/during.jsonl"];
    await waitFor(() => parts.every((name) => existsSync(join(coven, name))), { what: "everything is there again" });
    assert.equal(readFileSync(join(coven, "made"), "utf8"), mark);
    assert.equal((await project.post("/agents/during/input", { text: "x\n" })).status, 200);
    const { status, exit_code } = await project.ended("during");
    assert.deepEqual([status, exit_code], ["failed", 3]);
    await waitFor(async () => (await project.output("during")).map(({ data }) => data).join() === "first,last", { what: "its output is whole" });
    await project.sh("after", "true");
    assert.equal((await project.ended("after")).status, "completed");
    assert.deepEqual(project.daemons(), [pid]);
  });

test("where the project itself is removed, its runs are ended, then the keeper and the daemon", async (t) => {
  const project = await OrdinaryProject.started({}, t);
  const begun = Date.now();
  await project.sh("long", "trap '' HUP; sleep 600");
  const { pid } = project.daemon, keeper = Number(readFileSync(project.path(".coven/keeper.pid"), "utf8"));
  await waitFor(() => { rmSync(project.root, { recursive: true, force: true }); return !existsSync(project.root); }, { what: "the folder is gone" });
  await waitFor(() => !isAlive(pid), { what: "the daemon has ended" });
  await waitFor(() => !isAlive(keeper), { what: "the keeper has ended" });
  assert.ok(Date.now() - begun < 50_000, "and does not stay for a record that it can write nowhere");
  await noneLeft(project, "after the project was removed");
  assert.ok(!existsSync(project.root), "and nobody has made it again");
});
