// Several conversations of auto mode at once: each with its id and its agents; what a client sees that knows of one only.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { allHome, begin, ended, models, startedAuto, talkers, written } from "./harness/auto.mjs";
import { gate } from "./harness/live.mjs";

const slow = { live: { scripted_delay: "200ms", min_speech_time: "500ms" } };
const beside = (socket, wishes = {}) => socket.must("autoModeState", { type: "startAutoMode", beside: true, ...wishes });

test("a second one goes on beside the first, with agents of its own; a client that knows no ids sees the first only", async (t) => {
  const live = await startedAuto(slow, t);
  const socket = await live.connect();
  const main = await begin(socket, { topic: "zoo" });
  assert.equal((await socket.ask({ type: "startAutoMode" })).code, "conflict", "not by accident");
  const other = await beside(socket, { topic: "privacy", agentCount: 3 });
  assert.deepEqual([other.active, other.beside, other.personaNames], [true, true, ["Clara", "Dario", "Elif"]]);
  assert.notEqual(other.conversationId, main.conversationId);
  assert.equal(main.agentIds.filter((id) => other.agentIds.includes(id)).length, 0, "an agent is in one conversation");
  await socket.waitFor(({ type, conversationId }) => type === "agentMessage" && conversationId === other.conversationId);

  // Of the second one it is told in words of its own.
  const told = await socket.waitFor("conversationStarted");
  assert.deepEqual([told.conversationId, told.topic, told.agentIds], [other.conversationId, "privacy", other.agentIds]);
  await socket.waitFor("conversationTurnChange");
  assert.deepEqual([...new Set(socket.messages.filter(({ type }) => type.startsWith("autoMode") && type !== "autoModeState").map(({ conversationId }) => conversationId))], [main.conversationId]);

  // Late clients see both, and what has no id is about the first.
  const late = await (await live.connect()).snapshot();
  assert.equal(late.auto_mode.conversationId, main.conversationId);
  assert.deepEqual(late.all_pages.flatMap(({ conversations = [] }) => conversations).map(({ conversationId, active, topic }) => [conversationId, active, topic]), [[other.conversationId, true, "privacy"]]);
  assert.equal((await socket.must("autoModeState", { type: "getAutoMode" })).conversationId, main.conversationId);
  assert.equal((await socket.must("autoModeState", { type: "getAutoMode", conversationId: other.conversationId })).topic, "privacy");

  // A person's word, a limit and an end, each by its id.
  await socket.must("autoModeState", { type: "sayAutoMode", text: "What about the kitchen?", conversationId: other.conversationId });
  assert.equal((await socket.waitFor("conversationPersonSpoke")).conversationId, other.conversationId);
  await socket.must("autoModeState", { type: "setAutoModeTimeout", durationMs: 3_600_000, conversationId: other.conversationId });
  assert.equal((await socket.waitFor("conversationTimeoutSet")).durationMs, 3_600_000);
  assert.equal((await socket.must("autoModeState", { type: "getAutoMode" })).defaultDurationMs, 300_000, "of this one only");
  assert.equal((await socket.must("autoModeState", { type: "stopAutoMode", conversationId: other.conversationId })).stopped, true);
  assert.equal((await socket.waitFor("conversationEnded")).reason, "user");
  assert.equal(socket.of("autoModeEnded").length, 0);
  assert.equal((await socket.must("autoModeState", { type: "getAutoMode" })).active, true);
  for (const request of [{ type: "stopAutoMode" }, { type: "sayAutoMode", text: "x" }, { type: "getAutoMode" }]) assert.equal((await socket.ask({ ...request, conversationId: "nobody" })).code, "not_found");
  await socket.must("autoModeState", { type: "stopAutoMode" });
  assert.equal((await ended(socket)).conversationId, main.conversationId);
  await allHome(live, [...main.agentIds, ...other.agentIds]);
  assert.deepEqual(socket.problems(), []);
});

