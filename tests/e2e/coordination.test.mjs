// The coordination scenarios by their letter: handoffs, discovery, heartbeats, dead agents, sessions. Over MCP with the
// official client where an agent would use it, over HTTP where many agents are wanted.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { age, Agent, holdDatabase, Project, waitFor } from "./harness.mjs";
import { attempt, stdioClient, use } from "./harness/mcp.mjs";
import { SmallDisk } from "./harness/small_disk.mjs";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/// These members, and whatever else: replies may grow.
const holds = (reply, wanted, what) => assert.deepEqual(Object.fromEntries(Object.keys(wanted).map((key) => [key, reply[key]])), wanted, what ?? JSON.stringify(reply));
const note = {
  summary: "the parser is half done", completed_work: ["lexer"], in_progress: ["parser"], decisions: ["no generator: too slow"],
  next_steps: ["precedence"], relevant_files: ["src/parser.cc"],
};

test("CO-01: a handoff is written, outlives the daemon, and is there for the next session", async (t) => {
  const project = await Project.started({}, t);
  const first = await stdioClient(project, t, { env: { AGENT_ID: "ada", SESSION_ID: randomUUID() } });
  const written = await use(first, "write_handoff", note);
  assert.deepEqual([written.success, uuid.test(written.handoff_id)], [true, true], JSON.stringify(written));
  await first.close();
  await project.restartDaemon();
  const session_id = randomUUID();
  const next = await stdioClient(project, t, { env: { AGENT_ID: "ada", SESSION_ID: session_id } });
  await use(next, "register_session");
  const { handoffs: [handoff] } = await use(next, "read_handoff");
  // The first session's own end may have left a final one; the written one is what a reader of two sees.
  const { handoffs: both } = await use(next, "read_handoff", { limit: 10 });
  const mine = both.find(({ id }) => id === written.handoff_id);
  assert.ok(handoff && mine, JSON.stringify(both));
  for (const [key, value] of Object.entries(note)) assert.deepEqual(mine[key], value, key);
  assert.deepEqual([mine.agent_name, uuid.test(mine.session_id), instant.test(mine.created_at)], ["ada", true, true]);
  assert.notEqual(mine.session_id, session_id);
});

test("CO-05: a new session gets the most recent handoff at its first call, with all that it needs to go on", async (t) => {
  const project = await Project.started({}, t);
  const first = new Agent(project, "ada");
  await first.ask("write_handoff", { summary: "the lexer is begun", next_steps: ["numbers"] });
  const { handoff_id } = await first.ask("write_handoff", note);
  await new Agent(project, "bob").ask("write_handoff", { summary: "another agent's, and newer" });
  await project.restartDaemon();
  const next = await stdioClient(project, t, { env: { AGENT_ID: "ada", SESSION_ID: randomUUID() } });
  const { handoffs } = await use(next, "read_handoff");
  assert.deepEqual(handoffs.map(({ id, session_id }) => [id, session_id]), [[handoff_id, first.session_id]]);
  holds(handoffs[0], note, "every field as it was left");
});

test("CO-02: the newest first, only the named agent's, as many as asked for", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada"), bob = new Agent(project, "bob");
  for (const n of [1, 2, 3]) await ada.ask("write_handoff", { summary: `ada ${n}` });
  await bob.ask("write_handoff", { summary: "bob 1" });
  const read = async (agent, input) => (await agent.ask("read_handoff", input)).handoffs.map(({ summary }) => summary);
  assert.deepEqual(await read(ada, {}), ["ada 3"], "one, the caller's own, by default");
  assert.deepEqual(await read(ada, { limit: 10 }), ["ada 3", "ada 2", "ada 1"]);
  assert.deepEqual(await read(bob, { agent_name: "ada", limit: 2 }), ["ada 3", "ada 2"]);
  assert.deepEqual(await read(ada, { agent_name: "bob" }), ["bob 1"]);
  const times = (await ada.ask("read_handoff", { limit: 10 })).handoffs.map(({ created_at }) => created_at);
  assert.deepEqual(times, [...times].sort().reverse());
});

test("a handoff without a summary is refused and not written", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  for (const input of [{}, { summary: "" }]) {
    const { status, json } = await ada.call("write_handoff", input);
    assert.equal(status, 400, JSON.stringify(json));
    assert.deepEqual([json.success, [json.error, json.reason].includes("summary_required")], [false, true], JSON.stringify(json));
  }
  assert.deepEqual((await ada.ask("list_handoffs")).handoffs, []);
});

test("CO-03: no handoff yet is an empty list", async (t) => {
  const project = await Project.started({}, t);
  const client = await stdioClient(project, t, { env: { AGENT_ID: "ada" } });
  assert.deepEqual(await use(client, "read_handoff"), { handoffs: [] });
  assert.deepEqual(await use(client, "read_handoff", { agent_name: "nobody", limit: 5 }), { handoffs: [] });
});

