// Agents hear each other, and remember: the bus, conversations, tasks, what clients are told.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertBetween, codeOf, waitFor } from "./harness.mjs";
import { Live, Minds } from "./harness/live.mjs";

const say = (message, to) => ({ type: "chat_message", message, ...(to ? { to } : {}) });

test("RT-09: what one says reaches every agent, whole; receipts tell", async (t) => {
  const live = await Live.started({ live: { listening_time: "1s" } }, t);
  const socket = await live.connect();
  const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => live.bring(socket, { name: `Agent ${n}` })));
  const content = `Grüße an alle, 世界! ${"x".repeat(7000)}.`;
  const from = socket.mark;
  const { message_id, recipients } = await socket.must("message_accepted", say(content, ids));
  assert.deepEqual([...recipients].sort(), [...ids].sort());
  const receipts = (status) => socket.messages.slice(from).filter((message) => message.type === "message_receipt" && message.message_id === message_id && message.status === status);
  await socket.until(() => receipts("delivered").length === 12, { what: "all have it" });
  const spoken = await socket.waitFor(({ type }) => type === "chat_broadcast", { from });
  assert.equal(spoken.message, content, "complete");
  assert.deepEqual(new Set(receipts("delivered").map(({ agent_id }) => agent_id)), new Set(ids), "each once");
  for (const id of ids) {
    const heard = (await live.conversation(id)).filter(({ sender }) => sender === "player_0");
    assert.deepEqual(heard.map((row) => row.content), [content]);
  }
  await socket.until(() => receipts("acknowledged").length === 12, { what: "all acknowledge" });
  assert.deepEqual(socket.problems(), []);
});

test("RT-09: a word reaches each of twelve agents within 100 ms, by the times in the log, and every word reaches every agent once", async (t) => {
  // They listen all the time: an agent that speaks hears later, and that is not the bus.
  const live = await Live.started({ live: { listening_time: "1m" } }, t);
  const socket = await live.connect();
  const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => live.bring(socket, { name: `Agent ${n}` })));
  const words = [];
  /// How long each of the twelve deliveries of one more word took.
  const deliver = async () => {
    const word = `word ${words.length + 1}: ${"x".repeat(500)}`;
    words.push(word);
    const { message_id } = await socket.must("message_accepted", say(word, ids));
    await socket.until(() => socket.of("message_receipt", (one) => one.message_id === message_id && one.status === "delivered").length === ids.length, { what: `all have word ${words.length}` });
    const events = (await live.events("?type=live.agent_spoke,live.message_receipt&limit=1000&since=" + from)).filter(({ data }) => data.message_id === message_id);
    from = events.at(-1).id;
    const [spoken] = events.filter(({ type }) => type === "live.agent_spoke");
    const receipts = events.filter(({ type, data }) => type === "live.message_receipt" && data.status === "delivered");
    assert.equal(spoken.data.content, word);
    assert.deepEqual(receipts.map(({ data }) => data.agent_id).sort(), [...ids].sort(), "each agent, once");
    return receipts.map(({ timestamp }) => Date.parse(timestamp) - Date.parse(spoken.timestamp));
  };
  let from = 0, last;
  for (let n = 0; n < 20; ++n) await deliver();
  // A machine that has other things to do may hold up one of them; then the next word counts. The simulation holds every
  // one to it (tests/sim/live_stories_test.cc).
  await waitFor(async () => (last = await deliver()).every((took) => took >= 0 && took < 100), { every: 1, what: "a word that reached all twelve within 100 ms" })
    .catch((error) => { throw new Error(`${error.message}: ${last} ms`); });
  for (const id of ids) assert.deepEqual((await live.conversation(id)).filter(({ sender }) => sender === "player_0").map(({ content }) => content), words, "complete, in order");
});

