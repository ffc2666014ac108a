// Chats as a person has them: talked in, stopped, ended, taken up again, edited by hand, pruned.
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { codeOf, waitFor } from "./harness.mjs";
import { cast, filed, report, spawning, told } from "./harness/cast.mjs";
import { checkSessionFolder } from "./harness/crew.mjs";

const echo = { assistant: ({ text }) => ({ text: `You said: ${text}` }) };
const statuses = ({ subagents }) => subagents.map(({ status }) => status);

test("a chat remembers what was said, and its entries are read page by page", async (t) => {
  const { crew, asked } = await cast(t, echo);
  const chat = await crew.chat({ message: "one", title: "Counting" });
  for (const word of ["two", "three"]) await chat.say(word);
  assert.deepEqual(asked("assistant").at(-1).body.messages.map(({ role }) => role), ["user", "assistant", "user", "assistant", "user"]);
  assert.deepEqual((await chat.entries()).map(({ n, role, text }) => [n, role, text]), [[1, "user", "one"], [2, "assistant", "You said: one"], [3, "user", "two"], [4, "assistant", "You said: two"], [5, "user", "three"], [6, "assistant", "You said: three"]]);
  const page = await chat.record("?after=2&limit=3");
  assert.deepEqual([page.entries.map(({ n }) => n), page.more, page.turn, page.turns, page.status], [[3, 4, 5], true, "idle", 3, "active"]);
  const short = chat.id.slice(0, -3);
  assert.equal((await crew.must(200, crew.get(`/chats/${short}`))).id, chat.id, "the beginning of its id will do");
  const twin = await crew.chat({ title: "Counting" });
  assert.equal((await crew.get(`/chats/${short}`)).status, 409);
  assert.equal((await crew.must(200, crew.get(`/chats/${chat.id}`))).id, chat.id, "a whole id is that chat, though another begins with it");
  assert.deepEqual((await crew.chats()).map(({ id }) => id), [twin.id, chat.id]);
  await twin.end();
  assert.deepEqual((await crew.chats("?status=active")).map(({ id }) => id), [chat.id]);
  assert.deepEqual((await crew.chats("?status=completed")).map(({ id }) => id), [twin.id]);
});

test("bad input to chats names the field and changes nothing", async (t) => {
  const { crew } = await cast(t, { ...echo, off: {} }, { agents: { off: { enabled: false } } });
  const refusals = [[{ agent: "nobody", message: "x" }, 404, null], [{ agent: "off", message: "x" }, 404, null], [{ model: "sonet" }, 400, "model"], [{ permissions: ["root"] }, 400, "permissions"], [{ message: 7 }, 400, "message"], [{ mesage: "x" }, 400, "mesage"], [{ message: "x".repeat(1048577) }, 400, "message"]];
  for (const [input, status, field] of refusals) {
    const reply = await crew.post("/chats", input);
    assert.equal(reply.status, status, `${JSON.stringify(input).slice(0, 80)}: ${reply.text}`);
    if (field) assert.equal(reply.json.field, field, reply.text);
  }
  assert.equal((await crew.post("/chats/none/messages", { text: "x" })).status, 404);
  assert.equal((await crew.post("/chats/none/cancel")).status, 404);
  assert.equal((await crew.get("/chats/..%2f..%2fetc")).status, 404);
  assert.deepEqual(await crew.chats(), []);
  assert.ok(!existsSync(crew.path(".crucible/sessions")) );
});

test("long first words in any script make a valid title, folder and files", async (t) => {
  const { crew } = await cast(t, echo);
  for (const message of [`x${"é".repeat(200)}`, `${"界".repeat(100)}`, "---\ntitle: [[x]]\n---", "a\u0007b\u001b[31mc", "[[nowhere]] # heading", "🙂".repeat(50)]) {
    const chat = await crew.chat({ message });
    assert.doesNotMatch(JSON.stringify(chat.started) + JSON.stringify(await chat.record()), /\ufffd/, message);
    await chat.end();
    const { session, metadata } = await waitFor(() => {
      const problems = [];
      try { return chat.files(); } catch (error) { problems.push(error.message); }
      if (/nowhere|\[\[x\]\]/.test(message) && problems.every((one) => /leads nowhere/.test(one) && !/\n.*\n/.test(one))) return { session: { front: { session_id: chat.id } }, metadata: { title: "" } };
      throw new Error(problems.join());
    });
    assert.equal(session.front.session_id, chat.id);
    assert.doesNotMatch(metadata.title, /\ufffd/, message);
    assert.doesNotMatch(readFileSync(`${chat.folder}/metadata.json`, "utf8"), /\ufffd/, message);
  }
});