test("the first one may end before the second: then the next is the first again, and nobody plays twice", async (t) => {
  const live = await startedAuto(slow, t);
  const socket = await live.connect();
  const main = await begin(socket, { topic: "zoo" });
  const other = await beside(socket, { topic: "privacy" });
  await socket.must("autoModeState", { type: "stopAutoMode" });
  assert.equal((await live.must(200, live.get("/auto"))).active, false, "what a client sees that knows no ids");
  const from = socket.mark;
  const next = await begin(socket, { topic: "boredom", agentCount: 8 });
  assert.equal(next.agentIds.filter((id) => other.agentIds.includes(id)).length, 0);
  assert.deepEqual(next.agentIds.slice(0, 2), main.agentIds, "those who are free play again");
  assert.equal(new Set(next.personaNames).size, 8);
  assert.equal((await socket.waitFor("autoModeStarted", { from })).conversationId, next.conversationId);
  await socket.must("autoModeState", { type: "stopAutoMode", conversationId: other.conversationId });
  await socket.must("autoModeState", { type: "stopAutoMode" });
});

test("the command line: start --beside, list, and --id", async (t) => {
  const live = await startedAuto(slow, t);
  assert.match((await live.cru("auto", "list")).stdout, /no conversation; start one/);
  await live.cru("auto", "start", "Should cats vote?");
  const refused = await live.cru("auto", "start", "zoo");
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /--beside/);
  const { conversationId: id } = JSON.parse((await live.cru("auto", "start", "zoo", "--beside", "--json")).stdout);
  const listed = (await live.cru("auto", "list")).stdout.trim().split("\n");
  assert.deepEqual([listed.length, listed[0].split(/ +/)], [3, ["ID", "TOPIC", "MESSAGES", "STATE"]]);
  assert.match(listed.find((line) => line.startsWith(id)), / zoo +\d+ +in progress, beside$/);
  assert.match((await live.cru("auto", "status", "--id", id)).stdout, /auto mode is on: zoo/);
  assert.equal((await live.cru("auto", "say", "hello", "--id", id)).code, 0);
  assert.equal((await live.cru("auto", "stop", "--id", id)).code, 0);
  assert.equal((await live.cru("auto", "list", "--active")).stdout.trim().split("\n").length, 2);
  assert.equal((await live.cru("auto", "stop", "--id", "nobody")).code, 3);
  // The beginning of an id is enough, and so is its end; a word does as well as a flag.
  for (const words of [["status", "--id", id], ["status", id], ["show", "--id", id], ["show", id], ["show", id.slice(0, -2)], ["show", id.split("-").at(-1)]]) {
    const shown = await live.cru("auto", ...words);
    assert.match(shown.stdout, /zoo/, `${words}: ${shown.stderr}`);
  }
  await live.cru("auto", "stop");
  // A topic of one's own stands at its head once.
  const shown = (await live.cru("auto", "show")).stdout;
  assert.equal(shown.split("\n").filter((line) => line === "Should cats vote?").length, 1, shown);
});

test("the command line: where only one beside goes on, it is shown, joined and read, and stopped only by its id", async (t) => {
  const live = await startedAuto(slow, t);
  await live.cru("auto", "start", "boredom");
  const started = await live.cru("auto", "start", "zoo", "--beside");
  const id = /^  id +(\S+)$/m.exec(started.stdout)[1];
  assert.match(started.stderr, new RegExp(`cru auto show ${id},`));
  assert.match((await live.cru("auto", "stop")).stdout, new RegExp(`^stopped: boredom\n[^]*still in progress: zoo\n[^]*${id}`));
  assert.match((await live.cru("auto", "status")).stdout, new RegExp(`^no main conversation is in progress\nin progress: zoo\n[^]*${id}`));
  assert.match((await live.cru("auto", "say", "And the bears?")).stdout, /^said in the conversation about zoo;/);
  assert.match((await live.cru("auto", "show")).stdout, /And the bears\?/);
  assert.match((await live.cru("auto")).stdout, /zoo/);
  assert.match((await live.cru("auto", "stop")).stdout, /^no main conversation is in progress\nin progress: zoo/, "one that was not meant goes on");
  assert.match((await live.cru("auto", "timeout", "10m")).stdout, /^no main conversation is in progress; conversations that start from now on may last 10m00s/);
  assert.match((await live.cru("auto", "stop", id)).stdout, /^stopped: zoo/);
  assert.match((await live.cru("auto", "status")).stdout, /^auto mode is off; the last conversation was about boredom\n  ended   Stopped by /);
});