test("an agent that speaks is heard by those near it, and by nobody far away", async (t) => {
  const minds = await Minds.start(t);
  minds.decide("Ada", { action: "speak", content: "Is anybody here?" });
  const live = await Live.started({ minds, live: { hearing_distance: 4 } }, t);
  const socket = await live.connect();
  const at = (x, y) => ({ cli_backend: "mock", initial_position: { x, y } });
  const [near, far] = [await live.bring(socket, { name: "Near", ...at(7, 5) }), await live.bring(socket, { name: "Far", ...at(18, 7) })];
  const ada = await live.bring(socket, { name: "Ada", initial_position: { x: 5, y: 5 } });
  await socket.must("message_accepted", say("say something", [ada]));
  const speech = await socket.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === ada);
  assert.deepEqual([speech.content, speech.recipients, speech.recipient_count, speech.position], ["Is anybody here?", [near], 1, { x: 5, y: 5 }]);
  await socket.state(near, "listening");
  await socket.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === near);
  assert.deepEqual(socket.states(far), [], "it is not disturbed");
  assert.deepEqual(await live.conversation(far), []);
  assert.deepEqual((await live.conversation(near)).slice(0, 1).map(({ sender, content }) => [sender, content]), [[ada, "Is anybody here?"]]);
});

test("RT-10: whoever is spawned is on the bus at once and gets every broadcast", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  const ids = [];
  for (let n = 0; n < 5; ++n) ids.push(await live.bring(socket, { name: `Agent ${n}`, listens_to: { types: ["agent_spoke"] } }));
  const received = () => Promise.all(ids.map(async (id) => (await live.agent(id)).received));
  const before = await received();
  for (let n = 0; n < 20; ++n) await live.must(202, live.post("/world/broadcast", { data: { tick: n } }));
  await waitFor(async () => (await received()).every((count, n) => count >= before[n] + 20), { what: "each got all twenty" });
  const told = socket.of("agent_broadcast");
  assert.deepEqual(told.map(({ data }) => data.tick), Array.from({ length: 20 }, (_, n) => n));
  assert.deepEqual(await Promise.all(ids.map(async (id) => (await live.agent(id)).lag)), ids.map(() => 0));
  assert.equal(socket.of("agent_state_update").length, 0, "they ignore what they do not listen for");
});

test("RT-11: agents filter by sender, by recipient and by type", async (t) => {
  const live = await Live.started({ live: { hearing_distance: 16 } }, t);
  const socket = await live.connect();
  const spawn = (name, listens_to, x) => live.bring(socket, { name, listens_to, initial_position: { x, y: 5 } });
  const anyone = await spawn("Anyone", undefined, 9);
  const bobs = await spawn("Bob's", { senders: ["player_bob"] }, 10);
  const direct = await spawn("Direct", { only_direct: true }, 8);
  const tasks = await spawn("Tasks", { types: ["task_assigned"] }, 7);
  const all = [anyone, bobs, direct, tasks];
  const heard = async (content) => {
    const rows = await Promise.all(all.map((id) => live.conversation(id)));
    return all.filter((_, n) => rows[n].some((row) => row.content === content));
  };
  await live.must(202, live.post("/world/say", { content: "from Ann", everybody: true, user_id: "player_ann" }));
  await live.must(202, live.post("/world/say", { content: "from Bob", everybody: true, user_id: "player_bob" }));
  await waitFor(async () => (await heard("from Bob")).includes(bobs), { what: "Bob is heard" });
  await waitFor(async () => (await heard("from Bob")).includes(anyone));
  assert.ok(!(await heard("from Ann")).includes(bobs), "another sender");
  for (const words of ["from Ann", "from Bob"]) for (const id of [direct, tasks]) assert.ok(!(await heard(words)).includes(id), `${id}: ${words}`);
  await socket.must("message_accepted", say("to you alone", [direct]));
  await waitFor(async () => (await heard("to you alone")).includes(direct));
  assert.deepEqual(await heard("to you alone"), [direct], "another recipient");
  await socket.must("task_accepted", { type: "assign_task", agent_id: tasks, task_name: "look" });
  await socket.state(tasks, "listening");
});

