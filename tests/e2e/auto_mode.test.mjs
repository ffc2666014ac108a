// Auto mode over a real WebSocket: how it starts, goes on and ends, who walks where, and who may do what.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { cru_bin, noneLeft, waitFor } from "./harness.mjs";
import { allHome, begin, ended, models, startedAuto, talkers, written as transcriptOf } from "./harness/auto.mjs";
import { gate } from "./harness/live.mjs";

const isBeside = (a, b) => Math.abs(a.x - b.x) + Math.abs(a.y - b.y) === 1;
const facing = (from, to) => (Math.abs(to.x - from.x) > Math.abs(to.y - from.y) ? (to.x < from.x ? "left" : "right") : to.y < from.y ? "up" : "down");
const world = (live) => live.must(200, live.get("/world"));

test("AM-01, AM-09, AM-14: starting spawns two agents with distinct roles; the first is told the instruction and a topic of the pool", async (t) => {
  const minds = await talkers(t, ["I think that"]);
  const live = await startedAuto({ minds }, t);
  const [socket, other] = [await live.connect(), await live.connect()];
  const started = await begin(socket, { models });
  assert.equal(started.agentIds.length, 2);
  assert.equal(started.interactionPattern, "walk-to-agent");
  assert.equal(started.modelName, "test-model");
  assert.deepEqual(started.personaNames, ["Ada", "Bertrand"]);
  assert.equal((await other.waitFor("autoModeStarted")).seq, started.seq);
  const { agents } = await world(live);
  assert.deepEqual(agents.map(({ agent_id }) => agent_id).sort(), [...started.agentIds].sort());
  assert.equal(new Set(agents.map(({ role }) => role)).size, 2);
  const [first] = await minds.server.when(() => minds.server.requests.length >= 1).then(() => minds.server.requests);
  for (const words of [/Explore the topic deeply/, /follow-up questions/, /Debate constructively/, /genuinely exhausted/, /\[CONVERSATION_END\]/]) assert.match(first.text, words);
  assert.ok(first.text.endsWith(started.prompt), "the seed prompt comes after the instruction");
  assert.match(first.system, /You are Ada, the advocate/);
  assert.match(started.prompt, /\?/);
  await socket.must("autoModeState", { type: "stopAutoMode" });
});

test("AM-02, AM-03: each response goes word for word to the next in the rotation, and all are told agentMessage", async (t) => {
  const minds = await talkers(t, ["First words.\n\nIn two paragraphs.", "Second words.", "Third words.", "More words."]);
  const live = await startedAuto({ minds }, t);
  const [socket, other] = [await live.connect(), await live.connect()];
  const { agentIds } = await begin(socket, { models, agentCount: 3 });
  await socket.until(() => socket.of("agentMessage").length >= 4);
  const said = socket.of("agentMessage");
  assert.deepEqual(said.slice(0, 3).map(({ id, text }) => [id, text]), [[agentIds[0], "First words.\n\nIn two paragraphs."], [agentIds[1], "Second words."], [agentIds[2], "Third words."]]);
  assert.equal(said[3].id, agentIds[0], "the rotation begins again");
  const asked = minds.server.requests.map(({ text }) => text);
  assert.deepEqual(asked.slice(1, 4), ["First words.\n\nIn two paragraphs.", "Second words.", "Third words."]);
  assert.deepEqual(socket.of("autoModeTurnChange").slice(0, 4).map(({ respondingAgentId }) => respondingAgentId), [...agentIds, agentIds[0]]);
  assert.deepEqual(socket.of("autoModeTurnChange")[0].allAgentIds, agentIds);
  await other.until(() => other.of("agentMessage").length >= 3);
  assert.equal((await live.agent(agentIds[1])).last_message, socket.of("agentMessage", ({ id }) => id === agentIds[1]).at(-1).text);
  await socket.must("autoModeState", { type: "stopAutoMode" });
  assert.deepEqual(socket.problems(), []);
});

test("AM-04, AM-13: the keyword ends it at once, across the pieces of a stream; it is shown nowhere, and all go home", async (t) => {
  const silent = gate();
  const minds = await talkers(t, ["Let us begin.", { text: "We agree. [CONVERSATION_END] And I go on and on.", piece: 3, midway: () => silent.wait }]);
  minds.server.script((() => {
    let n = 0;
    return () => (++n === 1 ? { text: "Let us begin." } : { text: `We agree. [CONVERSATION_END]${" and on".repeat(200)}`, piece: 5, midway: () => silent.wait });
  })());
  const live = await startedAuto({ minds }, t);
  const socket = await live.connect();
  const { agentIds } = await begin(socket, { models });
  const over = await ended(socket);  // while the mind is still talking
  silent.open();
  assert.equal(over.reason, "keyword");
  const last = socket.of("agentMessage").at(-1);
  assert.deepEqual([last.id, last.text], [agentIds[1], "We agree."]);
  assert.ok(last.seq < over.seq);
  assert.doesNotMatch(JSON.stringify(socket.messages), /CONVERSATION_END/);
  assert.equal((await live.must(200, live.get("/auto"))).active, false);
  await allHome(live, agentIds);
  assert.equal(socket.of("autoModeEnded").length, 1);
});

