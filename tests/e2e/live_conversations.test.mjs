// Conversations: words to an agent that is speaking, several at once, agents among themselves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { inMoreTime, Live, Minds } from "./harness/live.mjs";

const say = (message, to) => ({ type: "chat_message", message, to });

test("what is said to an agent that speaks is heard when it has ended, and answered", async (t) => {
  await inMoreTime(["1500ms", "10s", "1m"], async (time) => {
    const minds = await Minds.start(t);
    minds.decide("Ada", { action: "speak", content: "A long story." }, { action: "speak", content: "Yes?" });
    const live = await Live.started({ minds, live: { min_speech_time: time, max_speech_time: time } }, t);
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
  const live = await Live.started({ minds, live: { listening_time: "700ms" } }, t);
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

test("RT-07: one agent speaks to another by its id, with a receipt; those near it listen and need not think", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds }, t);
  const socket = await live.connect();
  const at = (x) => ({ initial_position: { x, y: 5 } });
  const [bob, eve] = [await live.bring(socket, { name: "Bob", ...at(8) }), await live.bring(socket, { name: "Eve", ...at(9) })];
  const ada = await live.bring(socket, { name: "Ada", ...at(7) });
  minds.decide("Ada", { action: "speak", content: "Bob, a word.", recipient: bob }).decide("Bob", { action: "speak", content: "Yes, Ada?", recipient: ada });
  await socket.must("message_accepted", say("ask Bob", [ada]));
  const question = await socket.waitFor(({ content }) => content === "Bob, a word.");
  assert.deepEqual([question.agent_id, question.recipient, question.recipients], [ada, bob, [bob, eve]]);
  const answer = await socket.waitFor(({ content }) => content === "Yes, Ada?");
  assert.deepEqual([answer.agent_id, answer.recipient, answer.recipients], [bob, ada, [ada, eve]]);
  await socket.waitFor((one) => one.type === "message_receipt" && one.message_id === question.message_id && one.agent_id === bob && one.status === "acknowledged");
  await waitFor(async () => (await live.conversation(eve)).length === 2, { what: "Eve hears both" });
  assert.deepEqual((await live.conversation(eve)).map(({ sender, content, recipient }) => [sender, content, recipient]), [[ada, "Bob, a word.", bob], [bob, "Yes, Ada?", ada]]);
  await waitFor(async () => (await live.must(200, live.get(`/world/messages/${answer.message_id}`))).receipts.every(({ status }) => status === "acknowledged"), { what: "all acknowledge" });
  assert.deepEqual((await live.must(200, live.get(`/world/messages/${answer.message_id}`))).receipts, [ada, eve].sort().map((agent_id) => ({ agent_id, status: "acknowledged" })));
  assert.ok(!socket.states(eve).includes("speaking"));
  assert.match((await minds.thought("Bob")).text, /Bob, a word\./);
  assert.deepEqual((await live.conversation(bob)).map(({ sender, content, recipient }) => [sender, content, recipient]), [[ada, "Bob, a word.", bob], [bob, "Yes, Ada?", ada]]);
});

test("RT-12: a message to several names all of them in each one's conversation", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  const ids = [await live.bring(socket, { name: "Ada" }), await live.bring(socket, { name: "Bob" })];
  await socket.must("message_accepted", say("you two", ids));
  for (const id of ids) {
    const row = await waitFor(async () => (await live.conversation(id)).find(({ content }) => content === "you two"));
    assert.deepEqual([row.recipient, row.recipients], [ids.join(", "), ids]);
    assert.equal(live.sql(`SELECT recipient FROM agent_conversations WHERE agent_id='${id}' AND content='you two'`)[0].recipient, ids.join(", "));
  }
});

test("RT-06: words said aloud are delivered and acknowledged, and said so; one that does not listen has ignored them", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  await socket.must("space_state", { type: "join_space", user_id: "ann", x: 7, y: 5 });
  const ada = await live.bring(socket, { name: "Ada", initial_position: { x: 8, y: 5 } });
  const deaf = await live.bring(socket, { name: "Deaf", initial_position: { x: 9, y: 5 }, listens_to: { types: ["task_assigned"] } });
  const { message_id } = await socket.must("message_accepted", say("hello"));
  for (const status of ["delivered", "acknowledged"]) await socket.waitFor((one) => one.type === "message_receipt" && one.message_id === message_id && one.agent_id === ada && one.status === status);
  await waitFor(async () => (await live.must(200, live.get(`/world/messages/${message_id}`))).receipts.find(({ agent_id }) => agent_id === deaf)?.status === "ignored", { what: "nobody waits for one who will never hear it" });
  // A receipt does not go back, whatever happens meanwhile.
  for (let turn = 0; turn < 40; ++turn) {
    const happening = Array.from({ length: 4 }, () => live.must(202, live.post("/world/broadcast", { data: { turn } })));
    for (const { receipts } of await Promise.all(Array.from({ length: 8 }, () => live.must(200, live.get(`/world/messages/${message_id}`)))))
      assert.deepEqual(receipts, [{ agent_id: ada, status: "acknowledged" }, { agent_id: deaf, status: "ignored" }]);
    await Promise.all(happening);
  }
});

test("RT-04, RT-05, RT-10: an agent that is woken by the bus is told who moved, what was broadcast and who left", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds }, t);
  const socket = await live.connect();
  const bob = await live.bring(socket, { name: "Bob", cli_backend: "mock", initial_position: { x: 12, y: 5 } });
  const ida = await live.bring(socket, { name: "Ida", initial_position: { x: 5, y: 5 }, listens_to: { types: ["agent_moved", "agent_broadcast", "agent_removed"] } });
  const told = (what) => minds.server.when(() => minds.thoughts("Ida").some(({ text }) => what.every((part) => text.includes(part))));
  await socket.must("move_accepted", { type: "move_agent", agent_id: bob, x: 14, y: 5 });
  await told(["What has happened since you last decided", `"type":"agent_moved","agent_id":"${bob}","name":"Bob","x":14,"y":5`]);
  await live.must(202, live.post("/world/broadcast", { data: { alarm: "fire" } }));
  await told([`"type":"agent_broadcast","agent_id":"player_0","data":{"alarm":"fire"}`]);
  await socket.must("agent_terminated", { type: "agent_terminate_request", agent_id: bob });
  await told([`"type":"agent_removed","agent_id":"${bob}","name":"Bob"`]);
  assert.ok((await live.conversation(ida)).some(({ sender, content }) => sender === "player_0" && JSON.parse(content).data.alarm === "fire"), "a message that it received is a row");
});