test("an agent that listens within two steps hears who is that close, and nobody farther, though within hearing", async (t) => {
  const live = await Live.started({ live: { hearing_distance: 8 } }, t);
  const socket = await live.connect();
  const close = await live.bring(socket, { name: "Close", listens_to: { within: 2 }, initial_position: { x: 3, y: 5 } });
  const anyone = await live.bring(socket, { name: "Anyone", initial_position: { x: 3, y: 6 } });
  const heard = async (id) => (await live.conversation(id)).filter(({ sender }) => sender === "ann").map(({ content }) => content);
  // Aloud, to whoever is within hearing: both are, wherever it is said.
  for (const [n, x] of [6, 5, 8, 4].entries()) {
    await socket.must("space_state", { type: "join_space", user_id: "ann", x, y: 5 });
    const { recipients } = await socket.must("message_accepted", say(`from ${x - 3} steps`));
    assert.deepEqual([...recipients].sort(), [close, anyone].sort());
    await waitFor(async () => (await heard(anyone)).length === n + 1, { what: `Anyone hears from ${x - 3} steps` });
  }
  await waitFor(async () => (await heard(close)).includes("from 1 steps"), { what: "Close hears the last" });
  assert.deepEqual(await heard(anyone), ["from 3 steps", "from 2 steps", "from 5 steps", "from 1 steps"]);
  assert.deepEqual(await heard(close), ["from 2 steps", "from 1 steps"]);
  await socket.must("space_state", { type: "join_space", user_id: "ann", x: 8, y: 5 });
  await socket.must("message_accepted", say("to you", [close]));
  await waitFor(async () => (await heard(close)).includes("to you"), { what: "what is said to it is near enough" });
});

test("RT-12: both sides of a conversation are rows, with timestamp, sender, content and recipient, after a restart too", async (t) => {
  const began = Date.now();
  const live = await Live.started({}, t);
  let socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada" });
  await socket.must("message_accepted", say("What is the time?", [id]));
  const speech = await socket.waitFor("agent_speech");
  await socket.state(id, "idle");
  const rows = () => live.sql(`SELECT id, agent_id, timestamp, sender, content, recipient FROM agent_conversations WHERE agent_id='${id}' ORDER BY id`);
  await waitFor(() => rows().length === 2);
  const before = rows();
  assert.deepEqual(before.map(({ sender, content, recipient }) => [sender, content, recipient]), [["player_0", "What is the time?", id], [id, speech.content, "player_0"]]);
  assert.ok(before.every(({ timestamp }) => timestamp > 0) && before[1].timestamp >= before[0].timestamp);
  const told = await live.conversation(id);
  assert.deepEqual(told.map(({ sender, content, recipient }) => [sender, content, recipient]), before.map(({ sender, content, recipient }) => [sender, content, recipient]));
  for (const { timestamp } of told) assertBetween(timestamp, began);
  await live.restartDaemon();
  assert.deepEqual(rows(), before);
  assert.deepEqual(await live.conversation(id), told);
  socket = await live.connect();
  await socket.must("message_accepted", say("And now?", [id]));
  await socket.waitFor("agent_speech");
  assert.deepEqual((await live.conversation(id)).slice(0, 2), told);
});

