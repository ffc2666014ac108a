// Minds in trouble and minds in a queue: whose turn it is, who interrupts whom, words to nobody, places that are taken.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { gate, inMoreTime, Live, Minds } from "./harness/live.mjs";

const say = (message, ...to) => ({ type: "chat_message", message, to });
const steps = (one, other) => Math.abs(one.x - other.x) + Math.abs(one.y - other.y);
const at = (x, y) => ({ initial_position: { x, y } });
const speech = (socket, id, options) => socket.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === id, options);

test("a tile that somebody stands on is a conflict, from afar too, and the agent stays", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  const ada = await live.bring(socket, { name: "Ada", ...at(2, 5) });
  await live.bring(socket, { name: "Near", ...at(3, 5) });
  await live.bring(socket, { name: "Far", ...at(13, 6) });
  for (const [x, y] of [[3, 5], [13, 6]]) {
    const refused = await socket.ask({ type: "move_agent", agent_id: ada, x, y });
    assert.deepEqual([refused.type, refused.code, refused.field], ["error", "conflict", "x"], `${x},${y}: ${JSON.stringify(refused)}`);
    const { walk, position } = await live.agent(ada);
    assert.deepEqual([walk ?? null, position], [null, { x: 2, y: 5 }], `${x},${y}`);
  }
  // Its destination is somebody's tile from the beginning of the walk on.
  const walker = await live.bring(socket, { name: "Walker", ...at(7, 6) });
  await socket.must("move_accepted", { type: "move_agent", agent_id: walker, x: 9, y: 10 });
  assert.equal((await socket.ask({ type: "move_agent", agent_id: ada, x: 9, y: 10 })).code, "conflict");
  await socket.must("move_accepted", { type: "move_agent", agent_id: ada, x: 2, y: 6 });
  await waitFor(async () => (await live.agent(ada)).position.y === 6, { what: "a free tile is no conflict" });
  assert.equal(socket.of("agent_moved", ({ agent_id }) => agent_id === ada).length, 1);
});

test("a decision to go where somebody stands goes beside", async (t) => {
  const minds = await Minds.start(t);
  minds.decide("Ada", { action: "move", x: 13, y: 6, reason: "to Bob" });
  const live = await Live.started({ minds }, t);
  const socket = await live.connect();
  const bob = await live.bring(socket, { name: "Bob", cli_backend: "mock", ...at(13, 6) });
  const ada = await live.bring(socket, { name: "Ada", ...at(5, 6) });
  await socket.must("message_accepted", say("go to Bob", ada));
  const moved = await socket.waitFor("agent_moved");
  assert.equal(moved.agent_id, ada);
  assert.equal(steps(moved, { x: 13, y: 6 }), 1, `${moved.x},${moved.y}`);
  await waitFor(async () => steps((await live.agent(ada)).position, { x: 13, y: 6 }) === 1, { what: "it arrives beside" });
  assert.deepEqual((await live.agent(bob)).position, { x: 13, y: 6 });
  assert.equal((await live.agent(ada)).error, null);
});

test("collaborate: it walks beside the other, and proposes when it has arrived", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds }, t);
  const socket = await live.connect();
  const there = { x: 13, y: 6 };
  // It listens to nobody: an answer would come between.
  const bob = await live.bring(socket, { name: "Bob", cli_backend: "mock", ...at(there.x, there.y), listens_to: { senders: ["nobody_at_all"] } });
  const ada = await live.bring(socket, { name: "Ada", ...at(3, 6) });
  minds.decide("Ada", { action: "collaborate", with: bob, proposal: "Shall we pair?" });
  await socket.must("message_accepted", say("find somebody", ada));
  const proposal = await speech(socket, ada);
  const [moved, ...again] = socket.of("agent_moved", ({ agent_id }) => agent_id === ada);
  assert.deepEqual(again, [], "one walk");
  assert.ok(moved && moved.seq < proposal.seq, "it walks first");
  assert.ok(moved.path.length > 5 && steps(moved, there) === 1, JSON.stringify(moved.path));
  assert.deepEqual([proposal.content, proposal.recipients, proposal.position], ["Shall we pair?", [bob], { x: moved.x, y: moved.y }]);
  const arrives = moved.t0_ms + ((moved.path.length - 1) / moved.speed) * 1000;
  assert.ok(proposal.at >= arrives - 20, `said ${arrives - proposal.at} ms before it arrived`);
  const speaking = await socket.state(ada, "speaking");
  assert.ok(speaking.seq > moved.seq && speaking.old_state === "thinking");
});