test("cancel_turn while a subagent works ends both, and those in line; the chat goes on", async (t) => {
  const { crew, server, asked } = await cast(t, { assistant: ({ turn, text }) => (turn === 0 ? { text: "x", tools: [1, 2, 3].map((n) => spawning("slow", `part ${n}`)) } : { text: `Again: ${text}` }), slow: { hang: true } });
  const chat = await crew.chat({ message: "go" }, { wait: false });
  await server.when(() => asked("slow").length === 1);
  assert.equal((await crew.post(`${chat.path}/messages`, { text: "hurry" })).status, 409, "one turn at a time");
  const stopped = await chat.cancel();
  assert.equal(stopped.turn, "idle");
  assert.equal((await chat.idle()).error.type, "cancelled");
  await waitFor(async () => statuses(await chat.record()).join() === "cancelled,cancelled,cancelled");
  await server.when(({ open }) => open === 0);
  const { subagents } = await filed(chat);
  assert.equal(subagents.length, 3);
  for (const { front } of subagents) assert.deepEqual([front.status, front.error_type], ["cancelled", "cancelled"]);
  assert.equal(asked("slow").length, 1, "those in line never began");
  await chat.say("hello again");
  assert.equal(await chat.answer(), "Again: hello again");
  assert.deepEqual(server.refused, [], "what is sent is a conversation the API takes");
  assert.equal((await chat.cancel()).turn, "idle", "when nothing runs nothing is cancelled");
  await filed(chat);
});

test("cancel_turn while the primary thinks, or says something, ends it", async (t) => {
  const { crew, server } = await cast(t, {});
  for (const hang of [true, "headers", "middle"]) {
    server.script({ text: "some words that are never all said", hang, piece: 5 });
    const before = server.requests.length;
    const chat = await crew.chat({ message: "go" }, { wait: false });
    await server.when(({ requests }) => requests.length === before + 1);
    if (hang === "middle") await chat.heard("chat.text");
    assert.equal((await chat.cancel()).turn, "idle");
    server.script({ text: "Well." });
    await chat.say("and now?");
    assert.equal(await chat.answer(), "Well.");
  }
  assert.deepEqual(server.refused, []);
});

test("cancel_subagent ends one that works or waits; the primary is told and goes on", async (t) => {
  const { crew, server, asked } = await cast(t, { assistant: [{ text: "x", tools: [1, 2, 3].map((n) => spawning("slow", `part ${n}`)) }, { text: "done" }], slow: ({ task }) => (task === "part 1" ? { hang: true } : { text: report(task) }) });
  const chat = await crew.chat({ message: "go" }, { wait: false });
  await server.when(() => asked("slow").length === 1);
  const [first, second] = await waitFor(async () => { const { subagents } = await chat.record(); return subagents.length === 3 && subagents; });
  for (const { task_id } of [second, first]) assert.equal((await crew.must(200, crew.post(`/subagents/${task_id}/cancel`))).status, "cancelled");
  await chat.idle();
  assert.equal(await chat.answer(), "done");
  assert.deepEqual(told(asked("assistant")).map(({ is_error }) => is_error), [true, true, false]);
  assert.deepEqual(asked("slow").map(({ task }) => task), ["part 1", "part 3"]);
  assert.deepEqual(statuses(await chat.record()), ["cancelled", "cancelled", "completed"]);
  assert.deepEqual(chat.events("subagent.cancelled").map(({ data }) => data.severity), ["warning", "warning"]);
  assert.equal((await crew.must(200, crew.post(`/subagents/${first.task_id}/cancel`))).status, "cancelled", "again changes nothing");
  assert.equal((await crew.post("/subagents/ffffff/cancel")).status, 404);
  await filed(chat);
});

test("an ended chat is completed, and saying something takes it up again", async (t) => {
  const { crew, asked } = await cast(t, echo);
  const chat = await crew.chat({ message: "one" });
  const ended = await chat.end();
  assert.deepEqual([ended.status, typeof ended.ended_at], ["completed", "string"]);
  const { metadata } = await filed(chat);
  assert.deepEqual([metadata.status, metadata.ended_at], ["completed", ended.ended_at]);
  assert.equal((await chat.end()).ended_at, ended.ended_at, "once");
  await chat.say("two");
  assert.equal(asked("assistant").at(-1).body.messages.length, 3);
  assert.deepEqual([(await chat.record()).status, (await filed(chat)).metadata.ended_at], ["active", null]);
  assert.equal((await chat.end()).status, "completed");
  assert.deepEqual(chat.events("chat.ended").length, 2);
  await filed(chat);
});