test("RT-13: a task is a row: assigned, then completed or failed, with both times; once", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds }, t);
  const [socket, other] = [await live.connect(), await live.connect()];
  const id = await live.bring(socket, { name: "Ada" });
  const assign = async (task_name) => (await socket.must("task_accepted", { type: "assign_task", agent_id: id, task_name })).task;
  const task = await assign("analyzing data");
  assert.deepEqual([task.status, task.agent_id, task.task_name, task.completed_at ?? null], ["assigned", id, "analyzing data", null]);
  assert.deepEqual([(await other.waitFor("task_assigned")).task_id, other.of("task_assigned")[0].task_name], [task.task_id, "analyzing data"]);
  const row = () => live.sql(`SELECT agent_id, task_id, task_name, status, created_at, completed_at, result FROM agent_tasks WHERE task_id='${task.task_id}'`)[0];
  const begun = row();
  assert.deepEqual([begun.agent_id, begun.completed_at, begun.created_at > 0], [id, null, true]);
  assert.ok(["assigned", "in_progress"].includes(begun.status), begun.status);
  const done = await socket.must("task_accepted", { type: "complete_task", agent_id: id, task_id: task.task_id, result: "found 3" });
  assert.deepEqual([done.task.status, done.task.result], ["completed", "found 3"]);
  assert.deepEqual([row().status, row().result, row().completed_at >= row().created_at], ["completed", "found 3", true]);
  const told = await other.waitFor("task_completed");
  assert.deepEqual([told.task_id, told.result, told.status], [task.task_id, "found 3", "completed"]);
  const again = await socket.ask({ type: "complete_task", agent_id: id, task_id: task.task_id, result: "found 4" });
  assert.deepEqual([again.type, again.code], ["error", "conflict"]);
  assert.equal(row().result, "found 3");
  const failing = await assign("the impossible");
  await socket.must("task_accepted", { type: "complete_task", agent_id: id, task_id: failing.task_id, status: "failed", result: "no way" });
  assert.deepEqual((await live.tasks(id)).map(({ task_name, status }) => [task_name, status]), [["the impossible", "failed"], ["analyzing data", "completed"]]);
  for (const [message, field] of [[{ type: "assign_task", agent_id: id }, "task_name"], [{ type: "assign_task", agent_id: id, task_name: "" }, "task_name"], [{ type: "assign_task", task_name: "x" }, "agent_id"], [{ type: "complete_task", agent_id: id, task_id: "none" }, "task_id"], [{ type: "complete_task", agent_id: id, task_id: task.task_id, status: "maybe" }, "status"]])
    assert.equal((await socket.ask(message)).field, field, JSON.stringify(message));
});

test("RT-16: every change of state goes to all clients, in the requirement's shape", async (t) => {
  const live = await Live.started({}, t);
  const sockets = await Promise.all([live.connect(), live.connect(), live.connect()]);
  const id = await live.bring(sockets[0], { name: "Ada", initial_position: { x: 12, y: 5 }, task: "analyzing data" });
  const round = (states) => states.findIndex((state, n) => ["listening", "thinking", "speaking", "idle"].every((wanted, m) => states[n + m] === wanted));
  await sockets[0].must("message_accepted", say("How is it going?", [id]));
  for (const socket of sockets) await socket.until(() => round(socket.states(id)) >= 0, { what: "from idle through all states to idle" });
  const told = sockets.map((socket) => socket.of("agent_state_update", ({ agent_id }) => agent_id === id));
  const all = Math.min(...told.map(({ length }) => length));
  for (const updates of told) {
    const spoken = updates.findIndex(({ state }) => state === "speaking");
    // What it does about its task when it has spoken is its own business.
    for (const [n, update] of updates.entries()) assert.deepEqual([update.position, n > spoken || update.current_task], [{ x: 12, y: 5 }, n > spoken || "analyzing data"], JSON.stringify(update));
    assert.deepEqual(updates.slice(0, all).map(({ seq, state }) => [seq, state]), told[0].slice(0, all).map(({ seq, state }) => [seq, state]), "the same to each");
  }
  sockets.forEach((socket) => assert.deepEqual(socket.problems(), []));
});

test("RT-17: what an agent says goes to all clients with its recipients: people and agents", async (t) => {
  const minds = await Minds.start(t);
  minds.decide("Ada", { action: "speak", content: "I've finished the analysis" });
  const live = await Live.started({ minds }, t);
  const sockets = [await live.connect(), await live.connect()];
  await sockets[0].must("space_state", { type: "join_space", space_id: "office", user_id: "player_0", name: "Ann", is_agent: false, x: 6, y: 5 });
  const bob = await live.bring(sockets[0], { name: "Bob", cli_backend: "mock", initial_position: { x: 7, y: 6 } });
  const ada = await live.bring(sockets[0], { name: "Ada", initial_position: { x: 7, y: 5 } });
  await live.must(202, live.post("/world/say", { content: "report, please", to: [ada] }));
  for (const socket of sockets) {
    const speech = await socket.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === ada);
    assert.equal(speech.content, "I've finished the analysis");
    assert.deepEqual([...speech.recipients].sort(), [bob, "player_0"].sort(), "whoever is near, the player too");
    assert.ok(speech.message_id);
  }
});

