// Agents decide by themselves: the loop, the prompt, what is done about a decision, interruptions, the state machine.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertBetween, waitFor } from "./harness.mjs";
import { gate, inMoreTime, Live, Minds } from "./harness/live.mjs";

const legal = new Set(["idle listening", "listening thinking", "thinking speaking", "speaking idle", "idle thinking", "thinking listening", "listening idle", "thinking idle"]);

/// Every change that was told is a legal one and begins where the one before ended.
function assertLegal(socket, agent_id) {
  const changes = socket.of("agent_state_update", (message) => message.agent_id === agent_id && message.old_state !== message.state);
  let state = "idle";
  for (const change of changes) {
    assert.ok(legal.has(`${change.old_state} ${change.state}`), `${change.old_state} → ${change.state}`);
    assert.equal(change.old_state, state);
    state = change.state;
  }
  return changes;
}

test("RT-04: after five seconds of idleness, by default and not before, it asks its mind and does what that decides, told to all", async (t) => {
  const minds = await Minds.start(t);
  minds.decide("Ada", { action: "speak", content: "Is anybody here?" });
  const live = await Live.started({ live: null, minds }, t);
  const socket = await live.connect();
  const bob = await live.bring(socket, { name: "Bob", cli_backend: "mock", initial_position: { x: 8, y: 5 }, listens_to: { senders: ["agent_002"] } });
  const id = await live.bring(socket, { name: "Ada", initial_position: { x: 7, y: 5 } });
  assert.equal(id, "agent_002");
  const { text } = await minds.thought("Ada");
  assert.match(text, /Analyze situation and decide next action/);
  const thinking = await socket.state(id, "thinking");
  assert.equal(thinking.old_state, "idle");
  const speech = await socket.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === id);
  assert.deepEqual([speech.content, speech.recipients], ["Is anybody here?", [bob]]);
  await waitFor(async () => (await live.conversation(bob)).some(({ sender, content }) => sender === id && content === "Is anybody here?"), { what: "the other agent hears it" });
  await socket.waitFor((message) => message.type === "agent_state_update" && message.agent_id === id && message.old_state === "thinking" && message.state === "speaking");
  // By the daemon's own times: five seconds from its coming to its first thought. How exactly, tests/sim/live_stories_test.cc
  // says: here a busy machine may write the first of the two times down late.
  const events = (await live.events(`?entity=${id}&limit=1000`)).filter(({ type }) => type.startsWith("live."));
  const [joined] = events.filter(({ type }) => type === "live.agent_joined");
  const [thought] = events.filter(({ type, data }) => type === "live.agent_state_changed" && data.new_state === "thinking");
  const idle = Date.parse(thought.timestamp) - Date.parse(joined.timestamp);
  assert.ok(idle >= 4_000, `${idle} ms`);
  assertLegal(socket, id);
});

test("RT-14: the mind is asked with the requirement's words, the last five messages and the current task", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds, live: { idle_time: "1s" } }, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada", role: "analyst" });
  const first = await minds.thought("Ada");
  assert.match(first.text, /Analyze situation and decide next action/);
  assert.match(first.system, /analyst/);
  for (const word of ["move", "wait", "speak", "collaborate", "complete_task"]) assert.ok(first.system.includes(word), word);
  await socket.must("task_accepted", { type: "assign_task", agent_id: id, task_name: "count the chairs" });
  for (let n = 1; n <= 7; ++n) await socket.must("message_accepted", { type: "chat_message", message: `word number ${n}.`, to: [id] });
  const has_all = (request) => request.text.includes("word number 7.");
  await waitFor(() => minds.thoughts("Ada").some(has_all), { what: "a thought with the last message" });
  const { text } = minds.thoughts("Ada").find(has_all);
  for (const n of [3, 4, 5, 6, 7]) assert.ok(text.includes(`word number ${n}.`), `the message ${n} is in: ${text}`);
  for (const n of [1, 2]) assert.ok(!text.includes(`word number ${n}.`), "only the last five");
  assert.match(text, /count the chairs/);
  assert.match(text, /player_0/);
  assert.deepEqual(minds.server.refused, [], "it keeps to the API");
});

