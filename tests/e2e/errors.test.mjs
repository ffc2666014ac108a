// What goes wrong, and how it is said: a clear error, the right exit code or status, nothing changed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { codeOf, cru_bin, exchange, isAlive, messageOf, patience, Project, waitFor } from "./harness.mjs";
import { SmallDisk } from "./harness/small_disk.mjs";

/// No run was recorded, no event written, no file made.
async function nothingChanged(project, id) {
  if (id) assert.equal((await project.get(`/agents/${id}`)).status, 404);
  assert.deepEqual((await project.get("/agents")).json.agents, []);
  assert.deepEqual(await project.events("?since=0"), []);
}

test("a full disk: the start is refused with disk_full, and works again when there is space", async (t) => {
  const project = new SmallDisk({ config: "runs: {min_free_disk: 0}\n" });
  project.size = "16m";
  t.after(() => project.close());
  await project.startDaemon();
  await project.sh("before", "echo hi");
  await project.ended("before");
  project.fill("ballast", 32 << 20);
  // A start may still fit into space that the database has already; each try has an id of its own, for such a run can
  // not even be recorded as ended.
  let id = "full", tries = 0;
  const refused = await waitFor(async () => {
    id = `full-${++tries}`;
    const reply = await project.post(`/tasks/${id}/start`, { argv: ["sh", "-c", "echo never"] });
    return reply.status !== 201 && reply;
  });
  assert.deepEqual([refused.status, codeOf(refused.json)], [507, "disk_full"], refused.text);
  assert.match(messageOf(refused.json), /disk|space/i);
  assert.equal((await project.get("/health")).status, 200);
  assert.equal((await project.get(`/agents/${id}`)).status, 404);
  assert.deepEqual((await project.events("?since=0")).filter(({ entity_id }) => entity_id === id), []);
  rmSync(project.path(".coven/ballast"));
  await waitFor(async () => (await project.post(`/tasks/${id}/start`, { argv: ["true"] })).status === 201);
  assert.equal((await project.ended(id)).status, "completed");
});

test("a disk that fills up under a run makes it wait, and nothing is lost", async (t) => {
  const project = new SmallDisk({ config: "runs: {min_free_disk: 0}\n" });
  project.size = "32m";
  t.after(() => project.close());
  await project.startDaemon();
  project.fill("ballast", 20 << 20);
  // Not before its start is recorded: a start that cannot be is refused.
  await project.start("flood", ["perl", "-e", "select undef, undef, undef, 0.02 until -e 'go'; print qq(line $_\\n) for 1..150000"]);
  writeFileSync(project.path("go"), "");
  const free = () => { const { bavail, bsize } = statfsSync(project.path(".coven/output")); return bavail * bsize; };
  await waitFor(() => statSync(project.file("flood")).size > 1e6 && free() < 65536, { what: "there is no space left" });
  assert.equal((await project.run("flood")).status, "running", "it waits");
  assert.equal((await project.get("/health")).status, 200);
  rmSync(project.path(".coven/ballast"));
  const run = await project.ended("flood");
  assert.deepEqual([run.status, run.last_seq], ["completed", 150_000], JSON.stringify(run));
  const lines = await project.output("flood", { limit: 10_000 });
  lines.forEach((line, index) => {
    if (line.seq !== index + 1 || line.data !== `line ${index + 1}`) assert.fail(`at ${index + 1}: ${JSON.stringify(line)}`);
  });
});

test("on a full disk a run that waits says so, and a kill works", async (t) => {
  const project = new SmallDisk({ config: "runs: {min_free_disk: 0, kill_grace: 0s}\n" });
  project.size = "32m";
  t.after(() => project.close());
  await project.startDaemon();
  project.fill("ballast", 20 << 20);
  await project.start("flood", ["perl", "-e", "select undef, undef, undef, 0.02 until -e 'go'; print qq(line $_\\n) for 1..15000000"]);
  writeFileSync(project.path("go"), "");
  const waiting = await waitFor(async () => (await project.run("flood")).waits_for && project.run("flood"), { what: "the run says that it waits" });
  assert.match(waiting.waits_for, /disk is full/);
  assert.equal((await project.get("/agents")).json.agents[0].waits_for, waiting.waits_for);
  assert.equal((await project.get("/state")).json.agents[0].waits_for, waiting.waits_for);
  assert.match((await project.inNamespace("ps")).stdout, /^flood +running .*the disk is full/m);
  assert.match((await project.inNamespace("show", "flood")).stdout, /^ +waits +the disk is full: free some space, or: cru kill flood$/m);
  assert.match((await project.get("/version")).json.troubles.join(), /run flood waits: the disk is full/);
  // To the last byte: the daemon cannot write a thing.
  let tries = 0;
  await waitFor(async () => { project.fill("more", 1 << 20); return (await project.post(`/tasks/never-${++tries}/start`, { argv: ["true"] })).status === 507; }, { what: "nothing can be recorded" });
  const { pid } = waiting;
  const killed = await project.post("/agents/flood/kill", {}, { headers: { "Cru-Request-Id": "kill-it" } });
  assert.deepEqual([killed.status, killed.json.kill_requested], [200, true], killed.text);
  await waitFor(() => !isAlive(pid), { what: "its process is gone" });
  for (const name of ["ballast", "more"]) rmSync(project.path(`.coven/${name}`), { force: true });
  assert.equal((await project.ended("flood")).status, "killed", "and not failed");
  await waitFor(async () => !(await project.get("/version")).json.troubles.length, { what: "nobody waits any more" });
});

