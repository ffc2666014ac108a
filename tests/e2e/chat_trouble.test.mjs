// Chats in trouble: stopped at any moment, models that repeat themselves or never end, callers that may not, files in other hands.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { random, sleep, waitFor } from "./harness.mjs";
import { cast, filed, isRunning, long, report, running, spawning, told } from "./harness/cast.mjs";
import { gate } from "./harness/live.mjs";

const three = [1, 2, 3].map((n) => spawning("worker", `part ${n}`));
const summaries = (requests) => told(requests).map(({ text }) => /## Summary\n\n(.*)/.exec(text)?.[1]);

test("a turn that is stopped at any moment leaves nothing running, and the chat goes on", async (t) => {
  const { crew, server } = await cast(t, { assistant: ({ text }) => (/^go/.test(text) ? { text: "x", delayMs: 5, tools: three } : { text: "Fine." }), worker: ({ task }) => (task === "part 2" ? { hang: true } : { text: report(task), delayMs: 4 }) });
  const chance = random(5);
  const chat = await crew.chat({ title: "Stopped" });
  for (let round = 0; round < 15; ++round) {
    await chat.say(`go ${round}`, { wait: false });
    await sleep(chance() * 70);
    const [stopped] = await Promise.all([chat.cancel(), chat.cancel()]);
    assert.equal(stopped.turn, "idle", `round ${round}`);
    const left = stopped.subagents.filter(({ status }) => ["queued", "running"].includes(status));
    assert.deepEqual(left, [], `round ${round}`);
  }
  await chat.say("and now?");
  assert.equal(await chat.answer(), "Fine.");
  await server.when(({ open }) => open === 0);
  assert.deepEqual(server.refused, []);
  await chat.end();
  await filed(chat);
});

test("what a reply has cost that came to nothing counts", async (t) => {
  const { crew, server } = await cast(t, { assistant: () => ({ text: "Half of what it says. ".repeat(20), piece: 7, hang: "middle" }) });
  const chat = await crew.chat({ message: "go" }, { wait: false });
  await chat.heard("chat.text");
  await chat.cancel();
  const stopped = await chat.record();
  assert.ok(stopped.total_tokens > 0, JSON.stringify(stopped));
  assert.ok(stopped.cost_usd > 0, JSON.stringify(stopped));
  server.script({ text: "Well." });
  await chat.say("and now?");
  assert.ok((await chat.record()).total_tokens > stopped.total_tokens);
});

/// A crew whose worker runs a command that does not want to end; `ran` tells whether it was begun.
async function stubborn(t, options) {
  const { crew } = await cast(t, { assistant: ({ turn }) => (turn % 2 === 0 ? { text: "x", tools: [spawning("worker", "w")] } : { text: "done" }),
    worker: ({ turn }) => (turn === 0 ? { text: "I run it.", tools: [running(`echo x >> ran.txt; trap '' TERM; sleep ${long} & sleep ${long}; true`)] } : { text: report("ran") }) }, options);
  return { crew, ran: () => existsSync(crew.path("ran.txt")) };
}

test("a command ends with its agent that is out of time", async (t) => {
  const { crew, ran } = await stubborn(t, { settings: { crew: { delegation_timeout: "2s" } } });
  const chat = await crew.chat({ message: "go", permissions: ["all"] });
  // On a slow machine the time may be over before the command is begun: then once more.
  while (!ran()) await chat.say("again");
  await waitFor(() => !isRunning(long), { what: "the command is gone" });
  for (const { error_type } of (await chat.record()).subagents) assert.equal(error_type, "timed_out");
  await filed(chat);
});

test("a command ends with its agent that is stopped", async (t) => {
  const { crew, ran } = await stubborn(t);
  const chat = await crew.chat({ message: "go", permissions: ["all"] }, { wait: false });
  await waitFor(() => ran() && isRunning(long), { what: "the command runs" });
  await chat.cancel();
  await waitFor(() => !isRunning(long), { what: "the command is gone" });
  assert.deepEqual((await chat.record()).subagents.map(({ status }) => status), ["cancelled"]);
  await filed(chat);
});

test("a model that never ends is ended, and the chat goes on in a form that the API takes", async (t) => {
  const { crew, server, asked } = await cast(t, { assistant: ({ text }) => (/^enough/.test(text) ? { text: "Well." } : { text: "More.", tools: [{ name: "list_notes", input: {} }] }) }, { settings: { crew: { max_model_calls: 3 } } });
  const chat = await crew.chat({ message: "go" });
  assert.equal((await chat.idle()).error.type, "turn_limit");
  assert.equal(asked("assistant").length, 3);
  await chat.say("enough");
  assert.equal(await chat.answer(), "Well.");
  assert.deepEqual(server.refused, []);
});

const openai = { models: { sonnet: { provider: "openai", id: "m" } }, providers: { openai: { retries: 0 } } };

test("a model that gives every use of a tool the same id has each done", async (t) => {
  const { crew, asked } = await cast(t, { assistant: ({ turn }) => (turn < 2 ? { text: "x", tools: [{ ...spawning("worker", `part ${turn}`), id: "call_0" }] } : { text: "done" }), worker: ({ task }) => ({ text: report(task) }) }, openai);
  const chat = await crew.chat({ message: "go" });
  assert.equal(await chat.answer(), "done");
  assert.deepEqual(summaries(asked("assistant")), ["part 0", "part 1"]);
});

test("so has one that gives two uses in a reply one id, or none", async (t) => {
  for (const id of ["", "call_0"]) {
    const { crew, server, asked } = await cast(t, { assistant: ({ turn }) => (turn === 0 ? { text: "x", tools: three.map((use) => ({ ...use, id })) } : { text: "done" }), worker: ({ task }) => ({ text: report(task) }) }, openai);
    const chat = await crew.chat({ message: "go" });
    assert.deepEqual(server.refused.map(({ refusal }) => refusal), [], `id "${id}"`);
    assert.deepEqual(summaries(asked("assistant")), ["part 1", "part 2", "part 3"]);
    assert.equal(await chat.answer(), "done");
  }
});

test("two messages at once: one is taken, the other told to wait; a repeated request says it once", async (t) => {
  const held = gate();
  t.after(() => held.open());
  const { crew } = await cast(t, { assistant: async ({ text }) => { await held.wait; return { text: `You said ${text}` }; } });
  const chat = await crew.chat({ title: "Both" });
  const replies = await Promise.all(["a", "b"].map((text) => crew.post(`${chat.path}/messages`, { text })));
  assert.deepEqual(replies.map(({ status }) => status).sort(), [202, 409]);
  held.open();
  await chat.idle();
  const headers = { "Cru-Request-Id": "once" };
  await crew.must(202, crew.post(`${chat.path}/messages`, { text: "c" }, { headers }));
  await crew.must(202, crew.post(`${chat.path}/messages`, { text: "c" }, { headers }));
  await waitFor(async () => (await chat.answer()) === "You said c");
  assert.equal((await chat.entries()).filter(({ role }) => role === "user").length, 2);
});

/// What a process of a run gets from the daemon.
async function fromRun(crew, id, method, path, body) {
  await crew.start(id, ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", crew.socket, "-X", method, ...(body ? ["-H", "content-type: application/json", "-d", JSON.stringify(body)] : []), `http://cru${path}`]);
  await crew.ended(id);
  return (await crew.output(id)).map(({ data }) => data).join("");
}

test("a process of a run begins no chats, says nothing in them and ends none", async (t) => {
  const { crew } = await cast(t, { assistant: { text: "Fine." } });
  const chat = await crew.chat({ message: "go" });
  assert.equal(await fromRun(crew, "r1", "POST", "/chats", { message: "x", permissions: ["all"] }), "403");
  assert.equal(await fromRun(crew, "r2", "POST", `${chat.path}/messages`, { text: "x" }), "403");
  assert.equal(await fromRun(crew, "r3", "POST", `${chat.path}/end`, {}), "403");
  assert.equal(await fromRun(crew, "r4", "POST", "/chats/prune", { older_than_days: 0 }), "403");
  assert.equal(await fromRun(crew, "r5", "POST", "/subagents", { agent: "explorer", task: "x", permissions: ["ProcessSpawn"] }), "403");
  assert.equal((await chat.entries()).length, 2);
});

test("a process of a run, such as a subagent's program, does not read chats", async (t) => {
  const { crew } = await cast(t, { assistant: { text: "Fine." } });
  const chat = await crew.chat({ message: "secret" });
  assert.equal(await fromRun(crew, "r1", "GET", chat.path), "403");
  assert.equal(await fromRun(crew, "r2", "GET", "/chats"), "403");
});

test("a session.md saved with CRLF stays one account of the chat", async (t) => {
  const { crew } = await cast(t, { assistant: { text: "Fine." } });
  const chat = await crew.chat({ message: "go" });
  await chat.end();
  // The end is the last that is written: nobody touches the file before the next word.
  await waitFor(() => chat.files().session.front.status === "completed", { what: "the end is in the file" });
  const file = `${chat.folder}/session.md`;
  writeFileSync(file, readFileSync(file, "utf8").replaceAll("\n", "\r\n"));
  await chat.say("more");
  await waitFor(() => readFileSync(file, "utf8").match(/Fine\./g).length === 2, { what: "the second answer is in the file" });
  assert.match(readFileSync(file, "utf8"), /more/);
  assert.equal(readFileSync(file, "utf8").match(/^session_id/gm).length, 1);
  assert.equal(readFileSync(file, "utf8").match(/Fine\./g).length, 2);
});
