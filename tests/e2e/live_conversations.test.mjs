// Conversations: words to an agent that is speaking, several at once, agents among themselves.
import assert from "node:assert/strict";
import { test } from "node:test";
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