test("CO-04, CO-17: with the database gone the answer is database_unavailable at once, the agent goes on, and the next call after works", async (t) => {
  const project = await Project.started({}, t);
  const client = await stdioClient(project, t, { env: { AGENT_ID: "ada", SESSION_ID: randomUUID() } });
  const { session_id } = await use(client, "register_session", { capabilities: ["c++"] });
  const letGo = await holdDatabase(project);
  for (const [tool, input] of [["write_handoff", note], ["heartbeat", {}], ["acquire_lock", { file_path: "a" }], ["submit_work", { task_type: "t", description: "d" }]]) {
    // At once: it is answered while the database is still held.
    const refused = await attempt(client, tool, input);
    assert.deepEqual([tool, refused.success, refused.error], [tool, false, "database_unavailable"], JSON.stringify(refused));
  }
  await client.ping();  // the server lives
  await letGo();
  holds(await use(client, "heartbeat"), { success: true, session_id });
  const written = await use(client, "write_handoff", note);
  const { handoffs } = await use(client, "read_handoff", { limit: 10 });
  assert.deepEqual(handoffs.map(({ id }) => id), [written.handoff_id], "what was refused was not written");
  assert.deepEqual((await use(client, "check_locks")).result, []);
});

test("CO-04, CO-17: a full disk is database_unavailable too, and heals when there is space", async (t) => {
  const project = new SmallDisk({ config: "runs: {min_free_disk: 0}\n" });
  project.size = "16m";
  t.after(() => project.close());
  await project.startDaemon();
  const ada = new Agent(project, "ada");
  await ada.ask("register_session");
  project.fill("ballast", 32 << 20);
  const refused = await waitFor(async () => {
    const { status, json } = await ada.call("write_handoff", { ...note, completed_work: Array(100).fill("x".repeat(2000)) });
    return status >= 400 && json;
  }, { what: "the disk is full" });
  holds(refused, { success: false, error: "database_unavailable" });
  holds((await ada.call("heartbeat")).json, { success: false, error: "database_unavailable" });
  assert.ok(Array.isArray((await ada.ask("check_locks")).result), "reading goes on");
  rmSync(project.path(".coven/ballast"));
  await waitFor(async () => (await ada.call("heartbeat")).json.success, { what: "it heals by itself" });
  assert.equal((await ada.ask("write_handoff", note)).success, true);
});

test("CO-06, CO-07, CO-08: agents find each other by capability and status", async (t) => {
  const project = await Project.started({}, t);
  const ada = await stdioClient(project, t, { env: { AGENT_ID: "ada", AGENT_TYPE: "codex" } });
  const bob = await stdioClient(project, t, { env: { AGENT_ID: "bob" } });
  await use(ada, "register_session", { capabilities: ["c++", "review"], current_task: "the lexer" });
  await use(bob, "register_session", { capabilities: ["docs"], current_task: "the manual" });
  await use(bob, "heartbeat").catch(() => {});
  const names = async (input) => (await use(bob, "discover_agents", input)).agents.map(({ agent_id }) => agent_id).sort();
  assert.deepEqual(await names({}), ["ada", "bob"]);
  assert.deepEqual(await names({ capability: "review" }), ["ada"]);
  assert.deepEqual(await names({ capability: "c++", status: "active" }), ["ada"]);
  assert.deepEqual(await names({ status: "active" }), ["ada", "bob"]);
  const [found] = (await use(bob, "discover_agents", { capability: "c++" })).agents;
  assert.deepEqual([found.agent_id, found.agent_type, found.capabilities, found.status, found.current_task, instant.test(found.last_heartbeat), uuid.test(found.session_id)],
    ["ada", "codex", ["c++", "review"], "active", "the lexer", true, true]);
  assert.deepEqual(await use(bob, "discover_agents", { capability: "rust" }), { agents: [] });
  assert.deepEqual(await use(bob, "discover_agents", { capability: "c+" }), { agents: [] }, "a part of a word is another word");
  assert.deepEqual(await use(bob, "discover_agents", { status: "disconnected" }), { agents: [] });
});

test("CO-14: a heartbeat moves last_heartbeat and says which session; an unknown one is told so", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada"), bob = new Agent(project, "bob");
  const { session_id } = await ada.ask("register_session");
  assert.equal(session_id, ada.session_id);
  const before = (await ada.seenBy(bob)).last_heartbeat;
  await waitFor(() => Date.now() > Date.parse(before), { every: 1, what: "it is later" });
  holds(await ada.ask("heartbeat"), { success: true, session_id });
  const after = (await ada.seenBy(bob)).last_heartbeat;
  assert.ok(after > before, `${before} → ${after}`);
  await ada.ask("heartbeat", { status: "idle" });
  assert.equal((await ada.seenBy(bob)).status, "idle");
  await ada.ask("check_locks");
  await waitFor(async () => (await ada.seenBy(bob)).status === "active", { what: "any call says: at work" });
  const { status, json } = await new Agent(project, "nobody").call("heartbeat");
  assert.deepEqual([status, json.success, [json.error, json.reason].includes("session_not_found")], [404, false, true], JSON.stringify(json));
});