test("a kill ends a run whose output cannot be written, and says what is missing", async (t) => {
  const project = await Project.started({ config: "runs: {kill_grace: 500ms}\n" }, t);
  await project.sh("other", "read x; echo still");
  const limited = spawnSync("prlimit", ["--pid", String(project.keeperPid), "--fsize=20000:"], { encoding: "utf8" });
  assert.equal(limited.status, 0, limited.stderr);
  const { pid } = await project.sh("flood", "seq 1 5000; exec sleep 600");
  await waitFor(async () => (await project.run("flood")).waits_for, { what: "it waits" });
  const killed = await project.cru("kill", "flood");
  assert.deepEqual([killed.code, killed.stdout], [0, "flood killed\n"], JSON.stringify(killed));
  assert.ok(!isAlive(pid));
  const run = await project.run("flood");
  const written = project.fileLines("flood").length;
  assert.ok(written > 0 && written < 5000, `${written} lines`);
  assert.deepEqual([run.status, run.last_seq], ["killed", written]);
  assert.equal(run.error_detail, `the last ${5000 - written} lines of its output could not be written`);
  assert.match(killed.stderr, new RegExp(`^cru: flood: ${run.error_detail}$`, "m"));
  assert.deepEqual((await project.get("/version")).json.troubles, []);
  // One that has ended by itself and only waits for its file; and the keeper itself.
  await project.sh("brief", "seq 1 5000");
  await waitFor(async () => (await project.run("brief")).waits_for, { what: "it waits" });
  assert.equal((await project.cru("kill", "brief")).code, 0);
  assert.equal((await project.run("brief")).status, "killed");
  await project.sh("last", "seq 1 5000; exec sleep 600");
  await waitFor(async () => (await project.run("last")).waits_for, { what: "it waits" });
  const keeper = project.keeperPid;
  process.kill(keeper, "SIGTERM");
  await waitFor(() => !isAlive(keeper), { what: "the keeper has ended" });
  for (const id of ["last", "other"]) assert.equal((await project.ended(id)).status, "failed");
});

test("an unwritable .coven: the daemon and a verb say so and exit 1, nothing is touched", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  writeFileSync(project.path(".coven"), "I am a file\n");
  const daemon = await project.cru("daemon", "run");
  assert.equal(daemon.code, 1, JSON.stringify(daemon));
  assert.match(daemon.stderr, /\.coven/);
  const ps = await project.cru("ps");
  assert.equal(ps.code, 1, JSON.stringify(ps));
  assert.match(ps.stderr, /\.coven/);
  assert.equal(ps.stdout, "");
  assert.equal(readFileSync(project.path(".coven"), "utf8"), "I am a file\n");
});

test("a missing program: 422 cannot_execute, exit 1, nothing recorded", async (t) => {
  const project = await Project.started({}, t);
  const reply = await project.post("/tasks/nope/start", { argv: ["no-such-program-at-all"] });
  assert.deepEqual([reply.status, codeOf(reply.json)], [422, "cannot_execute"], reply.text);
  assert.match(messageOf(reply.json), /no-such-program-at-all/);
  const run = await project.cru("run", "--id", "nope", "--", "no-such-program-at-all");
  assert.equal(run.code, 1, JSON.stringify(run));
  assert.match(run.stderr, /no-such-program-at-all/);
  assert.equal(run.stdout, "");
  const backend = await project.post("/tasks/nope/start", { backend: "claude", task: "x", env: { PATH: "/nowhere" } });
  assert.deepEqual([backend.status, codeOf(backend.json)], [422, "cannot_execute"], backend.text);
  assert.match(messageOf(backend.json), /claude/);
  await nothingChanged(project, "nope");
});