test("transcripts link to each other and to definitions, and are found with the notes", async (t) => {
  const live = await startedAuto({ agents: { gardener: { prompt: "You are a gardener." } } }, t);
  const socket = await live.connect();
  const finish = async (wishes) => {
    const from = socket.mark;
    const { conversationId } = await begin(socket, wishes);
    await ended(socket, from);
    return written(live, conversationId);
  };
  const first = await finish({ topic: "remote-work", definitions: ["gardener"], agentCount: 2 });
  const second = await finish({ topic: "Should zeppelins deliver the post?" });
  const read = ({ file }) => readFileSync(live.path(file), "utf8");
  assert.equal(first.file, `.crucible/conversations/${first.conversationId}.md`);
  await waitFor(() => read(first).includes(`next: "[[${second.conversationId}]]"`), { what: "the first one links to the second" });
  assert.match(read(first), /- \[\*\*gardener\*\*\]\(<\.\.\/\.\.\/\.crucible\/agents\/gardener\.md>\), /);
  assert.ok(read(second).includes(`- Previous conversation: [[${first.conversationId}]]`));
  const { results } = await waitFor(async () => {
    const found = await live.must(200, live.get("/notes/search?query=zeppelins%20post"));
    return found.results[0]?.path === second.file && found;
  }, { what: "it is found" });
  assert.equal(results[0].title, "Conversation: Should zeppelins deliver the post?");
  const note = await live.cru("notes", "read", `[[${first.conversationId}]]`);
  assert.match(note.stdout, /open office/, note.stderr);
});

test("however many conversations go on, a provider is asked by a few of them at a time", async (t) => {
  const held = gate();
  t.after(() => held.open());
  const minds = await talkers(t, [async () => { await held.wait; return "At last. [CONVERSATION_END]"; }]);
  const live = await startedAuto({ minds, live: { max_concurrent_thoughts: 2 } }, t);
  const socket = await live.connect();
  for (let n = 0; n < 5; ++n) await beside(socket, { models });
  await minds.server.when(() => minds.server.requests.length >= 2);
  const { conversations } = await live.must(200, live.get("/auto/conversations?active=true"));
  assert.deepEqual([conversations.length, minds.server.requests.length], [5, 2]);
  held.open();
  await waitFor(async () => (await live.must(200, live.get("/auto/conversations"))).conversations.every(({ reason }) => reason === "keyword"), { what: "each has had its turn" });
});

test("beside another one the parts of the built-in script follow the chosen personas, not their order", async (t) => {
  const silent = gate();
  t.after(() => silent.open());
  const minds = await talkers(t, [async () => { await silent.wait; return "At last."; }]);
  const live = await startedAuto({ minds, live: { min_speech_time: "20ms", speech_per_character: "0ms", scripted_delay: "10ms", idle_time: "1h" } }, t);
  const topic = "Should cats vote?", still = { interaction_pattern: "stay-at-desk" };
  await live.must(201, live.post("/auto/start", { topic: "zoo", cli_backends: models, ...still }));
  const { conversationId } = await live.must(201, live.post("/auto/start", { topic, beside: true, personas: ["Bertrand", "Clara", "Ada"], ...still }));
  const { messages } = await written(live, conversationId);
  const [first, second, third] = messages;
  assert.match(first.name, /^Bertrand/);
  assert.match(first.text, /I hold that cats should not vote/, "the skeptic objects, also when it begins");
  assert.match(second.name, /^Clara/);
  assert.match(second.text, /\?$/, "the questioner asks");
  assert.match(third.name, /^Ada/);
  assert.match(third.text, /My claim is that cats should vote/, "the advocate claims");
});
