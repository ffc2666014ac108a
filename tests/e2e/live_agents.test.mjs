// Live agents come, are asked about and go: by a WebSocket, against the real daemon.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { gate, Live, Minds } from "./harness/live.mjs";

/// The requirement's own message.
const requested = () => ({
  type: "agent_spawn_request",
  agent_config: { name: "Assistant", role: "helper", cli_backend: "claude", initial_position: { x: 10, y: 10 } },
});
const spawn = (agent_config) => ({ type: "agent_spawn_request", agent_config });

test("RT-01, RT-15: the requirement's own message spawns an agent, confirmed to the asker and told to all", async (t) => {
  const live = await Live.started({ standin: {} }, t);
  const [asker, other] = [await live.connect(), await live.connect()];
  const answer = await asker.ask(requested());
  assert.equal(answer.type, "agent_spawned", JSON.stringify(answer));
  assert.match(answer.agent_id, /^agent_\d{3,}$/);
  assert.equal(answer.agent.agent_id, answer.agent_id);
  assert.deepEqual([answer.agent.name, answer.agent.role, answer.agent.state], ["Assistant", "helper", "idle"]);
  assert.ok(Number.isInteger(answer.agent.position?.x) && Number.isInteger(answer.agent.position?.y), JSON.stringify(answer.agent));
  assert.equal(answer.agent.cli_backend, "claude");
  for (const socket of [asker, other]) {
    const joined = await socket.waitFor("agent_joined");
    assert.equal(joined.agent.agent_id, answer.agent_id);
    assert.ok(Number.isInteger(joined.seq));
  }
  assert.equal(other.of("agent_spawned").length, 0, "the confirmation is the asker's");
  assert.equal((await live.agent(answer.agent_id)).name, "Assistant");
});

test("a message without a request_id is confirmed too", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  socket.send(spawn({ name: "Ada" }));
  const answer = await socket.waitFor("agent_spawned");
  assert.equal(answer.request_id, undefined);
  assert.equal(answer.mind, "scripted");
});

test("RT-01: every agent has an id of its own, however many come at once, and none is used again", async (t) => {
  const live = await Live.started({}, t);
  const sockets = [await live.connect(), await live.connect(), await live.connect()];
  const ids = await Promise.all(Array.from({ length: 30 }, (_, n) => live.bring(sockets[n % 3], { name: "Twin" })));
  assert.equal(new Set(ids).size, 30);
  await sockets[0].must("agent_terminated", { type: "agent_terminate_request", agent_id: ids.at(-1) });
  await live.restartDaemon();
  const after = await live.bring(await live.connect(), { name: "Late" });
  assert.ok(!ids.includes(after), `${after} is new`);
  const tiles = (await live.must(200, live.get("/live?limit=200"))).agents.map(({ position }) => `${position.x},${position.y}`);
  assert.equal(new Set(tiles).size, 30, "one agent a tile");
});

test("a backend that nobody knows is refused, and nobody comes; mock is another name for scripted", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  const refused = await socket.ask(spawn({ name: "Ada", cli_backend: "no-such-thing" }));
  assert.deepEqual([refused.type, refused.code, refused.field], ["error", "invalid_argument", "agent_config.cli_backend"]);
  assert.match(refused.message, /no-such-thing/);
  assert.equal((await live.must(200, live.get("/live"))).agents.length, 0);
  const mock = await socket.must("agent_spawned", spawn({ name: "Ada", cli_backend: "mock" }));
  assert.equal(mock.mind, "scripted");
  assert.ok(!mock.warning, mock.warning);
  assert.equal(socket.of("agent_joined").length, 1);
});

test("a backend whose program is not there spawns with the scripted mind, and says so", async (t) => {
  const live = new Live();
  t.after(() => live.close());
  live.env.PATH = "/usr/bin:/bin";
  await live.startDaemon();
  const answer = await (await live.connect()).must("agent_spawned", spawn({ name: "Assistant", cli_backend: "claude" }));
  assert.equal(answer.mind, "scripted");
  assert.match(answer.warning, /claude/);
});

test("bad configurations are refused by field, and the connection stays", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  const cases = [
    [{ type: "agent_spawn_request" }, "agent_config.name"],
    [spawn("Ada"), "agent_config"],
    [spawn({ name: 7 }), "agent_config.name"],
    [spawn({ name: "x".repeat(65) }), "agent_config.name"],
    [spawn({ name: "Ada", role: ["helper"] }), "agent_config.role"],
    [spawn({ name: "Ada", nmae: "Ada" }), "agent_config.nmae"],
    [spawn({ name: "Ada", initial_position: 3 }), "agent_config.initial_position"],
    [spawn({ name: "Ada", initial_position: { x: 1 } }), "agent_config.initial_position.y"],
    [spawn({ name: "Ada", initial_position: { x: "1", y: 1 } }), "agent_config.initial_position.x"],
    [spawn({ name: "Ada", initial_position: { x: 64, y: 1 } }), "agent_config.initial_position.x"],
    [spawn({ name: "Ada", initial_position: { x: -1, y: 1 } }), "agent_config.initial_position.x"],
    [spawn({ name: "Ada", definition: "nobody" }), "agent_config.definition"],
    [spawn({ name: "Ada", listens_to: { types: ["noise"] } }), "agent_config.listens_to.types[0]"],
  ];
  for (const [message, field] of cases) {
    const answer = await socket.ask(message);
    assert.equal(answer.type, "error", JSON.stringify(message));
    assert.equal(answer.field, field, `${JSON.stringify(message)}: ${JSON.stringify(answer)}`);
    assert.ok(["invalid_argument", "not_found"].includes(answer.code), answer.code);
    assert.ok(answer.message.length > 5);
  }
  assert.equal((await live.must(200, live.get("/live"))).agents.length, 0, "nothing has changed");
  await socket.must("pong", { type: "ping" });
});

