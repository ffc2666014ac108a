// More of live agents: programs as minds, what is said while one speaks, receipts among agents, kills at bad moments, verbs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noneLeft, waitFor } from "./harness.mjs";
import { gate, inMoreTime, Live, Minds } from "./harness/live.mjs";

const say = (message, to) => ({ type: "chat_message", message, to });
const saying = (decision) => [{ say: JSON.stringify(decision) }];

test("an agent with cli_backend claude thinks with that program, in the requirement's words", async (t) => {
  const live = await Live.started({
    live: { idle: "1s" },
    standin: { replies: [{ when: "Analyze situation and decide next action", steps: saying({ action: "speak", content: "Claude was here" }) }] },
  }, t);
  const socket = await live.connect();
  const { agent_id, warning } = await socket.must("agent_spawned", { type: "agent_spawn_request", agent_config: { name: "Assistant", role: "helper", cli_backend: "claude", initial_position: { x: 10, y: 5 } } });
  assert.ok(!warning, warning);
  const speech = await socket.waitFor("agent_speech");
  assert.deepEqual([speech.agent_id, speech.content], [agent_id, "Claude was here"]);
  assert.ok(live.starts("claude").length >= 1);
  await socket.must("agent_terminated", { type: "agent_terminate_request", agent_id });
  await noneLeft(live, "after it has left");
});

test("termination ends the program that it thinks with", async (t) => {
  const live = await Live.started({ live: { idle: "500ms" }, standin: { replies: [{ when: "Analyze", steps: [{ hang: true }] }] } }, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Assistant", cli_backend: "claude" });
  await waitFor(() => live.starts("claude").length === 1, { what: "the program is started" });
  await socket.must("agent_terminated", { type: "agent_terminate_request", agent_id: id });
  await noneLeft(live, "after it has left");
});

test("what is said to an agent that speaks is heard when it has ended, and answered", async (t) => {
  await inMoreTime(["1500ms", "10s", "1m"], async (time) => {
    const minds = await Minds.start(t);
    minds.decide("Ada", { action: "speak", content: "A long story." }, { action: "speak", content: "Yes?" });
    const live = await Live.started({ minds, live: { least_speech: time, most_speech: time } }, t);
    const socket = await live.connect();
    const id = await live.bring(socket, { name: "Ada" });
    await socket.must("message_accepted", say("tell me", [id]));
    const speaking = await socket.state(id, "speaking");
    const { message_id } = await socket.must("message_accepted", say("I interrupt!", [id]));
    const queued = await live.must(200, live.get(`/world/messages/${message_id}`));
    const idle = () => socket.of("agent_state_update", ({ seq, state }) => seq > speaking.seq && state === "idle")[0];
    await socket.must("pong", { type: "ping" });
    if (idle()) return live.close().then(() => false);  // the story was over before we looked
    assert.deepEqual(queued.receipts, [{ agent_id: id, status: "queued" }]);
    const delivered = await socket.waitFor((message) => message.type === "message_receipt" && message.message_id === message_id && message.status === "delivered");
    assert.ok(idle() && idle().seq < delivered.seq, "not before it has ended");
    await socket.waitFor(({ content }) => content === "Yes?");
    assert.match(minds.thoughts("Ada").at(-1).text, /I interrupt!/);
    return true;
  });
});

test("several messages at once are each acknowledged once, and thought about together", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds, live: { listening: "700ms" } }, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada" });
  const ids = [];
  for (const words of ["one.", "two.", "three."]) ids.push((await socket.must("message_accepted", say(words, [id]))).message_id);
  await socket.until(() => socket.of("message_receipt", ({ status }) => status === "acknowledged").length === 3);
  await socket.state(id, "idle");
  for (const status of ["delivered", "acknowledged"]) assert.deepEqual(socket.of("message_receipt", (one) => one.status === status).map(({ message_id }) => message_id), ids, status);
  const { text } = minds.thoughts("Ada").at(-1);
  for (const words of ["one.", "two.", "three."]) assert.ok(text.includes(words));
});

test("one agent speaks to another by its id: a direct message, with a receipt, and no one else is disturbed", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds }, t);
  const socket = await live.connect();
  const at = (x) => ({ initial_position: { x, y: 5 } });
  const [bob, eve] = [await live.bring(socket, { name: "Bob", ...at(8) }), await live.bring(socket, { name: "Eve", ...at(9) })];
  const ada = await live.bring(socket, { name: "Ada", ...at(7) });
  minds.decide("Ada", { action: "speak", content: "Bob, a word.", recipient: bob }).decide("Bob", { action: "speak", content: "Yes, Ada?", recipient: ada });
  await socket.must("message_accepted", say("ask Bob", [ada]));
  const question = await socket.waitFor(({ content }) => content === "Bob, a word.");
  assert.deepEqual([question.agent_id, question.recipients], [ada, [bob]]);
  const answer = await socket.waitFor(({ content }) => content === "Yes, Ada?");
  assert.deepEqual([answer.agent_id, answer.recipients], [bob, [ada]]);
  await socket.waitFor((one) => one.type === "message_receipt" && one.message_id === question.message_id && one.agent_id === bob && one.status === "acknowledged");
  assert.deepEqual(socket.states(eve), []);
  assert.match((await minds.thought("Bob")).text, /Bob, a word\./);
  assert.deepEqual((await live.conversation(bob)).map(({ sender, content, recipient }) => [sender, content, recipient]), [[ada, "Bob, a word.", bob], [bob, "Yes, Ada?", ada]]);
});