test("end_chat while a subagent works stops it first", async (t) => {
  const { crew, server, asked } = await cast(t, { assistant: [{ text: "x", tools: [spawning("slow", "s")] }, { text: "done" }], slow: { hang: true } });
  const chat = await crew.chat({ message: "go" }, { wait: false });
  await server.when(() => asked("slow").length === 1);
  assert.equal((await chat.end()).status, "completed");
  const { subagents } = await filed(chat);
  assert.equal(subagents[0].front.status, "cancelled");
});

test("ending a client's chat stops what the client spawned", async (t) => {
  const { crew, server } = await cast(t, { slow: { hang: true } });
  const headers = { "Cru-Agent-Id": "ada", "Cru-Agent-Type": "claude_code", "Cru-Session-Id": "ada-1" };
  const { chat_id, task_id } = await crew.must(201, crew.spawnAgent({ agent: "slow", task: "s" }, { headers }));
  await server.when(({ requests }) => requests.length === 1);
  await crew.must(200, crew.post(`/chats/${chat_id}/end`));
  assert.equal((await crew.subagentOver(task_id)).status, "cancelled");
  await waitFor(() => checkSessionFolder(crew.path(".crucible/sessions", chat_id)));
});

test("a primary whose mind fails: the turn says why, and the next may go well", async (t) => {
  const { crew, server } = await cast(t, {});
  server.script({ status: 400, error: { message: "credit balance is too low" } });
  const chat = await crew.chat({ message: "go" });
  const { error } = await chat.idle();
  assert.match(error.message, /credit balance is too low/);
  assert.ok(error.type && error.severity && /^[0-9a-f]{32}$/.test(error.trace_id));
  await waitFor(async () => (await filed(chat)).metadata.error?.type === error.type);
  server.script({ text: "Well." });
  await chat.say("and now?");
  assert.equal(await chat.answer(), "Well.");
  assert.equal((await chat.end()).status, "completed");
});

test("what a person writes into session.md stays, wherever it is", async (t) => {
  const { crew } = await cast(t, echo);
  const chat = await crew.chat({ message: "one" });
  await chat.end();
  // The end is the last that is written: nobody touches the file before the next word.
  await waitFor(() => chat.files().session.front.status === "completed", { what: "the end is in the file" });
  const file = `${chat.folder}/session.md`;
  assert.match(readFileSync(file, "utf8"), /You said: one/);
  writeFileSync(file, readFileSync(file, "utf8").replace("You said: one", "You said: one (I doubt it)"));
  appendFileSync(file, "\nMy own remark.");
  await chat.say("two");
  await chat.end();
  const { session } = await filed(chat);
  assert.match(session.body, /\(I doubt it\)[^]*My own remark\.\n[^]*You said: two/);
  assert.equal(session.body.match(/You said: one/g).length, 1);
  rmSync(file);
  await chat.say("three");
  await waitFor(() => /You said: one[^]*You said: two[^]*You said: three/.test(readFileSync(file, "utf8")), { what: "a removed file is made anew" });
  await filed(chat);
});

test("prune removes chats that ended long enough ago, with their folders, and tells which", async (t) => {
  const { crew } = await cast(t, { ...echo, worker: { text: report("x") } });
  const [ended, active] = [await crew.chat({ message: "ended" }), await crew.chat({ message: "active" })];
  const { chat_id, task_id } = await crew.must(201, crew.spawnAgent({ agent: "worker", task: "w", wait_seconds: 600 }));
  await ended.end();
  const prune = (input) => crew.must(200, crew.post("/chats/prune", input));
  assert.deepEqual((await prune({ older_than_days: 1 })).chats, []);
  const dry = await prune({ older_than_days: 0, dry_run: true });
  assert.deepEqual([[...dry.chats].sort(), dry.removed], [[ended.id, chat_id].sort(), 0]);
  assert.ok(existsSync(ended.folder));
  assert.equal((await prune({ older_than_days: 0 })).removed, 2);
  assert.deepEqual((await crew.chats()).map(({ id }) => id), [active.id]);
  assert.ok(!existsSync(ended.folder) && existsSync(active.folder));
  assert.equal((await crew.get(`/subagents/${task_id}`)).status, 404);
  assert.equal((await crew.get(ended.path)).status, 404);
  assert.equal(codeOf((await crew.post("/chats/prune", {})).json), "invalid_argument");
  await active.say("still here");
  assert.equal(await active.answer(), "You said: still here");
});
