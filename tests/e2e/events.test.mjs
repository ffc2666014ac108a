// Agent Event Logging: EX-17, EX-18, as a user sees it.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { codeOf, entityOf, EventStream, exchange, Project, waitFor } from "./harness.mjs";

const told_types = ["agent.started", "agent.output", "agent.completed", "agent.failed", "agent.killed"];

/// Runs that between them make every type of event.
async function makeEveryType(project) {
  await project.sh("ok", "echo a; exit 0");
  await project.sh("bad", "exit 1");
  await project.sh("long", "echo up; sleep 600");
  await project.outputWith("long", "up");
  await project.post("/agents/long/kill", { grace_seconds: 1 });
  for (const id of ["ok", "bad", "long"]) await project.ended(id);
}

test("EX-17: what the stream tells is in the log already, in the same order, after a crash too", async (t) => {
  const project = await Project.started({}, t);
  const lookups = [];
  const stream = project.stream({ query: "?since=0", each: (event) => {
    // At the moment of the broadcast the log must have it.
    lookups.push(project.events(`?since=${event.id - 1}&limit=1`)
      .then(([stored]) => ({ type: event.type, found: stored?.id === event.id && stored.type === event.type, stored }), (error) => ({ type: event.type, found: false, error })));
  } });
  await waitFor(() => stream.connections);
  await makeEveryType(project);
  await waitFor(() => stream.events.filter((event) => /completed|failed|killed/.test(event.type)).length === 3);
  const looked = await Promise.all(lookups);
  assert.deepEqual(looked.filter(({ found }) => !found), []);
  for (const type of told_types) assert.ok(looked.some((lookup) => lookup.found && lookup.type === type), `${type} was looked up and found`);
  const told = stream.events.map(({ id, type }) => [id, type]);
  await project.restartDaemon();
  const stored = await project.events("?since=0");
  assert.deepEqual(stored.slice(0, told.length).map(({ id, type }) => [Number(id), type]), told);
  stored.forEach((event, index) => {
    assert.equal(Number(event.id), Number(stored[0].id) + index, "numbered without gaps");
    assert.ok("entity_id" in event && "timestamp" in event && "data" in event);
    assert.match(event.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });
});

test("EX-17: a daemon that is killed at the moment it tells of something has written it", async (t) => {
  for (const type of told_types) {
    const project = await Project.started({}, t);
    let seen;
    const stream = project.stream({ query: "?since=0", each: (event) => {
      if (seen || event.type !== type) return;
      seen = event;
      process.kill(project.daemon.pid, "SIGKILL");
    } });
    await waitFor(() => stream.connections);
    const made = makeEveryType(project).catch(() => {});  // the daemon dies in the middle of it
    await waitFor(() => seen, { what: `${type} is told` });
    await project.killDaemon();
    await project.startDaemon();
    const [stored] = await project.events(`?since=${seen.id - 1}&limit=1`);
    for (const key of ["id", "type", "entity_id", "timestamp", "data"]) assert.deepEqual(stored[key], seen[key], `${type}: ${key}`);
    await made;
    await project.close();
  }
});

test("EX-18: missed events of a run come back by time and entity", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("before", "echo early");
  await project.ended("before");
  // A moment that is after all of that and before what comes, by the clock that both have.
  const last = Math.max(...(await project.events("?since=0")).map(({ timestamp }) => Date.parse(timestamp)));
  await waitFor(() => Date.now() > last, { every: 1 });
  const from = new Date().toISOString();
  await waitFor(() => Date.now() > Date.parse(from), { every: 1 });
  await project.sh("wanted", "echo one; echo two >&2; exit 5");
  await project.sh("other", "echo noise");
  await project.ended("wanted");
  await project.ended("other");
  const missed = await project.events(`?since=${encodeURIComponent(from)}&entity=wanted`);
  assert.ok(missed.every((event) => entityOf(event) === "wanted"));
  assert.deepEqual(missed.map((event) => event.type).filter((type) => type !== "agent.output"), ["agent.starting", "agent.started", "agent.failed"]);
  const lines = missed.filter((event) => event.type === "agent.output").flatMap((event) => event.data.lines);
  assert.deepEqual(lines, await project.output("wanted"), "a replayed output event carries its lines");
  const all = await project.events(`?since=${encodeURIComponent(from)}`);
  assert.ok(!all.some((event) => entityOf(event) === "before"));
  assert.ok(all.some((event) => entityOf(event) === "other"));
  const typed = await project.events("?type=agent.failed,agent.completed");
  assert.deepEqual([...new Set(typed.map((event) => event.type))].sort(), ["agent.completed", "agent.failed"]);
});

test("a stream goes on from Last-Event-ID, without loss and without repeats, over restarts", async (t) => {
  const project = await Project.started({}, t);
  const stream = project.stream({ query: "?since=0" });
  await waitFor(() => stream.connections);
  await project.start("counts", ["perl", "-e", "$|=1; my $i = 0; until (-e 'stop') { ++$i; print qq($i\\n); select undef, undef, undef, .01 }"]);
  for (let i = 0; i < 4; ++i) {
    const before = stream.lines("counts").length;
    await waitFor(() => stream.lines("counts").length > before + 5, { what: "more is told" });
    await project.restartDaemon();
  }
  writeFileSync(project.path("stop"), "");
  const { last_seq } = await project.ended("counts");
  await waitFor(() => stream.events.some((event) => event.type === "agent.completed"));
  assert.deepEqual(stream.lines("counts").map(({ seq, data }) => [seq, data]), Array.from({ length: last_seq }, (_, i) => [i + 1, String(i + 1)]));
  const ids = stream.events.map((event) => event.id);
  ids.forEach((id, index) => assert.equal(id, ids[0] + index));
});

test("the first frame is a snapshot; over TCP the token opens the stream", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("seen", "echo hi; read go");
  await project.outputWith("seen", "hi");
  const stream = new EventStream(project.tcp, { headers: { Authorization: `Bearer ${project.token}` } });
  t.after(() => stream.stop());
  const first = await waitFor(() => stream.frames[0]);
  assert.equal(first.type, "state.snapshot");
  assert.equal(first.data.agents[0].task_id, "seen");
  assert.ok(Number.isInteger(first.id));
  const state = await exchange(project.tcp, "GET", `/state?token=${project.token}`, {});
  assert.equal(state.status, 200, state.text);  // an EventSource cannot set headers, so reading takes the token there too
  assert.equal((await exchange(project.tcp, "GET", "/state?token=wrong", {})).status, 401);
  const change = await exchange(project.tcp, "POST", `/tasks/sneaky/start?token=${project.token}`, { body: { argv: ["true"] } });
  assert.equal(change.status, 401, "a change never takes it from the address");
});

test("events live as long as configured; a cursor that fell behind is told so", async (t) => {
  const project = await Project.started({ config: "store: {retention: {records: 500ms, events: 500ms}}\n" }, t);
  for (let i = 0; i < 5; ++i) {
    await project.sh(`r${i}`, "echo hi");
    await project.ended(`r${i}`);
  }
  // The retention time itself has to pass.
  const last = Date.parse((await project.events("?since=0")).at(-1).timestamp);
  await waitFor(() => Date.now() > last + 500);
  await project.restartDaemon();
  const gone = await waitFor(async () => {
    const reply = await project.get("/events?since=1");
    return reply.status === 410 && reply;
  }, { what: "the old events are purged" });
  assert.equal(codeOf(gone.json), "cursor_gone");
});
