// What a user sees of subagents while they work: at once, and in nobody's way.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { cast, report, spawning } from "./harness/cast.mjs";
import { gate } from "./harness/live.mjs";

const running = "→ Running worker agent...\n";

test("SA-29: the user reads that a subagent runs while it has not said a word yet", async (t) => {
  const held = gate();
  t.after(() => held.open());
  const { crew, asked } = await cast(t, { assistant: [{ text: "I ask.", tools: [spawning("worker", "w")] }, { text: "Woven." }], worker: async () => { await held.wait; return { text: report("Worked.") }; } });
  const chat = crew.spawn(["chat", "-m", "go"]);
  await waitFor(() => chat.text.stderr.includes(running), { what: "the user is told" });
  assert.ok(!asked("worker")[0]?.ended, "it is still at work");
  assert.ok(!/Worked|Woven/.test(chat.text.stdout + chat.text.stderr), "and nothing came of it so far");
  held.open();
  const { code, stdout, stderr } = await chat.ended;
  assert.equal(code, 0, stderr);
  assert.match(stdout, /Woven\./);
  assert.equal(stderr.split(running).length, 2, "said once");
});

test("SA-32: the user reads every update of a turn while it goes on, each once and in order", async (t) => {
  // Five subagents one after the other, two updates each. That none is late is shown in simulated time
  // (tests/sim/crew_stories_test.cc): here it would be the machine's speed that is measured.
  const parts = [1, 2, 3, 4, 5], held = parts.map(() => gate());
  t.after(() => held.forEach(({ open }) => open()));
  const { crew } = await cast(t, { assistant: ({ turn }) => (turn === 0 ? { text: "x", tools: parts.map((n) => spawning("worker", `part ${n}`)) } : { text: "done" }),
    worker: async ({ task }) => { await held[Number(task.match(/part (\d)/)[1]) - 1].wait; return { text: report(`Did ${task}.`) }; } });
  const chat = crew.spawn(["chat", "-m", "go"]);
  // Whole lines, however they came.
  const updates = () => chat.text.stderr.split("\n").slice(0, -1).filter((line) => /^→ Running worker agent\.\.\.$|^ {4}Did part \d\.$/.test(line));
  const expected = parts.flatMap((n) => ["→ Running worker agent...", `    Did part ${n}.`]);
  for (const [n, { open }] of held.entries()) {
    await waitFor(() => updates().length > 2 * n, { every: 5, what: `the user is told that subagent ${n + 1} runs` });
    assert.deepEqual(updates(), expected.slice(0, 2 * n + 1), chat.text.stderr);
    open();
  }
  assert.equal((await chat.ended).code, 0, chat.text.stderr);
  assert.deepEqual(updates(), expected, chat.text.stderr);
});

test("SA-32: an agent does not wait for one who does not read its updates", async (t) => {
  const held = gate();
  t.after(() => held.open());
  const { crew, asked } = await cast(t, { assistant: [{ text: "I ask.", tools: [spawning("worker", "1"), spawning("worker", "2")] }, { text: "Woven." }],
    worker: async ({ task }) => { await held.wait; return { text: report(`Did ${task}.`) }; } });
  const reader = crew.spawn(["chat", "-m", "go"]);
  await waitFor(() => reader.text.stderr.includes(running), { what: "the first subagent runs" });
  process.kill(reader.pid, "SIGSTOP");
  held.open();
  const [{ id }] = await crew.chats();
  await waitFor(() => asked("assistant").length === 2 && asked("assistant")[1].ended, { what: "the primary has thought on" });
  await waitFor(async () => (await crew.must(200, crew.get(`/chats/${id}`))).turn === "idle", { what: "the turn is over without a reader" });
  assert.doesNotMatch(reader.text.stdout, /Woven/);
  process.kill(reader.pid, "SIGCONT");
  const { code, stdout, stderr } = await reader.ended;
  assert.equal(code, 0, stderr);
  assert.match(stderr, /Did 1\.\n→ Running worker agent\.\.\.\n {4}Did 2\.\n/, "it reads all of it when it reads again");
  assert.match(stdout, /Woven\./);
  const folder = crew.folderOf({ id });
  assert.match(readFileSync(`${folder}/session.md`, "utf8"), /Woven\./);
});
