import assert from "node:assert/strict";
import { test } from "node:test";
import { lastId } from "../base/event_fixture.ts";
import { coming, entry, event, numbers, opened, piece, sub } from "./crew_fixture.ts";
import { applyCrew, chatsInOrder, nobody, openedChat, reconnected, takeChat, takeChats, takeSubagents, withEarlier } from "./state.ts";
import { subagentSince, waitingText } from "./words.ts";

test("a turn: pieces are joined, then void when the whole entry is there", () => {
  let crew = applyCrew(opened(), [event("chat.turn", { turn: "running" }), piece(2, "Hel"), piece(2, "lo")]);
  assert.deepEqual([coming(crew)?.text, coming(crew)?.is_partial, crew.chats.get("c")?.turn], ["Hello", false, "running"]);
  crew = applyCrew(crew, [event("chat.entry", { ...entry(2, "assistant", "Hello.") }), piece(2, " late")]);
  assert.equal(coming(crew), undefined);
  assert.deepEqual(numbers(crew), [1, 2]);
  crew = applyCrew(crew, [piece(3, "more"), event("chat.turn", { turn: "idle" })]);
  assert.deepEqual([coming(crew), crew.chats.get("c")?.turn], [undefined, "idle"]);
});

test("pieces begin again after a restart; what is told again by a reconnection is not appended twice", () => {
  const running = event("chat.turn", { turn: "running" });
  const told = piece(2, "a");
  let crew = applyCrew(opened(), [running, told, piece(2, "b")]);
  crew = applyCrew(crew, [told]);
  assert.equal(coming(crew)?.text, "ab");
  crew = applyCrew(crew, [event("chat.restarted", { n: 2 }), piece(2, "c")]);
  assert.equal(coming(crew)?.text, "c");
});

test("a snapshot of another log with lower numbers is followed all the same", () => {
  let crew = applyCrew({ ...opened(), seen: 9000 }, [event("state.snapshot", {}, 3), event("chat.entry", { ...entry(2) }, 4)]);
  assert.deepEqual([crew.seen, numbers(crew)], [4, [1, 2]]);
});

test("an entry is shown once and in order, however it comes", () => {
  let crew = applyCrew(opened(), [event("chat.entry", { ...entry(3) }), event("chat.entry", { ...entry(2) }), event("chat.entry", { ...entry(3, "assistant", "other") })]);
  crew = takeChat(crew, { id: "c", status: "active", entries: [entry(1, "user"), entry(2)] }, lastId());
  assert.deepEqual([...crew.entries.values()].map(({ n, text }) => [n, text]), [[1, "entry 1"], [2, "entry 2"], [3, "entry 3"]]);
  crew = applyCrew(crew, [event("chat.entry", { chat_id: "another", ...entry(9) })]);
  assert.deepEqual(numbers(crew), [1, 2, 3], "of the open chat only");
});

test("a reply that is older than an event takes back nothing, but tells what things cost", () => {
  let crew = opened();
  const asked_at = crew.seen;
  crew = applyCrew(crew, [event("chat.turn", { turn: "running" })]);
  crew = takeChat(crew, { id: "c", status: "active", turn: "idle", total_tokens: 70, title: "T" }, asked_at);
  assert.deepEqual([crew.chats.get("c")?.turn, crew.chats.get("c")?.total_tokens, crew.chats.get("c")?.title], ["running", 70, "T"]);
});

test("an event that a reply knew of already changes nothing back", () => {
  const running = event("chat.turn", { turn: "running" });
  const crew = applyCrew(takeChat(opened(), { id: "c", status: "active", turn: "idle", last_event: (running.id ?? 0) + 1 }, 0), [running]);
  assert.equal(crew.chats.get("c")?.turn, "idle");
});

test("a page that comes in the middle says so, and is made whole by what the log holds", () => {
  let crew = takeChat(openedChat({ ...nobody, seen: lastId() }, "c"), { id: "c", status: "active", turn: "running", entries: [entry(1, "user")] }, lastId());
  const missed = [event("chat.entry", { ...entry(1, "user") }), piece(2, "the "), piece(2, "answer ")];
  const live = [piece(2, "is "), piece(2, "42")];
  crew = applyCrew({ ...crew, seen: lastId() - 2 }, live);
  assert.deepEqual([coming(crew)?.text, coming(crew)?.is_partial], ["is 42", true]);
  assert.deepEqual([coming(withEarlier(crew, "c", missed))?.text, coming(withEarlier(crew, "c", missed))?.is_partial], ["the answer is 42", false]);
  assert.equal(coming(withEarlier(crew, "c", [...missed, ...live]))?.text, "the answer is 42", "what came already is not told twice");
  assert.equal(coming(withEarlier(crew, "c", missed.slice(2)))?.is_partial, true, "its beginning is still missing");
  assert.equal(coming(withEarlier(crew, "c", []))?.text, "is 42");
  assert.equal(coming(applyCrew(opened(), [event("chat.turn", { turn: "running" }), piece(2, "x")]))?.is_partial, false);
  assert.equal(coming(takeChat(opened(), { id: "c", status: "active", turn: "running" }, lastId(), true)), undefined, "of one's own turn nothing is missed");
});

