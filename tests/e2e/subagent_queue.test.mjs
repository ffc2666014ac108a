// The line of subagents: one after the other, or as many as is configured; what is told meanwhile, and the limits of each.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { cast, filed, report, spawning, told } from "./harness/cast.mjs";
import { gate } from "./harness/live.mjs";

const five = [1, 2, 3, 4, 5].map((n) => spawning("worker", `part ${n}`));

/// How many of an agent's calls were ever open together.
function together(requests) {
  const marks = requests.flatMap(({ at, ended }) => [[at.getTime(), 1], [ended.getTime(), -1]]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let [now, most] = [0, 0];
  for (const [, change] of marks) most = Math.max(most, now += change);
  return most;
}

/// Workers that are held back until `count` of them have been at work together; `most` is how many ever were. One that is
/// answered has left before the daemon can send the next.
function crowd(count, then = () => null) {
  const all = { now: 0, most: 0, ended: 0 };
  all.play = async (request) => {
    all.most = Math.max(all.most, ++all.now);
    await waitFor(() => all.most >= count, { every: 5, what: `${count} are at work together` });
    await then(request);
    --all.now;
    ++all.ended;
    return { text: report(request.task) };
  };
  return all;
}

test("SA-21: one subagent begins at once, the primary waits for it, and its time is kept", async (t) => {
  const held = gate();
  t.after(() => held.open());
  const { crew, asked } = await cast(t, { assistant: [{ text: "x", tools: [spawning("worker", "w")] }, { text: "done" }], worker: async () => { await held.wait; return { text: report("Slow.") }; } });
  const chat = await crew.chat({ message: "go" }, { wait: false });
  const { at } = await waitFor(() => asked("worker")[0], { what: "it works" });
  const { queue_depth, subagents: [working] } = await chat.record();
  assert.deepEqual([queue_depth, working.status], [0, "running"]);
  assert.deepEqual(chat.events("subagent.queued").map(({ data }) => data.position), [0], "nobody before it");
  assert.equal(asked("assistant").length, 1, "the primary waits");
  await waitFor(() => Date.now() - at > 200, { what: "it takes its time" });
  const took = Date.now() - at;
  held.open();
  await chat.idle();
  const { subagents: [{ front }], metadata } = await filed(chat);
  assert.ok(front.duration_ms >= took - 1, `${front.duration_ms} ms, and it was held for ${took}`);
  assert.equal(metadata.subagents[0].duration_ms, front.duration_ms);
  assert.ok(asked("assistant")[1].at >= asked("worker")[0].ended, "it went on when there was a result");
});

test("SA-22, SA-23: the others wait, in order, and the line can be seen", async (t) => {
  let depth;
  const { crew, asked } = await cast(t, { assistant: [{ text: "x", tools: five }, { text: "done" }],
    worker: async ({ task }) => {
      // The third sees two behind it, in the file too.
      if (task === "part 3") depth = await waitFor(async () => {
        const { queue_depth, subagents } = await chat.record();
        const written = JSON.parse(readFileSync(`${chat.folder}/metadata.json`, "utf8")).queue_depth;
        return written === 2 && [queue_depth, written, subagents.map(({ status }) => status).join()];
      });
      return { text: report(task), delayMs: 30 };
    } });
  const chat = await crew.chat({ message: "go" }, { wait: false });
  await chat.idle();
  assert.deepEqual(depth, [2, 2, "completed,completed,running,queued,queued"]);
  assert.deepEqual(asked("worker").map(({ task }) => task), five.map(({ input }) => input.task));
  assert.equal(together(asked("worker")), 1);
  assert.deepEqual(told(asked("assistant")).map(({ text }) => /## Summary\n\n(part \d)/.exec(text)[1]), five.map(({ input }) => input.task));
  assert.deepEqual(chat.events("subagent.queued").map(({ data }) => data.position), [0, 1, 2, 3, 4]);
  const order = chat.events("subagent.started", "subagent.completed").map(({ type, data }) => `${type.slice(9)} ${data.task_id}`);
  for (let n = 0; n < 10; n += 2) assert.equal(order[n + 1], order[n].replace("started", "completed"), "each only after the one before");
  assert.equal((await filed(chat)).metadata.queue_depth, 0);
});

test("SA-24: max_concurrent: 2 runs two at once; results still come in the order of the spawns", async (t) => {
  // The first answers when all others have: what comes of them is still told in their order.
  const at_work = crowd(2, ({ task }) => (task === "part 1" ? waitFor(() => at_work.ended === 4, { what: "the others are done" }) : null));
  const { crew, asked } = await cast(t, { assistant: [{ text: "x", tools: five }, { text: "done" }], worker: at_work.play }, { settings: { crew: { max_concurrent: 2 } } });
  const chat = await crew.chat({ message: "go" });
  assert.equal(at_work.most, 2);
  assert.deepEqual(told(asked("assistant")).map(({ text }) => /## Summary\n\n(part \d)/.exec(text)[1]), five.map(({ input }) => input.task));
  assert.deepEqual(chat.events("subagent.started").map(({ data }) => data.task_id), chat.events("subagent.queued").map(({ data }) => data.task_id));
  await filed(chat);
});

test("SA-24: a provider's own limit holds across chats: anthropic takes three", async (t) => {
  const at_work = crowd(3);
  const { crew, asked } = await cast(t, { assistant: [{ text: "x", tools: five }, { text: "done" }], worker: at_work.play }, { settings: { crew: { max_concurrent: 10 } } });
  const chats = await Promise.all([crew.chat({ message: "one" }), crew.chat({ message: "two" })]);
  assert.equal(asked("worker").length, 10);
  assert.equal(at_work.most, 3);
  for (const chat of chats) assert.equal((await filed(chat)).subagents.length, 5);
});

test("what happens is told when it happens, in few words", async (t) => {
  const long = "Wörter ".repeat(60);
  let begun = 0;
  const { crew } = await cast(t, { assistant: ({ turn }) => (turn % 2 === 0 ? { text: "x", tools: five.slice(0, 2) } : { text: "done" }),     worker: async () => {
      // Told when it happens: each hears of its own beginning before it has said a word.
      const n = ++begun;
      await waitFor(() => chat.events("subagent.started").length === n, { every: 5, what: `the beginning of the subagent ${n} is told` });
      return { text: report(`${long}\n\nEnd.`, "Details.") };
    } });
  const chat = await crew.chat({ title: "Told" });
  for (const words of ["go", "again", "and again"]) await chat.say(words);
  const started = chat.events("subagent.started");
  assert.equal(started.length, 6);
  for (const { data } of started) assert.equal(data.message, "→ Running worker agent...");
  for (const { data } of chat.events("subagent.completed")) {
    assert.ok(data.summary.startsWith("Wörter Wörter") && [...data.summary].length <= 100 && [...data.summary].length > 90, data.summary);
    assert.match(readFileSync(crew.path(data.file), "utf8"), /End\.\n\n## Findings\n\nDetails\./);
  }
  assert.equal(chat.events("subagent.queued", "subagent.started", "subagent.completed").length, 18);
});

test("text comes while it is said, and what it says in the end is the same", async (t) => {
  const text = "Grüße aus dem Ofen. ".repeat(40);
  // The second half is said when the first is heard.
  const { crew } = await cast(t, { assistant: { text, piece: 10, midway: () => chat.heard("chat.text") } });
  const chat = await crew.chat({ title: "Said" });
  await chat.say("go");
  const pieces = chat.events("chat.text");
  const { n, text: whole } = (await chat.entries()).at(-1);
  assert.equal(whole, text);
  assert.ok(chat.streamed(n) && whole.startsWith(chat.streamed(n)));
  assert.ok(pieces[0].id < chat.events("chat.entry").at(-1).id);
});

test("an error has its type and how bad it is: fatal when no other try can help", async (t) => {
  const { crew, asked } = await cast(t, { assistant: [{ text: "x", tools: [spawning("worker", "w")] }, { text: "done" }], worker: { status: 401, error: { message: "invalid x-api-key" } } });
  const chat = await crew.chat({ message: "go" });
  const [{ data }] = chat.events("subagent.failed");
  assert.deepEqual([data.agent, data.error_type, data.severity], ["worker", "authentication", "fatal"]);
  assert.match(told(asked("assistant"))[0].text, /severity fatal/);
  assert.match((await filed(chat)).subagents[0].body, /worker failed: [^]*authentication, severity fatal/);
});

test("a subagent that is not done in time fails with timed_out, and the next one has its turn", async (t) => {
  const { crew, asked } = await cast(t, { assistant: [{ text: "x", tools: [spawning("slow", "s"), spawning("worker", "w")] }, { text: "done" }], slow: { hang: true }, worker: { text: report("Fine.") } },
    { settings: { crew: { delegation_timeout: "1s" } } });
  const chat = await crew.chat({ message: "go" });
  assert.equal(await chat.answer(), "done");
  const [late, fine] = told(asked("assistant"));
  const { subagents } = await filed(chat);
  const next = subagents.find(({ front }) => front.agent_name === "worker").front;
  // It has the same second: on a machine that is too slow for that it fails for the same reason, by its own account.
  const is_late_too = next.error_type === "timed_out" && next.duration_ms >= 950;
  assert.deepEqual([late.is_error, fine.is_error], [true, is_late_too]);
  assert.equal(asked("worker").length > 0 || is_late_too, true, "it had its turn");
  assert.match(late.text, /timed_out/);
  const slow = subagents.find(({ front }) => front.agent_name === "slow").front;
  assert.deepEqual([slow.status, slow.error_type], ["failed", "timed_out"]);
  assert.ok(slow.duration_ms >= 950, `not before its time: ${slow.duration_ms}`);
  assert.equal(chat.events("subagent.failed")[0].data.error_type, "timed_out");
});

test("a result beyond 51,200 bytes is cut with a mark for the primary, and whole in the file", async (t) => {
  const findings = Array.from({ length: 8000 }, (_, n) => `- line ${n} é`).join("\n");
  const { crew, asked } = await cast(t, { assistant: [{ text: "x", tools: [spawning("worker", "w")] }, { text: "done" }], worker: { text: report("Much.", findings), piece: 5000 } });
  const chat = await crew.chat({ message: "go" });
  const { subagents: [note] } = await filed(chat);
  assert.ok(note.body.includes(findings));
  const [{ text }] = told(asked("assistant"));
  assert.ok(Buffer.byteLength(text) <= 51_200 + 200, `${Buffer.byteLength(text)}`);
  assert.match(text, new RegExp(`\\[… \\d+ more bytes in \\.crucible/sessions/${chat.id}/${note.name}\\.md\\]$`));
  assert.doesNotMatch(text, /\ufffd/);
  const over = await crew.subagentOver(note.front.task_id);
  assert.equal(over.truncated, true);
  assert.equal(over.result, text);
});