test("people come, move, speak and go, and everybody sees it", async (t) => {
  const live = await Live.started({}, t);
  const [ann, other] = [await live.connect(), await live.connect()];
  const space = await ann.must("space_state", { type: "join_space", space_id: "office", user_id: "ann", name: "Ann", is_agent: false, x: 7, y: 5 });
  assert.deepEqual([space.space_id, space.users.map(({ user_id }) => user_id)], ["office", ["ann"]]);
  assert.ok("version" in space && Date.parse(space.updated_at) > 0);
  assert.equal((await other.waitFor("user_joined")).name, "Ann");
  ann.send({ type: "update_position", x: 8, y: 5, direction: "right" });
  const moved = await other.waitFor("position_update");
  assert.deepEqual([moved.user_id, moved.x, moved.y, moved.direction], ["ann", 8, 5, "right"]);
  await ann.must("message_accepted", say("hello all"));
  const spoken = await other.waitFor("chat_broadcast");
  assert.deepEqual([spoken.user_id, spoken.name, spoken.message], ["ann", "Ann", "hello all"]);
  assert.equal((await ann.ask({ type: "update_position", x: 0, y: 0 })).type, "error", "a wall");
  assert.equal((await ann.must("space_left", { type: "leave_space" })).user_id, "ann");
  assert.equal((await other.waitFor("user_left")).user_id, "ann");
  await ann.must("space_state", { type: "join_space", user_id: "ann" });
  const from = other.mark;
  await ann.close();
  assert.equal((await other.waitFor("user_left", { from })).user_id, "ann", "closing the connection leaves");
  for (const [message, field] of [[say(""), "message"], [say("x".repeat(8001)), "message"], [say("hello", ["nobody"]), "to"], [say("hello", "nobody"), "to"], [{ type: "join_space", space_id: "mars" }, "space_id"]])
    assert.equal((await other.ask(message)).field, field, JSON.stringify(message).slice(0, 80));
  assert.equal(codeOf((await live.post("/world/say", {})).json), "invalid_argument");
});

test("nobody speaks or comes as an agent, not even as one that is yet to be", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  const ada = await live.bring(socket, { name: "Ada" });
  await socket.must("message_accepted", say("hello", [ada]));
  await socket.waitFor("agent_speech");
  const from = socket.mark;
  for (const user_id of [ada, "agent_050"]) {
    const joined = await socket.ask({ type: "join_space", user_id, name: "Ada" });
    assert.deepEqual([joined.type, joined.code, joined.field], ["error", "invalid_argument", "user_id"], JSON.stringify(joined));
    for (const [path, body] of [["/world/say", { content: "I am Ada" }], ["/world/say", { content: "I am Ada", to: [ada] }], ["/world/broadcast", { data: 1 }]]) {
      const { status, json, text } = await live.post(path, { ...body, user_id });
      assert.deepEqual([status, codeOf(json), json.error?.field ?? json.field], [400, "invalid_argument", "user_id"], `${path}: ${text}`);
    }
    const verb = await live.cru("say", "--as", user_id, "I am Ada");
    assert.deepEqual([verb.code, verb.stdout], [2, ""]);
    assert.match(verb.stderr, new RegExp(user_id));
    const { error, field } = JSON.parse((await live.cru("say", "--json", "--as", user_id, "I am Ada")).stdout);
    assert.deepEqual([error, field], ["invalid_argument", "user_id"]);
  }
  // What this connection says now is said by whom it was before: nobody.
  await socket.must("message_accepted", say("who am I?"));
  assert.equal((await socket.waitFor("chat_broadcast", { from })).user_id, "player_0");
  const told = socket.messages.slice(from).filter(({ type }) => ["chat_broadcast", "user_joined", "agent_broadcast"].includes(type));
  assert.deepEqual(told.map(({ type, message }) => [type, message]), [["chat_broadcast", "who am I?"]]);
  assert.deepEqual((await live.events("?limit=1000")).filter(({ type, data }) => type === "live.agent_spoke" && data.content === "I am Ada"), []);
});