test("after the stream was away, pieces that no log holds are not joined over the gap", () => {
  const running = applyCrew(opened(), [event("chat.turn", { turn: "running" })]);
  const lost = applyCrew(reconnected(applyCrew(running, [{ ...piece(2, "be"), id: null }])), [{ ...piece(2, "end"), id: null }]);
  assert.deepEqual([coming(lost)?.text, coming(lost)?.is_partial], ["end", true]);
  const kept = applyCrew(reconnected(applyCrew(running, [piece(2, "be")])), [piece(2, "gin")]);
  assert.deepEqual([coming(kept)?.text, coming(kept)?.is_partial], ["begin", false]);
});

test("a chat begins, fails a turn, goes on, ends, and begins again by saying something", () => {
  let crew = applyCrew(nobody, [event("chat.started", { agent: "lead", model: "opus", title: "Plan", folder: "f", depth: 0 }), event("chat.turn", { turn: "running" }),
    event("chat.waiting", { task_id: null, why: "rate_limited", seconds: 12 })]);
  assert.equal(waitingText(crew.chats.get("c")!.waiting!, Date.parse("2026-11-16T10:00:02Z")), "rate limited, retrying in 10 s");
  crew = applyCrew(crew, [event("chat.turn", { turn: "idle", error: { type: "not_configured", message: "no key" } })]);
  assert.deepEqual([crew.chats.get("c")?.error, crew.chats.get("c")?.waiting], [{ type: "not_configured", message: "no key" }, undefined]);
  crew = applyCrew(crew, [event("chat.turn", { turn: "running" })]);
  assert.equal(crew.chats.get("c")?.error, undefined);
  crew = applyCrew(crew, [event("chat.ended", { status: "completed" })]);
  assert.deepEqual([crew.chats.get("c")?.status, crew.chats.get("c")?.turn, crew.chats.get("c")?.agent], ["completed", "idle", "lead"]);
  assert.equal(applyCrew(crew, [event("chat.turn", { turn: "running" })]).chats.get("c")?.status, "active");
});

test("a subagent goes from queued over running to its end, and never back", () => {
  let crew = applyCrew(opened(), [sub("queued", { position: 2 })]);
  assert.deepEqual([crew.subagents.get("3f")?.status, crew.subagents.get("3f")?.queue_position, crew.subagents.get("3f")?.after], ["queued", 2, 1]);
  crew = applyCrew(crew, [sub("started", { depth: 1, model: "haiku" }), sub("tool", { name: "read_note", summary: "notes/a" }), piece(1, "think", { task_id: "3f" }), piece(1, "ing", { task_id: "3f" })]);
  const running = crew.subagents.get("3f")!;
  assert.deepEqual([running.status, running.model, running.tools, running.tool_count, running.coming?.text], ["running", "haiku", [{ name: "read_note", summary: "notes/a" }], 1, "thinking"]);
  assert.equal(coming(crew), undefined, "its text is not the chat's");
  assert.equal(subagentSince(running, Date.parse("2026-11-16T10:00:08Z")), "for 8 s");
  crew = applyCrew(crew, [sub("completed", { summary: "41 pass", tokens: 14100, cost_usd: 0.02, duration_ms: 68_000, file: "s/tester-3f.md" })]);
  crew = takeSubagents(crew, [{ task_id: "3f", agent: "tester", status: "running", task: "test it" }]);
  crew = applyCrew(crew, [sub("started"), sub("failed", { error_type: "late" })]);
  const done = crew.subagents.get("3f")!;
  assert.deepEqual([done.status, done.summary, done.task, done.coming, subagentSince(done, 0)], ["completed", "41 pass", "test it", undefined, "took 1 min 8 s"]);
});

test("a failed subagent tells its type and its message", () => {
  const crew = applyCrew(opened(), [sub("started"), sub("failed", { error_type: "ToolError", message: "ctest exited 8", severity: "error", file: "s/tester-3f.md" })]);
  const { status, error_type, error_message, severity } = crew.subagents.get("3f")!;
  assert.deepEqual([status, error_type, error_message, severity], ["failed", "ToolError", "ctest exited 8", "error"]);
});

test("lists replace what was known, but not what is looked at or has just begun", () => {
  let crew = applyCrew(opened(), [event("chat.started", { chat_id: "new" }), event("chat.started", { chat_id: "old" }, 1)]);
  crew = takeChats({ ...crew, chats: new Map(crew.chats).set("gone", { id: "gone", status: "active" }) }, [{ id: "d", status: "failed" }], lastId() - 1);
  assert.deepEqual([...crew.chats.keys()].sort(), ["c", "d", "new"]);
  crew = takeChats(crew, [{ id: "busy", status: "active", turn: "running", started_at: "1" }, { id: "d", status: "failed", started_at: "2" }], lastId());
  assert.equal(chatsInOrder(crew.chats)[0]?.id, "busy");
});