test("RT-05: a decision to move is carried out: position, AgentMoved on the bus, told to clients as one walk", async (t) => {
  const minds = await Minds.start(t);
  minds.decide("Ada", { action: "move", x: 10, y: 5, reason: "nearer" });
  const live = await Live.started({ minds, live: { idle_time: "500ms" } }, t);
  const began = Date.now();
  const [socket, other] = [await live.connect(), await live.connect()];
  // Out of hearing: a greeting would interrupt the thought whose answer is a move.
  const watcher = await live.bring(socket, { name: "Bob", cli_backend: "mock", initial_position: { x: 18, y: 10 }, listens_to: { types: ["agent_moved"] } });
  const id = await live.bring(socket, { name: "Ada", initial_position: { x: 7, y: 5 } });
  const moved = await socket.waitFor(({ type, agent_id }) => type === "agent_moved" && agent_id === id);
  assert.deepEqual([moved.x, moved.y], [10, 5]);
  assert.deepEqual([moved.path[0], moved.path.at(-1), moved.path.length], [{ x: 7, y: 5 }, { x: 10, y: 5 }, 4]);
  for (let n = 1; n < moved.path.length; ++n) assert.equal(Math.abs(moved.path[n].x - moved.path[n - 1].x) + Math.abs(moved.path[n].y - moved.path[n - 1].y), 1, "4-connected");
  assertBetween(moved.t0_ms, began, moved.at);
  assert.deepEqual([moved.speed > 0, Date.parse(moved.t0)], [true, moved.t0_ms], JSON.stringify(moved));
  assert.equal((await other.waitFor(({ type, agent_id }) => type === "agent_moved" && agent_id === id)).seq, moved.seq);
  await waitFor(async () => (await live.agent(id)).position.x === 10, { what: "it arrives" });
  assert.equal(socket.of("agent_moved", ({ agent_id, x }) => agent_id === id && x === 10).length, 1, "one message a walk");
  await socket.state(watcher, "listening");
});

test("speak, collaborate, complete_task and wait are carried out; a code fence is taken off", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds, live: { idle_time: "1s" } }, t);
  const socket = await live.connect();
  const bob = await live.bring(socket, { name: "Bob", cli_backend: "mock", initial_position: { x: 7, y: 6 }, listens_to: { senders: ["nobody_at_all"] } });
  minds.decide("Ada", '```json\n{"action":"speak","content":"I\'ve finished the analysis","recipient":"player_0"}\n```', { action: "collaborate", with: bob, proposal: "Shall we pair?" },
    ({ text }) => ({ action: "complete_task", task_id: /"task_id":"([^"]+)"/.exec(text)[1], result: "42 chairs" }), { action: "wait", reason: "done" });
  const id = await live.bring(socket, { name: "Ada", initial_position: { x: 7, y: 5 }, task: "count the chairs" });
  const speech = await socket.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === id);
  assert.deepEqual([speech.content, speech.recipient, speech.recipients], ["I've finished the analysis", "player_0", ["player_0", bob]]);
  const proposal = await socket.waitFor(({ type, content }) => type === "agent_speech" && content === "Shall we pair?");
  assert.deepEqual(proposal.recipients, [bob]);
  const done = await socket.waitFor("task_completed");
  assert.deepEqual([done.agent_id, done.result, done.status, done.task_name], [id, "42 chairs", "completed", "count the chairs"]);
  await minds.thought("Ada", 4);
  await socket.until(() => socket.states(id).filter((state) => state === "thinking").length >= 4 && socket.states(id).at(-1) === "idle");
  assertLegal(socket, id);
});