test("AM-04: another keyword may be configured", async (t) => {
  const minds = await talkers(t, ["Nothing. [CONVERSATION_END]", "Now. <<DONE>>"]);
  const live = await startedAuto({ minds, settings: { auto_mode: { keyword: "<<DONE>>" } } }, t);
  const socket = await live.connect();
  await begin(socket, { models });
  assert.equal((await ended(socket)).reason, "keyword");
  assert.deepEqual(socket.of("agentMessage").map(({ text }) => text), ["Nothing. [CONVERSATION_END]", "Now."]);
});

test("AM-05, AM-06, AM-13: without a keyword the timer of the environment ends it, and the agents idle at their seats", async (t) => {
  const minds = await talkers(t, ["I go on."]);
  const live = await startedAuto({ minds, env: { PIXEL_AGENTS_AUTO_MODE_DURATION_MS: "4000" } }, t);
  const socket = await live.connect();
  const { agentIds, durationMs } = await begin(socket, { models });
  assert.equal(durationMs, 4000);
  assert.equal((await ended(socket)).reason, "timer");
  await allHome(live, agentIds);
  const asked = minds.server.requests.length;
  assert.equal((await socket.must("autoModeState", { type: "getAutoMode" })).reason, "timer");
  assert.equal(minds.server.requests.length, asked, "nobody thinks on");
});

test("AM-06: five minutes is the default, which nonsense does not change; setAutoModeTimeout does, also while it goes on", async (t) => {
  const minds = await talkers(t, ["I go on."]);
  const live = await startedAuto({ minds, env: { PIXEL_AGENTS_AUTO_MODE_DURATION_MS: "0" } }, t);
  const socket = await live.connect();
  assert.equal((await socket.must("autoModeState", { type: "getAutoMode" })).defaultDurationMs, 300_000);
  for (const durationMs of [0, -5, "soon", 1e12, 1.5, null]) {
    const { type, code, field } = await socket.ask({ type: "setAutoModeTimeout", durationMs });
    assert.deepEqual([type, code, field], ["error", "invalid_argument", "durationMs"], String(durationMs));
  }
  const refused = await socket.ask({ type: "startAutoMode", timeoutMs: 0 });
  assert.deepEqual([refused.type, refused.field], ["error", "timeoutMs"]);
  for (const agentCount of [1, 9]) assert.equal((await socket.ask({ type: "startAutoMode", agentCount })).field, "agentCount");
  const started = await begin(socket, { models });
  assert.equal(started.durationMs, 300_000, "the default is kept");
  await socket.waitFor("agentMessage");
  const answer = await socket.must("autoModeState", { type: "setAutoModeTimeout", durationMs: 100 });
  assert.equal(answer.durationMs, 100);
  assert.equal((await ended(socket)).reason, "timer");
});

test("AM-07: stopAutoMode ends it for everybody, in the middle of a turn too; stopping twice ends it once", async (t) => {
  const held = gate();
  const minds = await talkers(t, [async () => { await held.wait; return "too late"; }]);
  const live = await startedAuto({ minds }, t);
  const [socket, other] = [await live.connect(), await live.connect()];
  const { agentIds } = await begin(socket, { models });
  await minds.server.when(() => minds.server.requests.length >= 1);
  assert.equal((await socket.must("autoModeState", { type: "stopAutoMode" })).stopped, true);
  assert.equal((await ended(other)).reason, "user");
  held.open();
  assert.equal((await socket.must("autoModeState", { type: "stopAutoMode" })).stopped, false);
  await allHome(live, agentIds);
  assert.equal(socket.of("autoModeEnded").length, 1);
  assert.equal(socket.of("agentMessage").length, 0, "what comes too late is not said");
  // It can be started again, with the same agents.
  assert.deepEqual((await begin(socket)).agentIds, agentIds);
  assert.equal((await socket.ask({ type: "startAutoMode" })).code, "conflict");
  await socket.must("autoModeState", { type: "stopAutoMode" });
});

test("AM-08: a mind that fails again and again ends it with agent_exit, and says why", async (t) => {
  const minds = await talkers(t, [{ status: 400, body: JSON.stringify({ error: { type: "invalid_request_error", message: "no such thing" } }) }]);
  const live = await startedAuto({ minds }, t);
  const socket = await live.connect();
  const { agentIds } = await begin(socket, { models });
  const over = await ended(socket);
  assert.equal(over.reason, "agent_exit");
  assert.match(over.detail, /^Ada could not answer: /);
  await allHome(live, agentIds);
});