test("a command that cannot be executed: 422, nothing recorded", async (t) => {
  const project = await Project.started({}, t);
  writeFileSync(project.path("plain.txt"), "not a program\n");
  chmodSync(project.path("plain.txt"), 0o644);
  for (const argv of [["./plain.txt"], [project.path("plain.txt")], [project.root]]) {
    const reply = await project.post("/tasks/cannot/start", { argv });
    assert.deepEqual([reply.status, codeOf(reply.json)], [422, "cannot_execute"], `${argv}: ${reply.text}`);
  }
  await nothingChanged(project, "cannot");
});

test("a program whose interpreter is missing: 422 cannot_execute, exit 1, and a failed run that says why", async (t) => {
  const project = await Project.started({}, t);
  writeFileSync(project.path("odd"), "#!/no/such/interpreter\n");
  chmodSync(project.path("odd"), 0o755);
  // Only exec itself can tell, and by then the start is recorded.
  const reply = await project.post("/tasks/odd/start", { argv: ["./odd"] });
  assert.deepEqual([reply.status, codeOf(reply.json)], [422, "cannot_execute"], reply.text);
  const run = await project.run("odd");
  assert.deepEqual([run.status, run.pid, run.exit_code, Boolean(run.ended_at)], ["failed", null, null, true], JSON.stringify(run));
  assert.match(`${run.error} ${run.error_detail}`, /odd|interpreter|No such file/);
  assert.deepEqual((await project.events("?entity=odd")).map((event) => event.type), ["agent.starting", "agent.failed"]);
  const verb = await project.cru("run", "--id", "odd2", "--", "./odd");
  assert.deepEqual([verb.code, verb.stdout], [1, ""], JSON.stringify(verb));
  assert.match(verb.stderr, /odd/);
});

test("a working folder that is not there is refused", async (t) => {
  const project = await Project.started({}, t);
  const reply = await project.post("/tasks/where/start", { argv: ["true"], cwd: "/no/such/folder" });
  assert.deepEqual([reply.status, codeOf(reply.json)], [400, "invalid_argument"], reply.text);
  assert.match(messageOf(reply.json), /folder/);
  await nothingChanged(project, "where");
});

test("a bad id is refused: 400 and exit 2", async (t) => {
  const project = await Project.started({}, t);
  for (const id of ["a%20b", "a.b", "..%2f..%2fetc", "x".repeat(65), "%00", "%C3%A9"]) {
    const reply = await project.post(`/tasks/${id}/start`, { argv: ["true"] });
    assert.deepEqual([reply.status, codeOf(reply.json), reply.json.field], [400, "invalid_argument", "id"], `${id}: ${reply.text}`);
    assert.equal((await project.get(`/agents/${id}`)).status, 400);
  }
  const run = await project.cru("run", "--id", "a b", "--", "true");
  assert.equal(run.code, 2, JSON.stringify(run));
  assert.match(run.stderr, /id/);
  await nothingChanged(project);
});

test("something that is not there: 404 and exit 3", async (t) => {
  const project = await Project.started({}, t);
  for (const path of ["/agents/ghost", "/agents/ghost/output", "/questions/ghost", "/no/such/route"]) {
    const reply = await project.get(path);
    assert.deepEqual([reply.status, codeOf(reply.json)], [404, "not_found"], `${path}: ${reply.text}`);
  }
  assert.equal((await project.post("/agents/ghost/kill")).status, 404);
  for (const argv of [["logs", "ghost"], ["kill", "ghost"], ["show", "ghost"], ["send", "ghost", "hi"]]) {
    const verb = await project.cru(...argv);
    assert.equal(verb.code, 3, `${argv}: ${JSON.stringify(verb)}`);
    assert.match(verb.stderr, /ghost/);
  }
  assert.equal((await exchange(project.unix, "DELETE", "/agents")).status, 405);
});

test("a huge request: 413, and the daemon goes on", async (t) => {
  const project = await Project.started({}, t);
  const reply = await exchange(project.unix, "POST", "/tasks/big/start", { raw: JSON.stringify({ argv: ["true"], task: "x".repeat(64 << 20) }) })
    .catch((error) => ({ closed: error.code }));
  assert.ok(reply.status === 413 || reply.closed === "EPIPE" || reply.closed === "ECONNRESET", JSON.stringify(reply).slice(0, 300));
  const announced = await new Promise((resolve) => {
    // Only announced, not sent: the answer must come before the body.
    const socket = net.connect(project.socket, () => socket.write("POST /tasks/big/start HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n"));
    let text = "";
    socket.on("data", (chunk) => { text += chunk; });
    socket.on("close", () => resolve(text));
    socket.on("error", () => resolve(text));
    setTimeout(() => socket.destroy(), patience).unref();
  });
  assert.match(announced, /^HTTP\/1\.1 413 /);
  const headers = await exchange(project.unix, "GET", "/health", { headers: { "X-Big": "y".repeat(20_000) } });
  assert.equal(headers.status, 431, headers.text);
  const long = await project.post("/tasks/big/start", { argv: ["true"], backend: "b".repeat(100) });
  assert.equal(long.status, 400);
  assert.equal((await project.get("/health")).status, 200);
  await nothingChanged(project, "big");
});

