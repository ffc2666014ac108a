// A request that is sent again under its id gets the first answer, whenever the daemon was killed in between: never "the
// outcome is unknown", and nothing is done twice.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { changeDatabase, messageOf, random, sleep, waitFor } from "./harness.mjs";
import { cast } from "./harness/cast.mjs";
import { Live } from "./harness/live.mjs";

const rounds = 8;
const seed = Number(process.env.CRU_SEED ?? 14);

/// Sends it, kills the daemon within some milliseconds, and sends it again until there is an answer.
async function sendAndCrash(project, chance, path, body) {
  const headers = { "Cru-Request-Id": randomUUID() };
  const first = project.post(path, body, { headers }).catch(() => null);
  await sleep(chance() * 25);
  await project.killDaemon();
  await first;
  await project.startDaemon();
  const reply = await waitFor(() => project.post(path, body, { headers }).catch(() => null), { what: `an answer to ${path}` });
  assert.ok(!reply.text.includes("outcome is unknown"), reply.text);
  const again = await project.post(path, body, { headers });
  assert.deepEqual([again.status, again.text], [reply.status, reply.text], "the same answer for ever");
  return reply;
}

test("chats and their messages", async (t) => {
  const { crew } = await cast(t, { assistant: () => ({ text: "Well." }) });
  const chance = random(seed);
  for (let round = 0; round < rounds; ++round) {
    const chat = await sendAndCrash(crew, chance, "/chats", { title: `round ${round}`, message: "hello" });
    assert.equal(chat.status, 201, chat.text);
    const { id } = chat.json;
    await waitFor(async () => (await crew.get(`/chats/${id}`)).json.turn === "idle");
    const said = await sendAndCrash(crew, chance, `/chats/${id}/messages`, { text: "and on" });
    assert.equal(said.status, 202, said.text);
    await waitFor(async () => (await crew.get(`/chats/${id}`)).json.turn === "idle");
    const { entries } = (await crew.get(`/chats/${id}`)).json;
    assert.deepEqual(entries.filter(({ role }) => role === "user").map(({ text, message }) => text ?? message.text), ["hello", "and on"], JSON.stringify(entries));
  }
  assert.equal((await crew.get("/chats")).json.chats.length, rounds);
});

test("what is asked of live agents", async (t) => {
  const live = await Live.started({}, t);
  const chance = random(seed);
  for (let round = 0; round < rounds; ++round) {
    const ada = await sendAndCrash(live, chance, "/live", { name: `Ada ${round}` });
    assert.equal(ada.status, 201, ada.text);
    const said = await sendAndCrash(live, chance, "/world/say", { content: `word ${round}`, to: [ada.json.agent_id] });
    assert.equal(said.status, 202, said.text);
  }
  const spoken = (await live.events("?since=0&type=live.agent_spoke")).map(({ data }) => data.content).filter((text) => text.startsWith("word"));
  assert.deepEqual(spoken, Array.from({ length: rounds }, (_, round) => `word ${round}`));
  assert.equal((await live.get("/live")).json.total, rounds);
});

test("runs and their input", async (t) => {
  const { crew } = await cast(t, {});
  const chance = random(seed);
  await crew.sh("reader", "while read line; do echo \"$line\" >> heard.txt; done");
  for (let round = 0; round < rounds; ++round) {
    const run = await sendAndCrash(crew, chance, "/tasks", { argv: ["sh", "-c", `echo ${round} >> ran.txt`] });
    if (run.status !== 201) assert.match(messageOf(run.json), /did not start/);
    else await crew.ended(run.json.task_id);
    const sent = await sendAndCrash(crew, chance, "/agents/reader/input", { text: `line ${round}` });
    assert.equal(sent.status, 200, sent.text);
  }
  const lines = (name) => readFileSync(crew.path(name), "utf8").split("\n").filter(Boolean);
  await waitFor(() => lines("heard.txt").length >= rounds);
  assert.deepEqual(lines("heard.txt"), Array.from({ length: rounds }, (_, round) => `line ${round}`));
  assert.deepEqual(lines("ran.txt"), [...new Set(lines("ran.txt"))], "none twice");
});

test("runs that are restarted and removed", async (t) => {
  const { crew } = await cast(t, {});
  const chance = random(seed);
  for (let round = 0; round < rounds; ++round) {
    const id = `again-${round}`;
    await crew.sh(id, `echo begun >> ${id}.txt; sleep 300`);
    await waitFor(() => existsSync(crew.path(`${id}.txt`)), { what: "it has begun" });
    const restarted = await sendAndCrash(crew, chance, `/agents/${id}/restart`, { grace_seconds: 0 });
    if (restarted.status !== 200) assert.match(messageOf(restarted.json), /did not start/, restarted.text);
    const begun = () => readFileSync(crew.path(`${id}.txt`), "utf8").split("\n").filter(Boolean).length;
    if (restarted.status === 200) await waitFor(() => begun() === 2, { what: "it has begun again, once" });
    await crew.post(`/agents/${id}/kill`, { grace_seconds: 0 });
    await crew.ended(id);
    assert.ok(begun() <= 2, "and not more often");
    const removed = await sendAndCrash(crew, chance, `/agents/${id}/remove`, {});
    assert.deepEqual([removed.status, removed.json], [200, { task_id: id, removed: true }], removed.text);
    assert.equal((await crew.get(`/agents/${id}`)).status, 404);
  }
});

test("an input is known to be delivered although its run has ended since", async (t) => {
  const { crew } = await cast(t, {});
  await crew.sh("once", "read line; echo \"$line\" > heard.txt; read more");
  const headers = { "Cru-Request-Id": randomUUID() };
  const body = { text: "the line" };
  assert.equal((await crew.post("/agents/once/input", body, { headers })).status, 200);
  await crew.killDaemon();
  // As a crash leaves it that comes when the keeper has taken the line and nobody has heard of it.
  changeDatabase(crew, "UPDATE replies SET text = NULL WHERE key LIKE 'send_input:%'");
  await crew.startDaemon();
  await crew.post("/agents/once/kill");
  await crew.ended("once");
  const again = await crew.post("/agents/once/input", body, { headers });
  assert.deepEqual([again.status, again.json?.delivered], [200, true], again.text);
});
