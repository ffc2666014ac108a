// The daemon dies (kill -9) at the worst moments of a chat: afterwards everything ends well, and nothing is done or told twice.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { Agent, random, sleep, waitFor } from "./harness.mjs";
import { cast, isRunning, long, play, report, running, spawning, told } from "./harness/cast.mjs";
import { problemsOf, readSessionFolder } from "./harness/crew.mjs";

/// The chat's folder, in order but for what a write that was cut off left behind: a test of its own.
const filed = (chat) => waitFor(() => {
  const problems = problemsOf(chat.folder).filter((one) => !/\.tmp\.\d+: a file that does not belong here/.test(one));
  if (problems.length) throw new Error(problems.join("\n"));
  return readSessionFolder(chat.folder);
}, { what: `the files of ${chat.id} are in order` });
/// Half of the words the first time, then silence; all of them the next time.
const halfFirst = (text) => {
  let times = 0;
  return () => ({ text, piece: 7, ...(++times === 1 ? { hang: "middle" } : {}) });
};
const roles = async (chat) => (await chat.entries()).map(({ role }) => role).join();
const lines = (file) => (existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []);

test("the daemon dies while the primary thinks: it thinks again, once", async (t) => {
  const { crew, server } = await cast(t, {});
  server.script({ hang: true });
  const chat = await crew.chat({ message: "go" }, { wait: false });
  await server.when(({ requests }) => requests.length === 1);
  await crew.killDaemon();
  server.script({ text: "Here I am again." });
  await crew.startDaemon();
  await chat.idle();
  assert.equal(await chat.answer(), "Here I am again.");
  assert.equal(await roles(chat), "user,assistant");
  assert.equal(server.requests.length, 2);
  assert.equal(server.requests[1].raw, server.requests[0].raw, "it is asked the very same");
  const { session } = await filed(chat);
  assert.equal(session.body.match(/Here I am again\./g).length, 1);
  await chat.say("and on");
  assert.equal((await chat.record()).turns, 2);
});

test("the daemon dies between two pieces of a reply: it is said anew, and heard whole", async (t) => {
  const text = "Grüße, Stück für Stück gesagt. ".repeat(30);
  const { crew, server } = await cast(t, { assistant: halfFirst(text) });
  const chat = await crew.chat({ message: "go" }, { wait: false });
  await chat.heard("chat.text");
  await crew.killDaemon();
  await crew.startDaemon();
  await chat.idle();
  assert.equal(await chat.answer(), text);
  assert.equal(await roles(chat), "user,assistant");
  assert.ok(chat.events("chat.restarted").length >= 1);
  assert.ok(text.startsWith(chat.streamed(2)) && chat.streamed(2).length > 0, chat.streamed(2));
  assert.equal(chat.events("chat.entry").filter(({ data }) => (data.entry ?? data).role === "assistant").length, 1);
  const ids = chat.stream.events.map(({ id }) => id);
  assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => a - b), "every event once, in order");
  assert.equal(server.requests.length, 2);
  assert.equal((await chat.record()).total_tokens, (await filed(chat)).metadata.total_tokens);
});

test("so it is with what a subagent says", async (t) => {
  const text = report("Said piece by piece. ".repeat(40));
  const { crew } = await cast(t, { assistant: [{ text: "x", tools: [spawning("worker", "w")] }, { text: "done" }], worker: halfFirst(text) });
  const chat = await crew.chat({ message: "go" }, { wait: false });
  const pieces = () => chat.events("chat.text").filter(({ data }) => data.task_id);
  await waitFor(() => pieces().length >= 1, { every: 5, what: "a piece of what the subagent says" });
  const { task_id, n } = pieces()[0].data;
  await crew.restartDaemon();
  await chat.idle();
  assert.ok(text.startsWith(chat.streamed(n, task_id)), chat.streamed(n, task_id));
});

