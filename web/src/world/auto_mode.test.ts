import assert from "node:assert/strict";
import { test } from "node:test";
import { applyAutoMode, applyBeside, countdownText, endText, no_auto_mode, readAutoMode, readBeside, withLines, type AutoMode } from "./auto_mode.ts";
import { placeBubbles, type Box } from "./bubbles.ts";

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
  assert.equal(endText(auto), "the agents ended it (Ada ended the conversation)");
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
  assert.deepEqual([beside.get("c2")!.is_active, endText(beside.get("c2")!)], [false, "its budget was used up"]);
  for (let n = 0; n < 30; ++n) beside = applyBeside(applyBeside(beside, { ...begun, conversationId: `d${n}` }), { type: "conversationEnded", conversationId: `d${n}`, reason: "user" });
  assert.equal(beside.size, 20, "of those that are over the newest stay");
  const known = readBeside([{ ...begun, active: true, conversationId: "d29" }, null, { conversationId: "" }], beside);
  assert.deepEqual([...known.keys()], ["d29"]);
});

test("bubbles do not overlap, and the newest always has room", () => {
  let seed = 7;
  const chance = (end: number) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % end; };
  for (let round = 0; round < 300; ++round) {
    const wanted = Array.from({ length: 1 + chance(8) }, () => {
      const y = 30 + chance(400);
      return { width: 60 + chance(130), height: 22 + chance(30), x: chance(800), head: y, foot: y + 40 };
    });
    const boxes = placeBubbles(wanted, 800, 480);
    assert.ok(boxes.at(-1), "the newest");
    const drawn = boxes.filter((box): box is Box => box !== null);
    drawn.forEach((a, i) => drawn.slice(i + 1).forEach((b) => assert.ok(a.left >= b.left + b.width || b.left >= a.left + a.width || a.top >= b.top + b.height || b.top >= a.top + a.height)));
    for (const box of drawn) assert.ok(box.left >= 0 && box.left + box.width <= 800 && box.top >= 0 && box.top + box.height <= 480);
  }
});