test("words that are no decision are a wait, and are logged", async (t) => {
  const minds = await Minds.start(t);
  minds.decide("Ada", "I think I would rather dance.", '{"action":"fly","x":1}', '{"action":"move","x":3}', { action: "speak", content: "well then" });
  const live = await Live.started({ minds, live: { idle_time: "300ms", max_retry_delay: "300ms" } }, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada", initial_position: { x: 7, y: 5 } });
  await socket.waitFor(({ type, content }) => type === "agent_speech" && content === "well then");
  const speaking = socket.states(id).indexOf("speaking");
  assert.deepEqual(socket.states(id).slice(0, speaking + 1), ["thinking", "idle", "thinking", "idle", "thinking", "idle", "thinking", "speaking"]);
  assert.deepEqual((await live.agent(id)).position, { x: 7, y: 5 });
  const log = (await live.logged()).split("\n").filter((line) => line.includes(id) && /decision/.test(line));
  assert.ok(log.length >= 3 && log.some((line) => /fly|action/.test(line)), log.join("\n"));
});

test("RT-06: a message while it thinks: listening, acknowledged, thinking again, with the message", async (t) => {
  const minds = await Minds.start(t);
  const slow = gate();
  minds.decide("Ada", async () => { await slow.wait; return { action: "speak", content: "too late" }; }, { action: "speak", content: "I heard you", recipient: "player_0" });
  const live = await Live.started({ minds, live: { idle_time: "300ms" } }, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada" });
  await minds.thought("Ada");
  const from = socket.mark;
  const { message_id, recipients } = await socket.must("message_accepted", { type: "chat_message", message: "Stop, look here!", to: [id] });
  assert.deepEqual(recipients, [id]);
  const listening = await socket.state(id, "listening", { from });
  assert.equal(listening.old_state, "thinking");
  const receipt = (status) => socket.waitFor((message) => message.type === "message_receipt" && message.message_id === message_id && message.status === status, { from });
  assert.equal((await receipt("delivered")).agent_id, id);
  const acknowledged = await receipt("acknowledged");
  const again = await socket.waitFor(({ type, agent_id, state, seq }) => type === "agent_state_update" && agent_id === id && state === "thinking" && seq > listening.seq, { from });
  assert.ok(acknowledged.seq > listening.seq && again.old_state === "listening");
  assert.match((await minds.thought("Ada", 2)).text, /Stop, look here!/);
  const speech = await socket.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === id, { from });
  assert.equal(speech.content, "I heard you", "the interrupted thought is forgotten");
  slow.open();
  await waitFor(() => minds.thoughts("Ada")[0].outcome === "client_gone", { what: "the interrupted thought is given up" });
  const { receipts } = await live.must(200, live.get(`/world/messages/${message_id}`));
  assert.deepEqual(receipts, [{ agent_id: id, status: "acknowledged" }]);
  assertLegal(socket, id);
});

test("RT-07: idle, listening, thinking, speaking, idle: an agent that is spoken to answers those near it", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada", initial_position: { x: 7, y: 5 } });
  await socket.must("message_accepted", { type: "chat_message", message: "Who are you?", to: [id] });
  await socket.until(() => socket.states(id).length >= 4);
  assert.deepEqual(socket.states(id).slice(0, 4), ["listening", "thinking", "speaking", "idle"]);
  const speech = socket.of("agent_speech")[0];
  assert.ok(speech.recipients.includes("player_0") && speech.content.length > 0);
  const [, thinking, speaking] = assertLegal(socket, id);
  assert.ok(speech.seq > thinking.seq && speech.seq <= speaking.seq + 2, "said as it begins to speak");
});