test("words to somebody who does not exist are said to nobody: a wait, and the error is told", async (t) => {
  const minds = await Minds.start(t);
  const live = await Live.started({ minds }, t);
  const socket = await live.connect();
  const bob = await live.bring(socket, { name: "Bob", cli_backend: "mock", ...at(8, 5) });
  const ada = await live.bring(socket, { name: "Ada", ...at(7, 5) });
  const lost = [[{ action: "speak", content: "a secret", recipient: "agent_999" }, "agent_999"], [{ action: "speak", content: "another", recipient: "Nobody Here" }, "Nobody Here"], [{ action: "collaborate", with: "agent_777", proposal: "a third" }, "agent_777"]];
  for (const [decision, name] of lost) {
    minds.decide("Ada", decision);
    const from = socket.mark;
    await socket.must("message_accepted", say("well?", ada));
    const idle = await socket.state(ada, "idle", { from });
    assert.equal(idle.old_state, "thinking", "it has not spoken");
    assert.ok(idle.error?.includes(name), `${name}: ${idle.error}`);
    assert.ok((await live.agent(ada)).error?.includes(name));
  }
  // Bob hears what she says aloud, and has heard nothing before.
  minds.decide("Ada", { action: "speak", content: "aloud" });
  await socket.must("message_accepted", say("and now?", ada));
  await speech(socket, ada);
  await socket.state(bob, "listening");
  assert.deepEqual((await live.conversation(bob)).slice(0, 1).map(({ sender, content }) => [sender, content]), [[ada, "aloud"]]);
  assert.deepEqual(socket.of("agent_speech", ({ agent_id }) => agent_id === ada).map(({ content }) => content), ["aloud"]);
  assert.equal(socket.of("agent_moved", ({ agent_id }) => agent_id === ada).length, 0);
  assert.equal((await live.agent(ada)).error, null, "forgiven");
});

test("more thinkers than places: one at a time, in the order of asking, nobody starves", async (t) => {
  const minds = await Minds.start(t);
  const names = ["Ann", "Ben", "Cid", "Dan", "Eve"];
  // Nobody has thought before three others wait.
  const states = new Map();
  let is_over = false;
  t.after(() => { is_over = true; });
  const slowly = async () => {
    await waitFor(() => is_over || [...states.values()].filter((state) => state === "thinking").length >= 4, { what: "three wait" });
    return { action: "wait" };
  };
  names.forEach((name) => minds.decide(name, ...Array(50).fill(slowly)));
  const live = await Live.started({ minds, live: { idle_time: "100ms", max_concurrent_thoughts: 1 } }, t);
  const socket = await live.connect();
  socket.ws.on("message", () => { const { type, agent_id, state } = socket.messages.at(-1); if (type === "agent_state_update") states.set(agent_id, state); });
  const name_of = new Map();
  for (const name of names) name_of.set(await live.bring(socket, { name }), name);
  const rounds = 3;
  await minds.server.when(() => names.every((name) => minds.thoughts(name).length >= rounds));
  assert.equal(minds.server.max_open, 1, "one at a time");
  // Whoever began to wait first is asked first.
  const requests = minds.server.requests.filter(({ system }) => system);
  const asked = requests.map(({ system }) => names.find((name) => system.includes(JSON.stringify(name))));
  const waits = () => socket.of("agent_state_update", ({ state }) => state === "thinking");
  await socket.until(() => waits().length >= asked.length);
  assert.deepEqual(asked, waits().map(({ agent_id }) => name_of.get(agent_id)).slice(0, asked.length));
  for (const id of name_of.keys()) assert.equal((await live.agent(id)).error, null);
});

test("a mind that hangs keeps its place no longer than think_timeout; whoever waits longer is reported, and has its turn", async (t) => {
  const never = gate();
  t.after(() => never.open());
  await inMoreTime(["1500ms", "10s", "1m"], async (think_timeout) => {
    const minds = await Minds.start(t);
    minds.decide("First", () => never.wait).decide("Second", () => never.wait).decide("Third", { action: "speak", content: "my turn at last" });
    const live = await Live.started({ minds, live: { max_concurrent_thoughts: 1, think_timeout, max_retry_delay: "1h" } }, t);
    const socket = await live.connect();
    const ids = [];
    for (const name of ["First", "Second", "Third"]) ids.push(await live.bring(socket, { name }));
    for (const id of ids) {
      await socket.must("message_accepted", say("think!", id));
      await socket.state(id, "thinking");
    }
    const [first, second, third] = ids;
    const stuck = (id, why) => socket.of("agent_stuck", ({ agent_id, reason }) => agent_id === id && why.test(reason));
    await socket.until(() => stuck(third, /did not reply/).length || socket.of("agent_speech", ({ agent_id }) => agent_id === third).length, { what: "the third has its turn" });
    // Our own answer was too slow for the limit: that says nothing.
    if (stuck(third, /did not reply/).length) return live.close().then(() => false);
    const words = await speech(socket, third);
    assert.equal(words.content, "my turn at last");
    for (const id of [first, second]) assert.equal(stuck(id, /did not reply/).length, 1, id);
    const [waiting, ...more] = stuck(third, /waiting for a place to think/);
    assert.ok(waiting && waiting.seq < words.seq && Date.parse(waiting.since) > 0, "it is told that it waits");
    assert.deepEqual(more, [], "once");
    assert.equal((await live.agent(third)).error, null);
    // By the daemon's own times: the second had the place only when the first had lost it, and each had all of its time.
    const [lost, lost_too] = (await live.events("?type=live.agent_stuck&limit=1000")).filter(({ data }) => /did not reply/.test(data.reason)).map(({ timestamp }) => Date.parse(timestamp));
    assert.ok(lost_too - lost >= 1490, `${lost_too - lost} ms`);
    return true;
  });
});