test("the daemon dies while a subagent's command runs: it does not run again, and its agent is told so", async (t) => {
  const { crew, asked } = await cast(t, {
    assistant: [{ text: "x", tools: [spawning("worker", "w")] }, { text: "done" }],
    worker: ({ turn, results }) => (turn === 0 ? { text: "I run it.", tools: [running(`echo ran >> ran.txt; exec sleep ${long}`)] } : { text: report(`Told: ${results[0].text}`) }),
  });
  const chat = await crew.chat({ message: "go", permissions: ["all"] }, { wait: false });
  await waitFor(() => lines(crew.path("ran.txt")).length === 1 && isRunning(long));
  await crew.killDaemon();
  await crew.startDaemon();
  await chat.idle();
  assert.equal(await chat.answer(), "done");
  assert.deepEqual(lines(crew.path("ran.txt")), ["ran"]);
  const [result] = told(asked("worker"));
  assert.ok(result.is_error);
  assert.match(result.text, /restarted during this call[^]*check before you repeat it/);
  assert.equal(chat.events("subagent.completed").length, 1);
  assert.deepEqual(chat.events("subagent.started").map(({ data }) => data.resumed), [false, true]);
  assert.equal((await filed(chat)).subagents.length, 1);
  await waitFor(() => !isRunning(long), { what: "the command went with the daemon" });
});

test("what a subagent locked before the daemon died is free when it has finished", async (t) => {
  const { crew } = await cast(t, {
    assistant: [{ text: "x", tools: [spawning("worker", "w")] }, { text: "done" }],
    worker: ({ turn }) => [
      { text: "I lock it.", tools: [{ name: "acquire_lock", input: { file_path: "a.txt" } }] },
      { text: "I run it.", tools: [running(`exec sleep ${long}`)] },
    ][turn] ?? { text: report("Finished.") },
  });
  const witness = new Agent(crew, "witness");
  const locked = async () => (await witness.ask("check_locks")).result.map(({ file_path }) => file_path);
  const chat = await crew.chat({ message: "go", permissions: ["all"] }, { wait: false });
  await waitFor(() => isRunning(long), { what: "the subagent's command runs" });
  assert.deepEqual(await locked(), ["a.txt"]);
  await crew.killDaemon();
  await crew.startDaemon();
  await chat.idle();
  assert.equal(await chat.answer(), "done");
  assert.deepEqual(await locked(), []);
});

test("a command that ended before the daemon died keeps its result", async (t) => {
  const { crew, server, asked } = await cast(t, {});
  const parts = {
    assistant: [{ text: "x", tools: [spawning("worker", "w")] }, { text: "done" }],
    worker: ({ turn, results }) => (turn === 0 ? { text: "I run it.", tools: [running("echo ran | tee -a ran.txt")] } : { hang: true, results }),
  };
  play(server, parts);
  crew.define("worker", {});
  const chat = await crew.chat({ message: "go", permissions: ["all"] }, { wait: false });
  await server.when(() => asked("worker").length === 2);
  await crew.killDaemon();
  play(server, { ...parts, worker: ({ results }) => ({ text: report(`Told: ${results[0].text}`) }) });
  await crew.startDaemon();
  await chat.idle();
  assert.deepEqual(lines(crew.path("ran.txt")), ["ran"]);
  const [result] = told(asked("worker").slice(-1));
  assert.equal(result.is_error, false);
  assert.match(result.text, /ran/);
  await filed(chat);
});