test("AM-08: an agent that leaves ends it with agent_exit", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  const { agentIds } = await begin(socket);
  await socket.must("agent_terminated", { type: "agent_terminate_request", agent_id: agentIds[1] });
  const over = await ended(socket);
  assert.deepEqual([over.reason, over.detail], ["agent_exit", "Bertrand left"]);
  await allHome(live, [agentIds[0]]);
  // Whoever is missing comes anew.
  const again = await begin(socket);
  assert.equal(again.agentIds[0], agentIds[0]);
  assert.notEqual(again.agentIds[1], agentIds[1]);
  await socket.must("autoModeState", { type: "stopAutoMode" });
});

test("AM-10: topics are drawn at random from the pool, or given", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  const drawn = new Set();
  for (let n = 0; n < 8; ++n) {
    drawn.add((await begin(socket)).prompt);
    await socket.must("autoModeState", { type: "stopAutoMode" });
  }
  assert.ok(drawn.size >= 3, [...drawn].join("\n"));
  assert.equal((await begin(socket, { topic: "Should cats vote?" })).prompt, "Should cats vote?");
  await socket.must("autoModeState", { type: "stopAutoMode" });
});

test("AM-11, AM-13: the responder walks beside the speaker, faces it, and only then speaks; afterwards both go back", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  const { agentIds } = await begin(socket);
  await socket.until(() => socket.of("agentMessage").length >= 3);
  const second = socket.of("agentMessage")[1];
  const spoke = socket.of("agent_speech", ({ agent_id }) => agent_id === agentIds[1])[0];
  const walk = socket.of("agent_moved", ({ agent_id }) => agent_id === agentIds[1])[0];
  const speaker = socket.of("agent_speech", ({ agent_id }) => agent_id === agentIds[0])[0].position;
  const arrived = walk.path.at(-1);
  assert.ok(isBeside(arrived, speaker), JSON.stringify([arrived, speaker]));
  assert.equal(walk.direction, facing(arrived, speaker));
  assert.deepEqual(spoke.position, arrived, "it speaks where it has arrived");
  assert.ok(spoke.at >= walk.t0_ms + ((walk.path.length - 1) / walk.speed) * 1000 - 50, "not on the way");
  assert.ok(second.seq > walk.seq);
  // The first one is beside it already: it stays, and answers.
  assert.equal(socket.of("agent_moved", ({ agent_id, seq }) => agent_id === agentIds[0] && seq < socket.of("agentMessage")[2].seq).length, 0);
  assert.equal(socket.of("agent_moved", ({ agent_id, seq }) => agentIds.includes(agent_id) && seq < walk.seq).length, 0, "nobody walks at the start");
  await socket.must("autoModeState", { type: "stopAutoMode" });
  await allHome(live, agentIds);
  assert.equal(socket.of("action_held").length, 0);
});

test("AM-12: where there is no way to the other, it stays, and the conversation goes on", async (t) => {
  // Two cells with a chair each, and a wall between them.
  const cols = 7, rows = 3;
  const tiles = Array.from({ length: cols * rows }, (_, i) => ([8, 9, 11, 12].includes(i) ? 1 : 0));
  const live = await startedAuto({ notes: { ".crucible/layout.json": JSON.stringify({ version: 1, cols, rows, tiles, furniture: [{ uid: "c1", type: "chair", col: 1, row: 1 }, { uid: "c2", type: "chair", col: 5, row: 1 }] }) } }, t);
  const socket = await live.connect();
  const { agentIds } = await begin(socket);
  await socket.until(() => socket.of("agentMessage").length >= 4);
  assert.equal(socket.of("agent_moved", ({ agent_id }) => agentIds.includes(agent_id)).length, 0);
  assert.equal(socket.of("autoModeEnded").length, 0);
  await socket.must("autoModeState", { type: "stopAutoMode" });
});

test("AM-14, AM-15: the pattern is told, and each keeps to its own: stay-at-desk moves nobody, meet-at-table leads to the table", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  const still = await begin(socket, { interactionPattern: "stay-at-desk" });
  assert.equal(still.interactionPattern, "stay-at-desk");
  await socket.until(() => socket.of("agentMessage").length >= 2);
  await socket.must("autoModeState", { type: "stopAutoMode" });
  assert.equal(socket.of("agent_moved", ({ seq }) => seq < socket.of("autoModeEnded")[0].seq).length, 0);
  await allHome(live, still.agentIds);
  const from = socket.mark;
  const meeting = await begin(socket, { interactionPattern: "meet-at-table" });
  const walk = await socket.waitFor(({ type, agent_id }) => type === "agent_moved" && meeting.agentIds.includes(agent_id), { from });
  const { layout } = await world(live);
  const table = layout.furniture.find(({ type }) => type === "table");
  const tiles = [0, 1, 2].flatMap((x) => [0, 1].map((y) => ({ x: table.col + x, y: table.row + y })));
  assert.ok(tiles.some((tile) => isBeside(tile, walk.path.at(-1))));
  assert.equal((await socket.ask({ type: "startAutoMode", interactionPattern: "dance" })).field, "interactionPattern");
  await socket.must("autoModeState", { type: "stopAutoMode" });
});