/// A floor without furniture, walls around it.
const floor = (cols, rows = 12) => ({ version: 1, cols, rows, tiles: Array.from({ length: cols * rows }, (_, i) => (i % cols === 0 || i % cols === cols - 1 || i < cols || i >= cols * (rows - 1) ? 0 : 1)), furniture: [] });

test("an answer that was decided on the way and not yet said is not forgotten when somebody else interrupts", async (t) => {
  const minds = await Minds.start(t);
  // All of it has to happen on her way: a longer one, if the machine is too slow for a short one.
  await inMoreTime([20, 64], async (cols) => {
    const live = new Live({ minds, live: { hearing_distance: 16 } });
    t.after(() => live.close());
    live.write(".crucible/layout.json", JSON.stringify(floor(cols)));
    await live.startDaemon();
    const socket = await live.connect();
    const name = `Ada ${cols}`, there = { x: cols - 2, y: 10 };
    const ada = await live.bring(socket, { name, ...at(1, 10) });
    const tell = (user_id, content) => live.must(202, live.post("/world/say", { content, to: [ada], user_id }));
    // An error of hers, which the next decision takes away: so it is seen when she has decided.
    minds.decide(name, "no decision at all");
    await tell("player_zoe", "hello");
    await waitFor(async () => { const { error, state } = await live.agent(ada); return error && state === "idle"; }, { what: "she has an error" });

    minds.decide(name, { action: "speak", content: "for Ann only", recipient: "player_ann" });
    const { walk } = await socket.must("move_accepted", { type: "move_agent", agent_id: ada, ...there });
    const from = socket.mark;
    const spoke_too_soon = () => socket.of("agent_speech", ({ content }) => content === "for Ann only").length > 0;
    await tell("player_ann", "What do you carry?");
    await waitFor(async () => { const { error, state } = await live.agent(ada); return (error === null && state === "thinking") || spoke_too_soon(); }, { every: 5, what: "she has decided" });
    const is_open = (text, words) => text.split("\n").some((line) => line.includes(words) && line.endsWith("(unanswered)"));
    minds.decide(name, ({ text }) => ({ action: "speak", content: ["What do you carry?", "Where do you go?"].map((words) => is_open(text, words)).join(" and ") }));
    await tell("player_ben", "Where do you go?");
    const words = await speech(socket, ada, { from });
    if (spoke_too_soon()) return live.close().then(() => false);
    assert.equal(words.content, "true and true", "both questions were open");
    assert.deepEqual(words.position, there, "said on arrival");
    assert.ok(words.at >= walk.t0_ms + ((walk.path.length - 1) / walk.speed) * 1000 - 20);
    assert.deepEqual(socket.states(ada, from), ["listening", "thinking", "listening", "thinking", "speaking"]);
    return true;
  });
});

test("an agent that is interrupted again and again decides after at most four interruptions, and hears the rest then", async (t) => {
  const minds = await Minds.start(t);
  const held = Array.from({ length: 4 }, gate);
  t.after(() => held.forEach(({ open }) => open()));
  minds.decide("Ada", ...held.map(({ wait }, n) => async () => { await wait; return { action: "speak", content: n === 3 ? "Let me finish!" : "I was not interrupted." }; }));
  const live = await Live.started({ minds }, t);
  const socket = await live.connect();
  const ada = await live.bring(socket, { name: "Ada" });
  const sent = [];
  const interrupt = async () => {
    sent.push(`And ${sent.length}?`);
    await socket.must("message_accepted", say(sent.at(-1), ada));
  };
  const interruptions = () => socket.of("agent_state_update", ({ old_state, state }) => old_state === "thinking" && state === "listening").length;
  await interrupt();
  for (let n = 1; n <= 3; ++n) {
    await minds.thought("Ada", n);
    await interrupt();
    await socket.until(() => interruptions() === n, { what: `the thought ${n} is interrupted` });
  }
  // Words that come to the fourth thought wait for her on the bus, and she ends it.
  await minds.thought("Ada", 4);
  await interrupt();
  await waitFor(async () => (await live.agent(ada)).lag > 0, { what: "they wait for her" });
  held[3].open();
  const words = await speech(socket, ada);
  assert.equal(words.content, "Let me finish!");
  assert.ok(socket.of("agent_state_update", ({ seq, old_state, state }) => seq < words.seq && old_state === "thinking" && state === "listening").length <= 4);
  const heard = async () => (await live.conversation(ada)).filter(({ sender }) => sender === "player_0").map(({ content }) => content);
  await waitFor(async () => (await heard()).length === sent.length, { what: "all is heard in the end" });
  assert.deepEqual(await heard(), sent);
});