test("what is held has a limit, in number and in length", () => {
  const many = Array.from({ length: 900 }, (_, i) => [event("chat.started", { chat_id: `c${i}` }), event("subagent.completed", { task_id: `t${i}`, chat_id: `c${i}`, agent: "a" })]).flat();
  const crew = applyCrew(opened(), many);
  assert.ok(crew.chats.size <= 201 && crew.subagents.size <= 500);
  assert.ok(crew.chats.has("c"), "the open one stays");
  const long = applyCrew(applyCrew(opened(), [sub("started")]), Array.from({ length: 40 }, () => [piece(2, "x".repeat(60_000)), piece(1, "y".repeat(1000), { task_id: "3f" }), sub("tool", { name: "n" })]).flat());
  assert.deepEqual([coming(long)?.text.length, long.subagents.get("3f")?.coming?.text.length, long.subagents.get("3f")?.tools?.length], [1 << 20, 4096, 20]);
});

test("events of other rooms leave the very same state but for the number", () => {
  const crew = opened();
  assert.equal(applyCrew(crew, [event("heartbeat", {}, null)]), crew);
  assert.equal(applyCrew(crew, [event("agent.output")]).chats, crew.chats);
});

test("events without what they need are passed over", () => {
  const nameless = { ...event("chat.turn"), entity: "", data: { turn: "running" } };
  const crew = applyCrew(opened(), [nameless, event("subagent.started"), event("chat.entry", { text: "no number" }), event("chat.text", { n: "2", text: 7 }), event("chat.turn", { turn: 5, error: "x" })]);
  assert.deepEqual([numbers(crew), crew.subagents.size, crew.chats.get("c")?.turn, crew.chats.get("c")?.error], [[1], 0, "idle", undefined]);
});

test("pieces need no number: the next entry that is no note voids them", () => {
  const unnumbered = (text: string) => event("chat.text", { task_id: null, text });
  let crew = applyCrew(opened(), [event("chat.turn", { turn: "running" }), unnumbered("Hel"), event("chat.entry", { n: 2, role: "note", text: "→ Running", about: "3f" }), unnumbered("lo")]);
  assert.equal(coming(crew)?.text, "Hello");
  crew = takeChat(crew, { id: "c", status: "active", turn: "running", entries: [entry(1, "user")], last_event: lastId() }, lastId());
  assert.equal(coming(crew)?.text, "Hello", "a reply does not void what is still coming");
  crew = applyCrew(crew, [event("chat.entry", { ...entry(3) }), unnumbered("Next")]);
  assert.equal(coming(crew)?.text, "Next");
  crew = applyCrew(crew, [event("chat.restarted"), unnumbered("anew")]);
  assert.equal(coming(crew)?.text, "anew");
});

test("a snapshot means that something was missed", () => {
  let crew = applyCrew(opened(), [event("chat.turn", { turn: "running" }), piece(2, "old")]);
  crew = applyCrew(crew, [event("state.snapshot"), piece(2, "new")]);
  assert.deepEqual([coming(crew)?.text, coming(crew)?.is_partial], ["new", true]);
});

test("a primary's tool is shown until it speaks; a subagent's words go with its entry", () => {
  let crew = applyCrew(opened(), [event("chat.turn", { turn: "running" }), event("chat.tool", { task_id: null, name: "read_note", summary: "a" })]);
  assert.deepEqual(crew.chats.get("c")?.tool, { name: "read_note", summary: "a" });
  assert.equal(applyCrew(crew, [piece(2, "x")]).chats.get("c")?.tool, undefined);
  crew = applyCrew(crew, [sub("started"), piece(1, "said", { task_id: "3f" }), sub("entry", { n: 2, role: "assistant" })]);
  assert.deepEqual([crew.subagents.get("3f")?.coming, crew.subagents.get("3f")?.status], [undefined, "running"]);
});

test("a chat that was pruned is gone with its subagents", () => {
  const crew = applyCrew(applyCrew(opened(), [sub("completed")]), [event("chat.pruned")]);
  assert.deepEqual([crew.chats.has("c"), crew.subagents.size], [false, 0]);
});

test("a list's zero for the last event is no number; the failure of a turn comes and goes with replies too", () => {
  const failure = { type: "timed_out", message: "no answer" };
  let crew = applyCrew(nobody, [event("chat.started")]);
  crew = takeChat(crew, { id: "c", status: "active", turn: "idle", last_event: 0, error: failure }, lastId());
  assert.deepEqual(crew.chats.get("c")?.error, failure);
  assert.equal(takeChat(crew, { id: "c", status: "active", turn: "idle" }, lastId()).chats.get("c")?.error, undefined);
});