test("a person joins in; the transcript is a file; the command line shows it all", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  const start = await live.cru("auto", "start", "remote-work");
  assert.equal(start.code, 0, start.stderr);
  assert.match(start.stdout, /auto mode is on: remote-work[\s\S]*Ada \(advocate\), Bertrand \(skeptic\)/);
  await socket.waitFor("agentMessage");
  const said = await live.cru("auto", "say", "What about apprentices?", { env: { USER: "jo" } });
  assert.match(said.stdout, /^said in the conversation about remote-work; the next agent will respond to it\n$/);
  const spoke = await socket.waitFor("autoModePersonSpoke");
  assert.deepEqual([spoke.text, spoke.name], ["What about apprentices?", "jo"], "by the name that the members know");
  const over = await ended(socket);
  assert.equal(over.reason, "keyword", "the scripted ones come to an end by themselves");
  assert.ok(socket.of("agentMessage").length >= 8);
  assert.match((await live.cru("auto", "status")).stdout, /^auto mode is off; the last conversation was about remote-work\n  ended   (Ada|Bertrand) ended the conversation\.\n/);
  const { file, messages } = await transcriptOf(live);
  assert.ok(existsSync(live.path(file)));
  const written = readFileSync(live.path(file), "utf8");
  for (const { name, text } of messages) assert.ok(written.includes(text) && written.includes(name), text);
  assert.match(written, /ended_by: keyword[\s\S]*### jo \(a person, /);
  assert.match((await live.cru("auto", "show")).stdout, /jo: What about apprentices\?[\s\S]* ended the conversation\.\ntranscript: \.crucible\/conversations\//);
  assert.equal((await live.cru("auto", "say", "hello?")).code !== 0, true);
});

test("a client that comes late sees the true state, and a run may only look", async (t) => {
  const live = await startedAuto({}, t);
  const socket = await live.connect();
  const { agentIds, conversationId } = await begin(socket, { topic: "zoo" });
  await socket.waitFor("agentMessage");
  const late = await (await live.connect()).snapshot();
  assert.deepEqual([late.auto_mode.active, late.auto_mode.conversationId, late.auto_mode.agentIds, late.auto_mode.topic], [true, conversationId, agentIds, "zoo"]);
  await live.sh("sly", `for verb in stop start "timeout 1000" "say hello" join leave; do ${cru_bin} auto $verb >/dev/null 2>&1; echo "$verb: $?"; done; ${cru_bin} auto status; echo the end`);
  await live.outputWith("sly", "the end");
  const lines = (await live.output("sly")).map(({ data }) => data);
  for (const verb of ["stop", "start", "timeout 1000", "say hello", "join", "leave"]) assert.ok(lines.some((line) => line.startsWith(`${verb}: `) && !line.endsWith(": 0")), lines.join("\n"));
  assert.ok(lines.some((line) => line.includes("auto mode is on: zoo")), lines.join("\n"));
  assert.equal((await live.must(200, live.get("/auto"))).active, true);
  await socket.must("autoModeState", { type: "stopAutoMode" });
  const after = await (await live.connect()).snapshot();
  assert.deepEqual([after.auto_mode.active, after.auto_mode.reason], [false, "user"]);
});

test("programs are minds too, mixed with the scripted one; stopping ends the program in the middle of its turn", async (t) => {
  const live = await startedAuto({ standin: { replies: [{ when: "taking part in a conversation", steps: [{ say: "Claude begins." }] }, { steps: [{ hang: true }] }] } }, t);
  const socket = await live.connect();
  const { agentIds, modelName } = await begin(socket, { models: ["claude", "scripted"] });
  assert.equal(modelName, "claude, scripted");
  await socket.until(() => socket.of("agentMessage").length >= 2);
  assert.deepEqual(socket.of("agentMessage").slice(0, 2).map(({ id }) => id), agentIds);
  assert.equal(socket.of("agentMessage")[0].text, "Claude begins.");
  await waitFor(() => live.starts("claude").length >= 2, { what: "the program is asked again" });
  await socket.must("autoModeState", { type: "stopAutoMode" });
  await noneLeft(live, "after it was stopped");
  assert.equal((await ended(socket)).reason, "user");
});
