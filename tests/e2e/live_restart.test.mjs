// What live agents keep: the tables, and everything across kill -9.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { gate, inMoreTime, Live, Minds } from "./harness/live.mjs";

const say = (message, to) => ({ type: "chat_message", message, to });

test("RT-18: the start makes the three tables as they are named, and starting again changes nothing", async (t) => {
  const live = await Live.started({}, t);
  const wanted = {
    agent_conversations: ["id", "agent_id", "timestamp", "sender", "content", "recipient"],
    agent_tasks: ["id", "agent_id", "task_name", "status", "created_at", "completed_at"],
    agent_state_history: ["id", "agent_id", "old_state", "new_state", "timestamp"],
  };
  const schema = () => live.sql("SELECT name, sql FROM sqlite_master WHERE name LIKE 'agent_%' OR name LIKE 'live_%' ORDER BY name");
  // Nobody has been here yet: it is the start that made them.
  for (const [table, columns] of Object.entries(wanted)) {
    const found = live.sql(`PRAGMA table_info(${table})`).map(({ name }) => name);
    for (const column of columns) assert.ok(found.includes(column), `${table}.${column}: ${found}`);
    assert.ok(live.sql(`SELECT sql FROM sqlite_master WHERE type='index' AND tbl_name='${table}'`).some(({ sql }) => /\(agent_id, (timestamp DESC|status)\)/.test(sql ?? "")), `an index of ${table}`);
  }
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada", task: "be there" });
  await socket.must("message_accepted", say("hello", [id]));
  await socket.until(() => socket.states(id).includes("speaking") && socket.states(id).at(-1) === "idle", { what: "it has spoken" });
  await live.killDaemon();
  const before = schema();
  // A task goes on over a restart; that it was given does not change.
  const lasting = { ...wanted, agent_tasks: ["id", "agent_id", "task_name", "created_at"] };
  const rows = () => Object.entries(lasting).map(([table, columns]) => live.sql(`SELECT ${columns} FROM ${table} ORDER BY id`));
  const kept = rows();
  assert.ok(kept.every(({ length }) => length > 0), "each table has something to lose");
  for (let n = 0; n < 2; ++n) {
    await live.startDaemon();
    await live.killDaemon();
    assert.deepEqual(schema(), before);
    rows().forEach((now, table) => assert.deepEqual(now.slice(0, kept[table].length), kept[table], "nothing is lost"));
    assert.doesNotMatch(live.log(), /already exists/);
  }
});

test("RT-19: every change of state is a row, in order, and can be asked for", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  const id = await live.bring(socket, { name: "Ada" });
  await socket.must("message_accepted", say("hello", [id]));
  await socket.until(() => socket.states(id).length >= 4);
  const wanted = [["idle", "listening"], ["listening", "thinking"], ["thinking", "speaking"], ["speaking", "idle"]];
  const rows = live.sql(`SELECT old_state, new_state, timestamp FROM agent_state_history WHERE agent_id='${id}' ORDER BY id`);
  assert.deepEqual(rows.map(({ old_state, new_state }) => [old_state, new_state]), wanted);
  assert.ok(rows.every(({ timestamp }, n) => timestamp > 0 && (n === 0 || timestamp >= rows[n - 1].timestamp)));
  assert.deepEqual((await live.states(id)).map(({ old_state, new_state }) => [old_state, new_state]), wanted);
  const { stdout } = await live.cru("live", "states", id);
  assert.match(stdout, /speaking/);
});