test("RT-08: a move asked for while it speaks is held, logged, and carried out when it is idle; the latest wins", async (t) => {
  const minds = await Minds.start(t);
  await inMoreTime(["2s", "10s", "1m"], async (speech) => {
    minds.decide("Ada", { action: "speak", content: "A long story." });
    const live = await Live.started({ minds, live: { idle_time: "300ms", min_speech_time: speech, max_speech_time: speech } }, t);
    const socket = await live.connect();
    const id = await live.bring(socket, { name: "Ada", initial_position: { x: 7, y: 5 } });
    await socket.state(id, "speaking");
    const ended = () => socket.of("agent_state_update", ({ agent_id, old_state, state }) => agent_id === id && old_state === "speaking" && state === "idle")[0];
    const first = await socket.must("move_accepted", { type: "move_agent", agent_id: id, x: 9, y: 5 });
    const second = await socket.must("move_accepted", { type: "move_agent", agent_id: id, x: 10, y: 5 });
    if (ended()) return live.close().then(() => false);  // the story was over before both were asked for
    assert.deepEqual([first.held, second.held], [true, true]);
    assert.ok(!second.walk);
    const held = await socket.waitFor("action_held");
    assert.deepEqual([held.agent_id, held.action, held.x, held.y], [id, "move", 9, 5]);
    assert.ok(held.reason.length > 0);
    const moved = await socket.waitFor("agent_moved");
    assert.ok(ended() && moved.seq > ended().seq, "only when it is idle");
    assert.deepEqual([moved.x, moved.y, socket.of("agent_moved").length], [10, 5, 1]);
    const log = (await live.logged()).split("\n").filter((line) => line.includes(id) && /error/i.test(line));
    assert.ok(log.some((line) => /speak/.test(line)), "logged as an error");
    return true;
  });
});

test("moves that cannot be are refused by field and change nothing", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada", initial_position: { x: 7, y: 5 } });
  await live.bring(socket, { name: "Bob", initial_position: { x: 8, y: 5 } });
  const move = (x, y, agent_id = id) => socket.ask({ type: "move_agent", agent_id, x, y });
  for (const [answer, code] of [[await move(0, 0), "invalid_argument"], [await move(40, 5), "invalid_argument"], [await move(-1, 5), "invalid_argument"], [await move(8, 5), "conflict"], [await move(3, 5, "agent_999"), "not_found"]]) {
    assert.deepEqual([answer.type, answer.code], ["error", code], JSON.stringify(answer));
    assert.ok(answer.field);
  }
  assert.deepEqual((await live.agent(id)).position, { x: 7, y: 5 });
  assert.equal(socket.of("agent_moved").length, 0);
});

test("a slow mind of one agent does not delay another", async (t) => {
  const minds = await Minds.start(t);
  const slow = gate();
  t.after(() => slow.open());
  minds.decide("Slow", () => slow.wait);
  const live = await Live.started({ minds, live: { max_concurrent_thoughts: 4 } }, t);
  const socket = await live.connect();
  const sluggish = await live.bring(socket, { name: "Slow" });
  const others = [await live.bring(socket, { name: "Quick" }), await live.bring(socket, { name: "Scripted", cli_backend: "mock" })];
  await socket.must("message_accepted", { type: "chat_message", message: "think hard", to: [sluggish] });
  await minds.thought("Slow");
  minds.decide("Quick", { action: "speak", content: "at once", recipient: "player_0" });
  for (const id of others) {
    await socket.must("message_accepted", { type: "chat_message", message: "and you?", to: [id] });
    await socket.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === id);
  }
  assert.equal((await live.agent(sluggish)).state, "thinking");
});

test("a mind that does not answer in time is told of, and the agent goes on", async (t) => {
  const minds = await Minds.start(t);
  const never = gate();
  t.after(() => never.open());
  // As often as it takes: on a slow machine an answer may be late too.
  minds.decide("Ada", () => never.wait, ...Array(200).fill({ action: "speak", content: "back again" }));
  const live = await Live.started({ minds, live: { idle_time: "300ms", think_timeout: "1s", max_retry_delay: "300ms" } }, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada" });
  const stuck = await socket.waitFor("agent_stuck");
  assert.equal(stuck.agent_id, id);
  assert.ok(stuck.reason.length > 0 && Date.parse(stuck.since) > 0);
  const idle = await socket.state(id, "idle");
  assert.ok(idle.error, "the failure is a field, and the state idle");
  await socket.waitFor(({ content }) => content === "back again");
  assert.equal((await socket.state(id, "speaking")).error ?? null, null, "and with it the failure is forgotten");
});

test("ten agents by themselves for a few seconds: legal states, one a tile, numbers that rise, the same for every client", async (t) => {
  const live = await Live.started({ live: { idle_time: "300ms" } }, t);
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
