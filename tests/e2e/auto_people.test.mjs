// People who take part in a conversation of auto mode, with turns of their own: over the WebSocket, HTTP and the command line.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { begin, ended, models, startedAuto, talkers, written } from "./harness/auto.mjs";

const person = { env: { USER: "jo" } };
const turnOf = (socket, name, from = 0) => socket.waitFor(({ type, name: whose }) => type === "autoModePersonTurn" && whose === name, { from });

test("who joins has a turn after the agent who has it, is answered by the next one, and leaves again", async (t) => {
  const minds = await talkers(t, ["First words.", "Second words.", "More words."]);
  const live = await startedAuto({ minds }, t);
  const socket = await live.connect();
  const { agentIds, conversationId } = await begin(socket, { models });
  const joined = await live.cru("auto", "join", person);
  assert.match(joined.stdout, /^you take part in the conversation about .*; your turn comes after \w+, and passes after a minute without a message\n$/, joined.stderr);
  const { people, joined: has_joined, name } = await socket.waitFor("autoModePeopleChanged");
  assert.deepEqual([people, has_joined, name], [["jo"], true, "jo"]);
  assert.match((await live.cru("auto", "join", person)).stdout, /^you take part already /);
  const turn = await turnOf(socket, "jo");
  assert.equal(turn.conversationId, conversationId);
  assert.ok(turn.turnEndsAtMs > Date.now() && turn.turnEndsAtMs <= Date.now() + 60_000);
  const waiting = await live.must(200, live.get("/auto"));
  assert.deepEqual([waiting.respondingAgentId, waiting.personTurn, waiting.people], [null, "jo", ["jo"]]);
  assert.match((await live.cru("auto", "status")).stdout, /\n {2}people {2}jo\n {2}turn {4}\d+, of jo, a person\n/);
  const said = socket.of("agentMessage"), asked = minds.server.requests.length;
  const from = socket.mark;
  assert.equal((await live.cru("auto", "say", "And what of me?", person)).code, 0);
  const next = await socket.waitFor("autoModeTurnChange", { from });
  assert.ok(agentIds.includes(next.respondingAgentId));
  await minds.server.when(() => minds.server.requests.length > asked);
  const request = minds.server.requests[asked];
  const [, mark] = /\[(person-\w+)\]/.exec(request.text) ?? [];
  assert.equal(request.text, `${said.at(-1).text}\n\n[${mark}]\njo (a person), who takes part: And what of me?\n[/${mark}]`);
  assert.ok(request.system.includes(`between the marks [${mark}] and [/${mark}] only`), request.system);
  assert.match(request.system, /jo \(a person\)/);
  // A round later it is theirs again, and who leaves then holds nobody up.
  await turnOf(socket, "jo", from);
  const left = socket.mark;
  assert.match((await live.cru("auto", "leave", person)).stdout, /^you have left the conversation about .*; it continues without you\n$/);
  await socket.waitFor("agentMessage", { from: left });
  await socket.must("autoModeState", { type: "stopAutoMode" });
  const { messages } = await written(live, conversationId);
  assert.equal(messages.filter(({ name: who, text }) => who === "jo" && text === "And what of me?").length, 1);
});

test("joining and leaving over HTTP and the WebSocket, in a conversation beside the main one, and where there is none", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  const none = await socket.ask({ type: "joinAutoMode" });
  assert.deepEqual([none.type, none.code], ["error", "conflict"]);
  await begin(socket, { topic: "zoo" });
  const { conversationId } = await socket.must("autoModeState", { type: "startAutoMode", topic: "boredom", beside: true });
  const { joined, people } = await live.must(200, live.post("/auto/join", { id: conversationId, user_id: "kim" }));
  assert.deepEqual([joined, people], [true, ["kim"]]);
  assert.equal((await socket.waitFor("conversationPeopleChanged")).conversationId, conversationId);
  assert.equal((await socket.waitFor("conversationPersonTurn")).name, "kim");
  // Without an id it is about the one in which they take part.
  const from = socket.mark;
  await live.must(202, live.post("/auto/say", { content: "Here I am.", user_id: "kim" }));
  assert.equal((await socket.waitFor("conversationPersonSpoke", { from })).text, "Here I am.");
  assert.equal((await live.must(200, live.post("/auto/leave", { user_id: "kim" }))).left, true);
  assert.equal((await live.must(200, live.post("/auto/leave", { user_id: "kim", id: conversationId }))).left, false);
  assert.equal((await socket.must("autoModeState", { type: "joinAutoMode", conversationId })).joined, true);
  assert.equal((await socket.must("autoModeState", { type: "leaveAutoMode", conversationId })).left, true);
  assert.equal(socket.of("autoModePeopleChanged").length, 0, "the main one knows nothing of it");
  for (const id of ["one", "two", "three"]) await live.must(200, live.post("/auto/join", { user_id: id }));
  assert.equal((await live.post("/auto/join", { user_id: "four" })).status, 503);
  assert.deepEqual(socket.problems().filter(({ code }) => code !== "conflict"), []);
});

test("kill -9 in a person's turn: it is still theirs afterwards", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  await begin(socket, { topic: "zoo" });
  await live.cru("auto", "join", person);
  await turnOf(socket, "jo");
  await live.killDaemon();
  await live.startDaemon();
  const next = await live.connect();
  const { auto_mode } = await next.snapshot();
  assert.deepEqual([auto_mode.active, auto_mode.personTurn, auto_mode.people], [true, "jo", ["jo"]]);
  assert.equal((await live.cru("auto", "say", "I am back.", person)).code, 0);
  await next.waitFor("agentMessage");
  await live.cru("auto", "leave", person);
  assert.equal((await ended(next)).reason, "keyword");
  await waitFor(async () => (await live.must(200, live.get("/auto"))).people.length === 0);
});

test("people say only so much until an agent has spoken", async (t) => {
  const live = await startedAuto({ live: { scripted_delay: "1m" } }, t);
  const socket = await live.connect();
  await begin(socket, { topic: "zoo" });
  for (let n = 0; n < 8; ++n) await socket.must("autoModeState", { type: "sayAutoMode", text: `word ${n}` });
  const refused = await socket.ask({ type: "sayAutoMode", text: "one more" });
  assert.deepEqual([refused.type, refused.code, refused.field], ["error", "overloaded", "text"]);
  assert.equal((await live.must(200, live.get("/auto"))).lines, 8);
  await socket.must("autoModeState", { type: "stopAutoMode" });
});
