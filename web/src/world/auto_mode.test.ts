import assert from "node:assert/strict";
import { test } from "node:test";
import { applyAutoMode, applyBeside, castProblem, countdownText, endText, firstQuestion, no_auto_mode, readAutoMode, readBeside, speakerOf, turnLeftText, withLines, type AutoMode } from "./auto_mode.ts";

const started = { type: "autoModeStarted", agentIds: ["agent_001", "agent_002"], personaNames: ["Ada", "Bertrand"], roles: ["advocate", "skeptic"], interactionPattern: "walk-to-agent", modelName: "scripted", topic: "bees", prompt: "Bees?", durationMs: 300_000, endsAtMs: 1_300_000, conversationId: "c1" };

test("AM-08: auto mode follows the server's word, and says why it ended", () => {
  let auto = applyAutoMode(no_auto_mode, started);
  assert.equal(auto.is_active, true);
  assert.deepEqual(auto.cast, [{ agent_id: "agent_001", name: "Ada", role: "advocate" }, { agent_id: "agent_002", name: "Bertrand", role: "skeptic" }]);
  assert.equal(countdownText(auto, 1_000_000), "5:00");
  assert.equal(countdownText(auto, 1_079_000), "3:41");
  assert.equal(countdownText(auto, 9_000_000), "0:00");
  auto = applyAutoMode(auto, { type: "autoModeTurnChange", respondingAgentId: "agent_002", allAgentIds: [] });
  assert.equal(auto.responding, "agent_002");
  auto = applyAutoMode(auto, { type: "agentMessage", id: "agent_002", name: "Bertrand", text: "No.", number: 2, atMs: 5, conversationId: "c1" });
  auto = withLines(auto, [{ number: 1, agent_id: "agent_001", name: "Ada", text: "Yes.", at_ms: 4 }, { number: 2, agent_id: "agent_002", name: "Bertrand", text: "No.", at_ms: 5 }]);
  assert.deepEqual(auto.lines.map((line) => line.text), ["Yes.", "No."]);
  auto = applyAutoMode(auto, { type: "autoModeEnded", reason: "keyword", detail: "Ada ended the conversation" });
  assert.equal(auto.is_active, false);
  assert.equal(endText(auto), "Ada ended the conversation.");
});

test("whoever looks at the page is called you there, and by its name everywhere else", () => {
  const line = { number: 1, agent_id: "", name: "jo", text: "Hm.", at_ms: 0 };
  assert.deepEqual([speakerOf(line, "jo"), speakerOf(line, "kim"), speakerOf({ ...line, agent_id: "agent_001" }, "jo")], ["You", "jo", "jo"]);
});

test("a person's turn is shown until it passes or they speak", () => {
  let auto = applyAutoMode(no_auto_mode, started);
  auto = applyAutoMode(auto, { type: "autoModePeopleChanged", name: "jo", joined: true, people: ["jo"] });
  assert.deepEqual(auto.people, ["jo"]);
  auto = applyAutoMode({ ...auto, responding: "agent_001" }, { type: "autoModePersonTurn", name: "jo", turn: 2, turnEndsAtMs: 1_060_000 });
  assert.deepEqual([auto.person_turn, auto.responding, turnLeftText(auto, 1_000_000), turnLeftText(auto, 1_090_000)], ["jo", "", "1:00", "0:00"]);
  assert.equal(applyAutoMode(auto, { type: "autoModeTurnChange", respondingAgentId: "agent_002" }).person_turn, "");
  assert.equal(applyAutoMode(auto, { type: "autoModeEnded", reason: "timer" }).person_turn, "");
  const read = readAutoMode({ ...started, active: true, people: ["jo", "kim"], personTurn: "kim", personTurnEndsAtMs: 5 }, no_auto_mode);
  assert.deepEqual([read.people, read.person_turn, read.turn_ends_at_ms], [["jo", "kim"], "kim", 5]);
});

test("a snapshot tells the true state; another conversation begins with no lines", () => {
  const auto = withLines(readAutoMode({ ...started, active: true }, no_auto_mode), [{ number: 1, agent_id: "a", name: "Ada", text: "Yes.", at_ms: 4 }]);
  assert.equal(readAutoMode({ ...started, active: false, reason: "timer" }, auto).lines.length, 1);
  assert.equal(readAutoMode({ ...started, conversationId: "c2", active: true }, auto).lines.length, 0);
  assert.equal(readAutoMode({ active: false }, auto).is_active, false);
  assert.equal(readAutoMode(null, auto), auto);
});

test("conversations beside the main one are apart from it, and what is said goes to its own", () => {
  const main = applyAutoMode(no_auto_mode, started);
  const begun = { ...started, type: "conversationStarted", conversationId: "c2", topic: "wasps" };
  assert.equal(applyAutoMode(main, begun), main, "the main one knows nothing of it");
  let beside = applyBeside(new Map<string, AutoMode>(), begun);
  assert.equal(applyBeside(beside, { ...started }), beside, "nor the other way round");
  const line = { type: "agentMessage", id: "a", name: "Ada", text: "Yes.", number: 1, atMs: 4 };
  beside = applyBeside(applyBeside(beside, { ...line, conversationId: "c2" }), { ...line, number: 2, conversationId: "c1" });
  assert.deepEqual(beside.get("c2")!.lines.map(({ number }) => number), [1]);
  beside = applyBeside(beside, { type: "conversationEnded", conversationId: "c2", reason: "budget", detail: "" });
  assert.deepEqual([beside.get("c2")!.is_active, endText(beside.get("c2")!)], [false, "its budget was used up."]);
  for (let n = 0; n < 30; ++n) beside = applyBeside(applyBeside(beside, { ...begun, conversationId: `d${n}` }), { type: "conversationEnded", conversationId: `d${n}`, reason: "user" });
  assert.equal(beside.size, 20, "of those that are over the newest stay");
  const known = readBeside([{ ...begun, active: true, conversationId: "d29" }, null, { conversationId: "" }], beside);
  assert.deepEqual([...known.keys()], ["d29"]);
});

test("a cast has two to eight agents, and a topic of the list is shown by its question", () => {
  assert.deepEqual([0, 1, 2, 8, 9].map(castProblem), ["Choose at least two agents.", "Choose at least two agents.", "", "", "Choose at most eight agents."]);
  assert.equal(firstQuestion("Is it right? Argue from cases."), "Is it right?");
  assert.equal(firstQuestion("The future of work"), "The future of work");
});

test("why it ended is the end of a sentence, in the daemon's words where it has some", () => {
  const of = (reason: string, detail: string) => endText({ ...no_auto_mode, reason, detail });
  assert.deepEqual([of("user", "stopped by jo"), of("timer", ""), of("tool", "Ada ended the conversation: enough!"), of("", "x")], ["stopped by jo.", "its time was over.", "Ada ended the conversation: enough!", ""]);
});