test("the daemon dies with three subagents in line: each is done once, in order", async (t) => {
  const { crew, server, asked } = await cast(t, { assistant: [{ text: "x", tools: [1, 2, 3].map((n) => spawning("worker", `part ${n}`)) }, { text: "done" }], worker: { hang: true } });
  const chat = await crew.chat({ message: "go" }, { wait: false });
  await server.when(() => asked("worker").length === 1);
  await crew.killDaemon();
  play(server, { assistant: { text: "done" }, worker: ({ task }) => ({ text: report(task) }) });
  await crew.startDaemon();
  await chat.idle();
  assert.equal(await chat.answer(), "done");
  assert.deepEqual(asked("worker").map(({ task }) => task), ["part 1", "part 1", "part 2", "part 3"]);
  assert.deepEqual(told(asked("assistant")).map(({ text }) => /## Summary\n\n(part \d)/.exec(text)[1]), ["part 1", "part 2", "part 3"]);
  const { subagents, metadata } = await filed(chat);
  assert.deepEqual([subagents.length, metadata.subagents.map(({ status }) => status).join()], [3, "completed,completed,completed"]);
  assert.equal(chat.events("subagent.queued").length, 3);
  assert.equal(chat.events("subagent.completed").length, 3);
});

test("a cancel, an end and a client's spawn outlive the daemon", async (t) => {
  const { crew, server, asked } = await cast(t, { assistant: [{ text: "x", tools: [spawning("worker", "w")] }, { text: "done" }], worker: { hang: true } });
  const chat = await crew.chat({ message: "go" }, { wait: false });
  await server.when(() => asked("worker").length === 1);
  await chat.cancel();
  await chat.end();
  const headers = { "Cru-Agent-Id": "ada", "Cru-Session-Id": "ada-1", "Cru-Request-Id": "r1" };
  const input = { agent: "worker", task: "outside" };
  const spawned = await crew.must(201, crew.spawnAgent(input, { headers }));
  await server.when(() => asked("worker").length === 2);
  await crew.killDaemon();
  play(server, { worker: { text: report("Late.") } });
  await crew.startDaemon();
  const again = await crew.spawnAgent({ ...input }, { headers });
  assert.equal(again.json.task_id, spawned.task_id, again.text);
  assert.equal((await crew.subagentOver(spawned.task_id)).status, "completed");
  const record = await chat.record();
  assert.deepEqual([record.status, record.turn, record.subagents[0].status], ["completed", "idle", "cancelled"]);
  assert.equal(asked("worker").length, 3);
  await filed(chat);
});

test("what a write that was cut off left behind goes with the next", async (t) => {
  const { crew } = await cast(t, { assistant: { text: "Fine." } });
  const chat = await crew.chat({ message: "go" });
  await crew.killDaemon();
  for (const name of ["session.md.tmp.99999", "metadata.json.tmp.99999"]) writeFileSync(`${chat.folder}/${name}`, "half");
  await crew.startDaemon();
  await chat.say("and on");
  await waitFor(() => readdirSync(chat.folder).every((name) => !name.includes(".tmp.")));
});

for (const seed of [1, 2, 3])
  test(`the daemon dies again and again, whenever (seed ${seed}): the work is done once`, async (t) => {
    const steps = [1, 2, 3];
        const { crew, asked } = await cast(t, {
      assistant: ({ turn }) => (turn < 2 ? { text: `Round ${turn}.`, delayMs: 20, tools: steps.map((n) => spawning("worker", `${turn}-${n}`)) } : { text: "All is done.", delayMs: 30 }),
      worker: ({ turn, task, results }) => (turn === 0 ? { text: "I run it.", delayMs: 40, tools: [running(`echo ${task} >> done.txt`)] } : { text: report(`${task} ${results[0].is_error ? "unknown" : "ran"}`), delayMs: 30 }),
    });
    const chance = random(seed);
    const chat = await crew.chat({ message: "go", permissions: ["all"] }, { wait: false });
    for (let kills = 0; kills < 5; ++kills) {  // fewer than there are commands: one of them is left to run
      await sleep(30 + chance() * 350);
      await crew.restartDaemon();
    }
    await chat.idle();
    assert.equal(await chat.answer(), "All is done.");
    const done = lines(crew.path("done.txt"));
    assert.equal(new Set(done).size, done.length, `never twice: ${done}`);
    assert.ok(done.length > 0);
    const { subagents, metadata, session } = await filed(chat);
    assert.equal(subagents.length, 6);
    assert.ok(metadata.subagents.every(({ status }) => status === "completed"));
    for (const { front: { task_id }, body } of subagents) {
      const [, task, how] = /## Summary\n\n(\S+) (ran|unknown)/.exec(body) ?? assert.fail(`${task_id}: ${body}`);
      if (how === "ran") assert.ok(done.includes(task), `${task} in ${done}`);
    }
    assert.equal((await chat.entries()).filter(({ role }) => role === "assistant").length, 3);
    assert.equal((await chat.entries()).filter(({ role }) => role === "tool").length, 2);
    assert.equal(session.body.match(/Round 1\./g).length, 1);
    assert.equal(chat.events("subagent.completed").length, 6);
    assert.equal(told(asked("assistant").slice(-1)).length, 3);
  });