test("CO-15, CO-16: cleanup disconnects the stale, frees what they held, counts them, and leaves the live alone", async (t) => {
  const project = await Project.started({}, t);
  const dead = new Agent(project, "ada"), live = new Agent(project, "bob"), twin = new Agent(project, "ada");
  await dead.ask("register_session", { current_task: "the lexer" });
  await dead.ask("acquire_lock", { file_path: "src/dead.cc" });
  await dead.ask("acquire_lock", { file_path: "db:users" });
  await twin.ask("acquire_lock", { file_path: "src/twin.cc" });
  await live.ask("acquire_lock", { file_path: "src/live.cc" });
  const { task_id } = await live.ask("submit_work", { task_type: "t", description: "d" });
  assert.equal((await dead.ask("get_work")).task_id, task_id);
  await project.killDaemon();
  age(project, dead, 10);
  await project.startDaemon();
  holds(await live.ask("cleanup_dead_agents"), { success: true, agents_cleaned: 0, locks_released: 0, work_requeued: 0 }, "15 minutes by default");
  assert.equal((await dead.seenBy(live)).status, "active");
  holds(await live.ask("cleanup_dead_agents", { stale_threshold_minutes: 5 }), { success: true, agents_cleaned: 1, locks_released: 2, work_requeued: 1 });
  assert.equal(await dead.seenBy(live), undefined, "gone from the list");
  assert.equal((await dead.seenBy(live, "disconnected")).status, "disconnected");
  for (const one of [live, twin]) assert.equal((await one.seenBy(live)).status, "active", "also another session of the same agent");
  const held = (await live.ask("check_locks")).result.map(({ file_path }) => file_path).sort();
  assert.deepEqual(held, ["src/live.cc", "src/twin.cc"]);
  assert.equal((await live.ask("get_work_item", { task_id })).status, "pending");
  const [handoff] = (await live.ask("read_handoff", { agent_name: "ada" })).handoffs;
  assert.deepEqual([handoff.kind, handoff.session_id], ["final", dead.session_id], "the dead one's last words are made for it");
  const types = (await project.events("?since=0")).map(({ type }) => type);
  for (const type of ["lock.released", "handoff.written"]) assert.ok(types.includes(type), types.join());
  assert.equal((await live.ask("cleanup_dead_agents", { stale_threshold_minutes: 5 })).agents_cleaned, 0, "once");
});

test("CO-15: the same happens by itself after 15 minutes, by default, not before, and to nobody else", async (t) => {
  const project = await Project.started({}, t);
  const dead = new Agent(project, "ada"), live = new Agent(project, "bob");
  await dead.ask("acquire_lock", { file_path: "src/dead.cc" });
  await live.ask("acquire_lock", { file_path: "src/live.cc" });
  await project.killDaemon();
  age(project, dead, 14.96);  // a few seconds are left to it, a quarter of an hour to the other
  await project.startDaemon();
  const { last_heartbeat, ended_at } = await waitFor(async () => dead.seenBy(live, "disconnected"), { what: "the dead agent is disconnected" });
  // The boot clock decides, and the wall clock may be set meanwhile: a second is left to it. The simulator is exact.
  assert.ok(Date.parse(ended_at) - Date.parse(last_heartbeat) >= 15 * 60_000 - 1000, `not before its time: ${last_heartbeat} → ${ended_at}`);
  assert.deepEqual((await live.ask("check_locks")).result.map(({ file_path }) => file_path), ["src/live.cc"]);
  assert.equal((await live.seenBy(live)).status, "active");
});

test("CO-18, CO-19: a session is recorded when its agent begins to work, updated by the next call, and ends", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada"), bob = new Agent(project, "bob");
  await ada.ask("check_locks");
  assert.deepEqual((await bob.ask("discover_agents")).agents, [], "reading registers nobody");
  await ada.ask("acquire_lock", { file_path: "a" });
  const begun = await ada.seenBy(bob);
  assert.deepEqual([begun.agent_id, begun.agent_type, begun.status, begun.capabilities, instant.test(begun.started_at), begun.ended_at ?? null], ["ada", "claude_code", "active", [], true, null]);
  await ada.ask("register_session", { capabilities: ["c++", "c++", "tests"], current_task: "one" });
  await ada.ask("register_session", { current_task: "two" });
  const updated = await ada.seenBy(bob);
  assert.deepEqual([updated.started_at, updated.current_task, updated.status], [begun.started_at, "two", "active"]);
  assert.ok(updated.capabilities.includes("c++") && updated.capabilities.includes("tests"), "kept when not said again");
  assert.ok(updated.last_heartbeat >= begun.last_heartbeat);
  const again = new Agent(project, "ada");
  await again.ask("register_session", { current_task: "other" });
  assert.deepEqual([(await ada.seenBy(bob)).current_task, (await again.seenBy(bob)).current_task], ["two", "other"], "two sessions of one agent are two");
  await project.restartDaemon();
  assert.equal((await ada.seenBy(bob)).current_task, "two", "kept over a crash");
  const ended = await ada.ask("end_session", { reason: "done" });
  assert.equal(ended.session_id, ada.session_id);
  const over = await ada.seenBy(bob, "disconnected");
  assert.ok(instant.test(over.ended_at), JSON.stringify(over));
  assert.equal((await again.seenBy(bob)).status, "active");
});