test("kill -9 while a move is held and while one walks: both are carried out", async (t) => {
  await inMoreTime(["3s", "15s", "1m"], async (time) => {
    const minds = await Minds.start(t);
    minds.decide("Ada", { action: "speak", content: "A long story." });
    const live = await Live.started({ minds, live: { least_speech: time, most_speech: time } }, t);
    const socket = await live.connect();
    const ada = await live.bring(socket, { name: "Ada", initial_position: { x: 7, y: 5 } });
    const bob = await live.bring(socket, { name: "Bob", initial_position: { x: 2, y: 6 } });
    await socket.must("message_accepted", say("tell me", [ada]));
    await socket.state(ada, "speaking");
    const { held } = await socket.must("move_accepted", { type: "move_agent", agent_id: ada, x: 10, y: 5 });
    if (socket.states(ada).at(-1) !== "speaking") return live.close().then(() => false);  // the story was over before it was asked for
    assert.equal(held, true);
    const { walk } = await socket.must("move_accepted", { type: "move_agent", agent_id: bob, x: 13, y: 6 });
    assert.ok(walk.path.length >= 12);
    await live.restartDaemon();
    await waitFor(async () => (await live.agent(bob)).position.x === 13, { what: "Bob is where he wanted to go" });
    await waitFor(async () => (await live.agent(ada)).position.x === 10, { what: "Ada's held move is carried out" });
    assert.equal((await live.conversation(ada)).filter(({ sender }) => sender === ada).length, 1, "the story is told once");
    return true;
  });
});

test("a task outlives a kill -9 in the middle of a thought about it", async (t) => {
  const minds = await Minds.start(t);
  const stalled = gate();
  t.after(() => stalled.open());
  minds.decide("Ada", () => stalled.wait);
  const live = await Live.started({ minds }, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada" });
  const { task } = await socket.must("task_accepted", { type: "assign_task", agent_id: id, task_name: "count the chairs" });
  await minds.thought("Ada");
  minds.decide("Ada", { action: "complete_task", task_id: task.task_id, result: "16" });
  await live.restartDaemon();
  await waitFor(async () => (await live.tasks(id))[0].status === "completed", { what: "it completes its task" });
  const [row] = await live.tasks(id);
  assert.deepEqual([row.task_id, row.result, Date.parse(row.completed_at) >= Date.parse(row.created_at)], [task.task_id, "16", true]);
  assert.equal((await live.agent(id)).current_task, null);
});

test("the verbs: cru spawn --live, cru say, cru world, cru live", async (t) => {
  const live = await Live.started({ agents: { poet: { prompt: "You speak in rhymes." } } }, t);
  const socket = await live.connect();
  const spawned = await live.cru("spawn", "--live", "poet", "--name", "Ada", "--at", "7,5", "--task", "write an ode");
  assert.equal(spawned.code, 0, spawned.stderr);
  const { agent } = await socket.waitFor("agent_joined");
  assert.deepEqual([agent.name, agent.definition, agent.position], ["Ada", "poet", { x: 7, y: 5 }]);
  const said = await live.cru("say", "--to", "Ada", "How does it go?");
  assert.equal(said.code, 0, said.stderr);
  await socket.waitFor(({ type, message }) => type === "chat_broadcast" && message === "How does it go?");
  await socket.waitFor("agent_speech");
  const world = await live.cru("world");
  assert.equal(world.code, 0, world.stderr);
  assert.match(world.stdout, /Ada/);
  assert.match((await live.cru("live", "list")).stdout, new RegExp(`${agent.agent_id}.*Ada`));
  assert.match((await live.cru("live", "conversation", agent.agent_id)).stdout, /How does it go\?/);
  const refused = await live.cru("spawn", "--live", "nobody");
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /nobody/);
});

test("ten agents by themselves for a few seconds: legal states, one a tile, numbers that rise, the same for every client", async (t) => {
  const live = await Live.started({ live: { idle: "300ms" } }, t);
  const sockets = [await live.connect(), await live.connect()];
  const ids = await Promise.all(Array.from({ length: 10 }, (_, n) => live.bring(sockets[0], { name: `Agent ${n}` })));
  await sockets[0].until(() => sockets[0].of("agent_moved").length >= 10 && sockets[0].of("agent_speech").length >= 5);
  const cursor = sockets[0].cursor;
  await sockets[1].until(() => sockets[1].cursor >= cursor);
  const upTo = (socket) => socket.deltas.filter(({ seq }) => seq <= cursor).map(({ at: _, ...rest }) => rest);
  assert.deepEqual(upTo(sockets[1]), upTo(sockets[0]));
  sockets.forEach((socket) => assert.deepEqual(socket.problems(), []));
  const ends = new Map();
  for (const { agent_id, x, y } of sockets[0].of("agent_moved")) {
    ends.set(agent_id, `${x},${y}`);
    assert.equal(new Set(ends.values()).size, ends.size, "no two go to one tile");
  }
  for (const id of ids) for (const { old_state, new_state } of await live.states(id)) assert.ok(!["speaking thinking", "idle speaking"].includes(`${old_state} ${new_state}`));
});