test("RT-02: termination is confirmed, seen by all, and cancels the thought; the dead are known no more", async (t) => {
  const minds = await Minds.start(t);
  const thinking = gate();
  minds.decide("Ada", () => thinking.wait);
  const live = await Live.started({ minds, live: { idle_time: "500ms" } }, t);
  const [asker, other] = [await live.connect(), await live.connect()];
  const id = await live.bring(asker, { name: "Ada" });
  await minds.thought("Ada");
  const answer = await asker.must("agent_terminated", { type: "agent_terminate_request", agent_id: id });
  assert.equal(answer.agent_id, id);
  for (const socket of [asker, other]) assert.equal((await socket.waitFor("agent_left")).agent_id, id);
  // Its task ends: the model's client is gone, though the mind never answered.
  await waitFor(() => minds.thoughts("Ada")[0].outcome === "client_gone", { what: "the thought is cancelled" });
  thinking.open();
  const unknown = await asker.ask({ type: "get_agent_state", agent_id: id });
  assert.deepEqual([unknown.type, unknown.code, unknown.field], ["error", "not_found", "agent_id"]);
  assert.equal((await asker.ask({ type: "agent_terminate_request", agent_id: id })).code, "not_found");
  assert.equal((await live.get(`/live/${id}`)).status, 404);
  assert.equal(other.of("agent_left").length, 1);
  assert.equal(live.sql(`SELECT count(*) n FROM live_agents WHERE id='${id}' AND left_at IS NULL`)[0].n, 0);
});

test("RT-02: other agents hear that one is removed, if they listen for it, and wake for nothing else", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  const friend = await live.bring(socket, { name: "Friend", listens_to: { types: ["agent_removed"] } });
  const worker = await live.bring(socket, { name: "Worker", listens_to: { types: ["task_assigned"] } });
  const gone = await live.bring(socket, { name: "Gone", listens_to: { types: ["task_assigned"] } });
  const before = (await live.agent(friend)).received;
  await live.must(202, live.post("/world/say", { content: "Is anybody here?", everybody: true }));
  await live.must(202, live.post("/world/broadcast", { data: { tick: 1 } }));
  await socket.must("task_accepted", { type: "assign_task", agent_id: worker, task_name: "look" });
  await socket.state(worker, "listening");
  await waitFor(async () => (await live.agent(friend)).received >= before + 3, { what: "all of it passed the friend" });
  assert.equal((await live.agent(friend)).state, "idle");
  assert.deepEqual(await live.states(friend), [], "and did not wake it");
  const from = socket.mark;
  await socket.must("agent_terminated", { type: "agent_terminate_request", agent_id: gone });
  const left = await socket.waitFor("agent_left");
  const woken = await socket.state(friend, "listening");
  assert.ok(woken.seq > left.seq && woken.old_state === "idle", "the removal did");
  assert.deepEqual(socket.states(friend).slice(0, 1), ["listening"]);
  assert.ok(!socket.states(worker, from).includes("listening"), "whoever does not listen for it is not disturbed");
});

test("RT-03: a query answers with state, position and current task", async (t) => {
  const minds = await Minds.start(t);
  const thinking = gate();
  minds.decide("Ada", () => thinking.wait);
  const live = await Live.started({ minds }, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada", initial_position: { x: 7, y: 5 } });
  const ask = () => socket.must("agent_state", { type: "get_agent_state", agent_id: id });
  let state = await ask();
  assert.deepEqual([state.agent_id, state.state, state.position, state.current_task], [id, "idle", { x: 7, y: 5 }, null]);
  await socket.must("task_accepted", { type: "assign_task", agent_id: id, task_name: "analyzing data" });
  await minds.thought("Ada");
  state = await ask();
  assert.deepEqual([state.state, state.current_task], ["thinking", "analyzing data"]);
  thinking.open();
  await socket.state(id, "idle");
  assert.equal((await ask()).state, "idle");
  assert.deepEqual((await live.agent(id)).position, { x: 7, y: 5 });
  assert.equal((await socket.ask({ type: "get_agent_state" })).field, "agent_id");
});

test("an agent may come with a task, with a definition's prompt, and to a tile that is taken", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds, agents: { poet: { description: "Writes verse", prompt: "You speak in rhymes only." } } }, t);
  const socket = await live.connect();
  const first = await socket.must("agent_spawned", spawn({ name: "Ada", initial_position: { x: 7, y: 5 }, cli_backend: "mock" }));
  const second = await socket.must("agent_spawned", spawn({ name: "Bob", definition: "poet", cli_backend: "test-model", task: "write an ode", initial_position: { x: 7, y: 5 } }));
  assert.deepEqual(first.agent.position, { x: 7, y: 5 });
  const { x, y } = second.agent.position;
  assert.equal(Math.abs(x - 7) + Math.abs(y - 5), 1, "the nearest free tile");
  assert.equal((await socket.waitFor("task_assigned")).task_name, "write an ode");
  const thought = await minds.thought("Bob");
  assert.match(thought.system, /You speak in rhymes only\./);
  assert.match(thought.text, /write an ode/);
  const refused = await socket.ask(spawn({ name: "Eve", initial_position: { x: 0, y: 0 } }));
  assert.equal(refused.type, "error", "a wall is no place");
});