test("nonsense: 400 for bad JSON, wrong types and unknown fields, 415 for another kind of body", async (t) => {
  const project = await Project.started({}, t);
  const bad = [["{nope", 400], ["[1]", 400], ['{"argv":"true"}', 400], ['{"argv":["true"],"colour":"red"}', 400], ['{"argv":[]}', 400], ["{}", 400]];
  for (const [raw, status] of bad) {
    const reply = await exchange(project.unix, "POST", "/tasks/x/start", { raw });
    assert.equal(reply.status, status, `${raw}: ${reply.text}`);
    assert.equal(codeOf(reply.json), "invalid_argument");
  }
  const form = await exchange(project.unix, "POST", "/tasks/x/start", { raw: '{"argv":["true"]}', headers: { "Content-Type": "text/plain" } });
  assert.equal(form.status, 415, form.text);
  await nothingChanged(project, "x");
});

test("over TCP: no token or a wrong one is 401, a foreign Host or Origin 403", async (t) => {
  const project = await Project.started({}, t);
  const { tcp, token } = project;
  const ask = (headers, path = "/agents", method = "GET", body = undefined) => exchange(tcp, method, path, { headers, body });
  const good = { Authorization: `Bearer ${token}` };
  assert.equal((await ask(good)).status, 200);
  for (const headers of [{}, { Authorization: "Bearer wrong" }, { Authorization: `Bearer ${token}x` }, { Authorization: `Bearer ${token.slice(1)}` }, { Authorization: token }]) {
    const reply = await ask(headers, "/tasks/evil/start", "POST", { argv: ["true"] });
    assert.deepEqual([reply.status, codeOf(reply.json)], [401, "unauthorized"], reply.text);
    assert.equal((await ask(headers, "/events")).status, 401);
  }
  assert.equal((await ask({ ...good, Host: "evil.example:80" })).status, 403);
  assert.equal((await ask({ ...good, Origin: "http://evil.example" }, "/tasks/evil/start", "POST", { argv: ["true"] })).status, 403);
  assert.equal((await ask({ ...good, Origin: project.url })).status, 200);
  assert.equal(statSync(project.path(".coven/token")).mode & 0o777, 0o600);
  assert.equal(statSync(project.socket).mode & 0o777, 0o600);
  await nothingChanged(project, "evil");
});

test("two daemons on one project are impossible; a taken port is an error", async (t) => {
  const project = await Project.started({}, t);
  const second = await project.cru("daemon", "run");
  assert.equal(second.code, 1, JSON.stringify(second));
  assert.match(second.stderr, /already|running/);
  assert.equal((await project.get("/health")).status, 200);
  const other = new Project();
  t.after(() => other.close());
  const taken = await other.cru("daemon", "run", "--port", String(project.tcp.port));
  assert.equal(taken.code, 1, JSON.stringify(taken));
  assert.match(taken.stderr, new RegExp(String(project.tcp.port)));
});

test("an unknown key in the user's own configuration: the daemon exits 1, a verb that needs it 5, both with the suggestion", async (t) => {
  const project = new Project({ user_config: "runs: {kill_grase: 3s}\n" });
  t.after(() => project.close());
  for (const [argv, expected] of [[["daemon", "run"], 1], [["ps"], 5], [["run", "--", "true"], 5]]) {
    const { code, stdout, stderr } = await project.cru(...argv);
    assert.deepEqual([argv, code, stdout], [argv, expected, ""], stderr);
    assert.match(stderr, /config\.yaml:2.*kill_grase.*kill_grace/s);
  }
});

test("a trusted configuration of the project that is not valid any more: the running daemon stays, the next start says why", async (t) => {
  const project = new Project({ config: "models: {lead: {provider: house}}\n", user_config: "providers: {house: {kind: command, argv: [cat]}}\n" });
  t.after(() => project.close());
  assert.equal((await project.cru("trust", "--yes")).code, 0);
  writeFileSync(`${project.env.XDG_CONFIG_HOME}/crucible/config.yaml`, "");
  assert.equal((await project.cru("ps")).code, 0);
  const doctor = JSON.parse((await project.cru("doctor", "--json")).stdout);
  assert.match(doctor.checks.find(({ name }) => name === "configuration").message, /config\.yaml:1: models\.lead\.provider: unknown provider/);
  assert.equal((await project.cru("daemon", "stop")).code, 0);
  const { code, stderr } = await project.cru("ps");
  assert.equal(code, 5, stderr);
  assert.match(stderr, /\.crucible\/config\.yaml:1: models\.lead\.provider: unknown provider "house"/);
});