test("kill -9 in mid-conversation: agents come back with place, tasks and memory; the unanswered is answered, once", async (t) => {
  const minds = await Minds.start(t);
  const stalled = gate();
  t.after(() => stalled.open());
  minds.decide("Ada", { action: "speak", content: "first answer", recipient: "player_0" }, () => stalled.wait);
  const live = await Live.started({ minds }, t);
  let socket = await live.connect();
  const ada = await live.bring(socket, { name: "Ada", role: "analyst", initial_position: { x: 7, y: 5 } });
  const bob = await live.bring(socket, { name: "Bob", cli_backend: "mock", initial_position: { x: 12, y: 6 }, listens_to: { only_direct: true } });
  await socket.must("message_accepted", say("first question", [ada]));
  await socket.waitFor(({ content }) => content === "first answer");
  await socket.state(ada, "idle");
  const { task } = await socket.must("task_accepted", { type: "assign_task", agent_id: bob, task_name: "keep the minutes" });
  await socket.must("move_accepted", { type: "move_agent", agent_id: ada, x: 9, y: 5 });
  await waitFor(async () => (await live.agent(ada)).position.x === 9, { what: "Ada walks" });
  const { message_id } = await socket.must("message_accepted", say("second question", [ada]));
  await minds.thought("Ada", 2);
  const cursor = socket.cursor;
  minds.decide("Ada", { action: "speak", content: "second answer", recipient: "player_0" });
  await live.restartDaemon();

  socket = await live.connect();
  const { agents } = await socket.snapshot();
  assert.deepEqual(agents.map(({ agent_id }) => agent_id).sort(), [ada, bob]);
  const back = agents.find(({ agent_id }) => agent_id === ada);
  assert.deepEqual([back.name, back.role, back.position], ["Ada", "analyst", { x: 9, y: 5 }]);
  const answered = () => live.conversation(ada).then((rows) => rows.map(({ sender, content }) => `${sender}: ${content}`));
  await waitFor(async () => (await answered()).includes(`${ada}: second answer`), { what: "the unanswered message is answered" });
  await waitFor(async () => (await live.agent(ada)).state === "idle");
  assert.deepEqual(await answered(), ["player_0: first question", `${ada}: first answer`, "player_0: second question", `${ada}: second answer`]);
  assert.match(minds.thoughts("Ada").at(-1).text, /second question/);
  assert.match(minds.thoughts("Ada").at(-1).text, /first answer/, "it remembers");
  const tasks = await live.tasks(bob);
  assert.deepEqual(tasks.map(({ task_id, task_name }) => [task_id, task_name]), [[task.task_id, "keep the minutes"]]);
  // The log told everything once: what was said, the receipts, nothing again.
  const events = (await live.events("?limit=1000")).filter(({ type }) => type.startsWith("live."));
  const spoken = events.filter(({ type, data }) => type === "live.agent_spoke" && data.agent_id === ada).map(({ data }) => data.content);
  assert.deepEqual(spoken, ["first answer", "second answer"]);
  const receipts = events.filter(({ type, data }) => type === "live.message_receipt" && data.message_id === message_id).map(({ data }) => data.status);
  assert.deepEqual(receipts, ["delivered", "acknowledged"]);
  assert.equal(events.filter(({ type }) => type === "live.agent_joined").length, 2, "they have not joined again");

  const resumed = await live.connect({ query: { since: String(cursor) } });
  await resumed.waitFor(({ content }) => content === "second answer");
  assert.equal(resumed.of("world_snapshot").length, 0, "a cursor lives longer than a daemon");
});

test("kill -9 at any time: nothing is said twice, nothing that was accepted is lost", async (t) => {
  const live = await Live.started({}, t);
  let socket = await live.connect();
  const ids = await Promise.all(["Ada", "Bob", "Eve"].map((name) => live.bring(socket, { name, listens_to: { senders: ["player_0"] } })));
  const accepted = [];
  for (let round = 0; round < 6; ++round) {
    for (const id of ids) {
      const message = `round ${round} for ${id}`;
      const answer = await socket.ask(say(message, [id]));
      assert.equal(answer.type, "message_accepted");
      accepted.push([id, message]);
    }
    await live.killDaemon();
    await live.startDaemon();
    socket = await live.connect();
  }
  for (const id of ids) {
    await waitFor(async () => (await live.agent(id)).state === "idle" && (await live.conversation(id)).some(({ sender, content }) => sender === id && content.includes("round 5")), { what: `${id} has answered the last` });
    const rows = await live.conversation(id);
    const heard = rows.filter(({ sender }) => sender === "player_0").map(({ content }) => content);
    assert.deepEqual(heard, accepted.filter(([to]) => to === id).map(([, message]) => message), "each once, in order");
    const said = (await live.events("?limit=1000")).filter(({ type, data }) => type === "live.agent_spoke" && data.agent_id === id);
    assert.equal(rows.filter(({ sender }) => sender === id).length, said.length, "a row for each word, a word for each row");
  }
});

test("kill -9 while a move is held and while one walks: both are carried out", async (t) => {
  await inMoreTime(["3s", "15s", "1m"], async (time) => {
    const minds = await Minds.start(t);
    minds.decide("Ada", { action: "speak", content: "A long story." });
    const live = await Live.started({ minds, live: { min_speech_time: time, max_speech_time: time } }, t);
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
