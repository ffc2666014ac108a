import assert from "node:assert/strict";
import { test } from "node:test";
import { lastId } from "../base/event_fixture.ts";
import { entry, event, numbers, opened, piece, streaming, sub } from "./crew_fixture.ts";
import { applyCrew, chatsInOrder, empty_crew, mergeChat, mergeChats, mergeSubagents, openedChat, reconnected, withMissedText } from "./state.ts";
import { subagentSince, waitingText } from "./texts.ts";

test("a turn: chunks are joined, then replaced by the complete entry", () => {
  let crew = applyCrew(opened(), [event("chat.turn", { turn: "running" }), piece(2, "Hel"), piece(2, "lo")]);
  assert.deepEqual([streaming(crew)?.text, streaming(crew)?.is_partial, crew.chats.get("c")?.turn], ["Hello", false, "running"]);
  crew = applyCrew(crew, [event("chat.entry", { ...entry(2, "assistant", "Hello.") }), piece(2, " late")]);
  assert.equal(streaming(crew), undefined);
  assert.deepEqual(numbers(crew), [1, 2]);
  crew = applyCrew(crew, [piece(3, "more"), event("chat.turn", { turn: "idle" })]);
  assert.deepEqual([streaming(crew), crew.chats.get("c")?.turn], [undefined, "idle"]);
});

test("chunks start over after a restart; repeated events are not appended twice", () => {
  const running = event("chat.turn", { turn: "running" });
  const told = piece(2, "a");
  let crew = applyCrew(opened(), [running, told, piece(2, "b")]);
  crew = applyCrew(crew, [told]);
  assert.equal(streaming(crew)?.text, "ab");
  crew = applyCrew(crew, [event("chat.restarted", { n: 2 }), piece(2, "c")]);
  assert.equal(streaming(crew)?.text, "c");
});

test("a snapshot of another log with lower ids is accepted", () => {
  let crew = applyCrew({ ...opened(), seen: 9000 }, [event("state.snapshot", {}, 3), event("chat.entry", { ...entry(2) }, 4)]);
  assert.deepEqual([crew.seen, numbers(crew)], [4, [1, 2]]);
});

test("an entry is shown once and in order, however it arrives", () => {
  let crew = applyCrew(opened(), [event("chat.entry", { ...entry(3) }), event("chat.entry", { ...entry(2) }), event("chat.entry", { ...entry(3, "assistant", "other") })]);
  crew = mergeChat(crew, { id: "c", status: "active", entries: [entry(1, "user"), entry(2)] }, lastId());
  assert.deepEqual([...crew.entries.values()].map(({ n, text }) => [n, text]), [[1, "entry 1"], [2, "entry 2"], [3, "entry 3"]]);
  crew = applyCrew(crew, [event("chat.entry", { chat_id: "another", ...entry(9) })]);
  assert.deepEqual(numbers(crew), [1, 2, 3], "of the open chat only");
});

test("a reply that is older than an event does not undo it, but updates the costs", () => {
  let crew = opened();
  const asked_at = crew.seen;
  crew = applyCrew(crew, [event("chat.turn", { turn: "running" })]);
  crew = mergeChat(crew, { id: "c", status: "active", turn: "idle", total_tokens: 70, title: "T" }, asked_at);
  assert.deepEqual([crew.chats.get("c")?.turn, crew.chats.get("c")?.total_tokens, crew.chats.get("c")?.title], ["running", 70, "T"]);
});

test("an event that a reply has already included changes nothing", () => {
  const running = event("chat.turn", { turn: "running" });
  const crew = applyCrew(mergeChat(opened(), { id: "c", status: "active", turn: "idle", last_event: (running.id ?? 0) + 1 }, 0), [running]);
  assert.equal(crew.chats.get("c")?.turn, "idle");
});

test("a page opened during an answer marks it as partial and completes it from the log", () => {
  let crew = mergeChat(openedChat({ ...empty_crew, seen: lastId() }, "c"), { id: "c", status: "active", turn: "running", entries: [entry(1, "user")] }, lastId());
  const missed = [event("chat.entry", { ...entry(1, "user") }), piece(2, "the "), piece(2, "answer ")];
  const live = [piece(2, "is "), piece(2, "42")];
  crew = applyCrew({ ...crew, seen: lastId() - 2 }, live);
  assert.deepEqual([streaming(crew)?.text, streaming(crew)?.is_partial], ["is 42", true]);
  assert.deepEqual([streaming(withMissedText(crew, "c", missed))?.text, streaming(withMissedText(crew, "c", missed))?.is_partial], ["the answer is 42", false]);
  assert.equal(streaming(withMissedText(crew, "c", [...missed, ...live]))?.text, "the answer is 42", "received chunks are not repeated");
  assert.equal(streaming(withMissedText(crew, "c", missed.slice(2)))?.is_partial, true, "its beginning is still missing");
  assert.equal(streaming(withMissedText(crew, "c", []))?.text, "is 42");
  assert.equal(streaming(applyCrew(opened(), [event("chat.turn", { turn: "running" }), piece(2, "x")]))?.is_partial, false);
  assert.equal(streaming(mergeChat(opened(), { id: "c", status: "active", turn: "running" }, lastId(), true)), undefined, "nothing is missed of a turn that this page started");
});

test("after a reconnection, chunks that are not in the log are not joined across the gap", () => {
  const running = applyCrew(opened(), [event("chat.turn", { turn: "running" })]);
  const lost = applyCrew(reconnected(applyCrew(running, [{ ...piece(2, "be"), id: null }])), [{ ...piece(2, "end"), id: null }]);
  assert.deepEqual([streaming(lost)?.text, streaming(lost)?.is_partial], ["end", true]);
  const kept = applyCrew(reconnected(applyCrew(running, [piece(2, "be")])), [piece(2, "gin")]);
  assert.deepEqual([streaming(kept)?.text, streaming(kept)?.is_partial], ["begin", false]);
});

test("a chat starts, fails a turn, continues, ends, and is resumed by a message", () => {
  let crew = applyCrew(empty_crew, [event("chat.started", { agent: "lead", model: "opus", title: "Plan", folder: "f", depth: 0 }), event("chat.turn", { turn: "running" }),
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

test("a subagent goes from queued to running to its end, and never back", () => {
  let crew = applyCrew(opened(), [sub("queued", { position: 2 })]);
  assert.deepEqual([crew.subagents.get("3f")?.status, crew.subagents.get("3f")?.queue_position, crew.subagents.get("3f")?.after], ["queued", 2, 1]);
  crew = applyCrew(crew, [sub("started", { depth: 1, model: "haiku" }), sub("tool", { name: "read_note", summary: "notes/a" }), piece(1, "think", { task_id: "3f" }), piece(1, "ing", { task_id: "3f" })]);
  const running = crew.subagents.get("3f")!;
  assert.deepEqual([running.status, running.model, running.tools, running.tool_count, running.streaming?.text], ["running", "haiku", [{ name: "read_note", summary: "notes/a" }], 1, "thinking"]);
  assert.equal(streaming(crew), undefined, "its text is not the chat's");
  assert.equal(subagentSince(running, Date.parse("2026-11-16T10:00:08Z")), "for 8 s");
  crew = applyCrew(crew, [sub("completed", { summary: "41 pass", tokens: 14100, cost_usd: 0.02, duration_ms: 68_000, file: "s/tester-3f.md" })]);
  crew = mergeSubagents(crew, [{ task_id: "3f", agent: "tester", status: "running", task: "test it" }]);
  crew = applyCrew(crew, [sub("started"), sub("failed", { error_type: "late" })]);
  const done = crew.subagents.get("3f")!;
  assert.deepEqual([done.status, done.summary, done.task, done.streaming, subagentSince(done, 0)], ["completed", "41 pass", "test it", undefined, "took 1 min 8 s"]);
});

test("a failed subagent has the type and message of its error", () => {
  const crew = applyCrew(opened(), [sub("started"), sub("failed", { error_type: "ToolError", message: "ctest exited 8", severity: "error", file: "s/tester-3f.md" })]);
  const { status, error_type, error_message, severity } = crew.subagents.get("3f")!;
  assert.deepEqual([status, error_type, error_message, severity], ["failed", "ToolError", "ctest exited 8", "error"]);
});

test("a list replaces the chats except the open one and new ones", () => {
  let crew = applyCrew(opened(), [event("chat.started", { chat_id: "new" }), event("chat.started", { chat_id: "old" }, 1)]);
  crew = mergeChats({ ...crew, chats: new Map(crew.chats).set("gone", { id: "gone", status: "active" }) }, [{ id: "d", status: "failed" }], lastId() - 1);
  assert.deepEqual([...crew.chats.keys()].sort(), ["c", "d", "new"]);
  crew = mergeChats(crew, [{ id: "busy", status: "active", turn: "running", started_at: "1" }, { id: "d", status: "failed", started_at: "2" }], lastId());
  assert.equal(chatsInOrder(crew.chats)[0]?.id, "busy");
});

test("number and length of what is kept are limited", () => {
  const many = Array.from({ length: 900 }, (_, i) => [event("chat.started", { chat_id: `c${i}` }), event("subagent.completed", { task_id: `t${i}`, chat_id: `c${i}`, agent: "a" })]).flat();
  const crew = applyCrew(opened(), many);
  assert.ok(crew.chats.size <= 201 && crew.subagents.size <= 500);
  assert.ok(crew.chats.has("c"), "the open one stays");
  const long = applyCrew(applyCrew(opened(), [sub("started")]), Array.from({ length: 40 }, () => [piece(2, "x".repeat(60_000)), piece(1, "y".repeat(1000), { task_id: "3f" }), sub("tool", { name: "n" })]).flat());
  assert.deepEqual([streaming(long)?.text.length, long.subagents.get("3f")?.streaming?.text.length, long.subagents.get("3f")?.tools?.length], [1 << 20, 4096, 20]);
});

test("other events change only the last event id", () => {
  const crew = opened();
  assert.equal(applyCrew(crew, [event("heartbeat", {}, null)]), crew);
  assert.equal(applyCrew(crew, [event("agent.output")]).chats, crew.chats);
});

test("incomplete events are ignored", () => {
  const nameless = { ...event("chat.turn"), entity: "", data: { turn: "running" } };
  const crew = applyCrew(opened(), [nameless, event("subagent.started"), event("chat.entry", { text: "no number" }), event("chat.text", { n: "2", text: 7 }), event("chat.turn", { turn: 5, error: "x" })]);
  assert.deepEqual([numbers(crew), crew.subagents.size, crew.chats.get("c")?.turn, crew.chats.get("c")?.error], [[1], 0, "idle", undefined]);
});

test("chunks without a number are replaced by the next entry that is not a note", () => {
  const unnumbered = (text: string) => event("chat.text", { task_id: null, text });
  let crew = applyCrew(opened(), [event("chat.turn", { turn: "running" }), unnumbered("Hel"), event("chat.entry", { n: 2, role: "note", text: "→ Running", about: "3f" }), unnumbered("lo")]);
  assert.equal(streaming(crew)?.text, "Hello");
  crew = mergeChat(crew, { id: "c", status: "active", turn: "running", entries: [entry(1, "user")], last_event: lastId() }, lastId());
  assert.equal(streaming(crew)?.text, "Hello", "a reply does not void what is still coming");
  crew = applyCrew(crew, [event("chat.entry", { ...entry(3) }), unnumbered("Next")]);
  assert.equal(streaming(crew)?.text, "Next");
  crew = applyCrew(crew, [event("chat.restarted"), unnumbered("anew")]);
  assert.equal(streaming(crew)?.text, "anew");
});

test("a snapshot marks streaming entries as partial", () => {
  let crew = applyCrew(opened(), [event("chat.turn", { turn: "running" }), piece(2, "old")]);
  crew = applyCrew(crew, [event("state.snapshot"), piece(2, "new")]);
  assert.deepEqual([streaming(crew)?.text, streaming(crew)?.is_partial], ["new", true]);
});

test("a tool is shown until the agent's next text; a subagent's text ends with its entry", () => {
  let crew = applyCrew(opened(), [event("chat.turn", { turn: "running" }), event("chat.tool", { task_id: null, name: "read_note", summary: "a" })]);
  assert.deepEqual(crew.chats.get("c")?.tool, { name: "read_note", summary: "a" });
  assert.equal(applyCrew(crew, [piece(2, "x")]).chats.get("c")?.tool, undefined);
  crew = applyCrew(crew, [sub("started"), piece(1, "said", { task_id: "3f" }), sub("entry", { n: 2, role: "assistant" })]);
  assert.deepEqual([crew.subagents.get("3f")?.streaming, crew.subagents.get("3f")?.status], [undefined, "running"]);
});

test("a pruned chat is removed with its subagents", () => {
  const crew = applyCrew(applyCrew(opened(), [sub("completed")]), [event("chat.pruned")]);
  assert.deepEqual([crew.chats.has("c"), crew.subagents.size], [false, 0]);
});

test("a last_event of 0 is ignored; replies also set and clear the error of a turn", () => {
  const failure = { type: "timed_out", message: "no answer" };
  let crew = applyCrew(empty_crew, [event("chat.started")]);
  crew = mergeChat(crew, { id: "c", status: "active", turn: "idle", last_event: 0, error: failure }, lastId());
  assert.deepEqual(crew.chats.get("c")?.error, failure);
  assert.equal(mergeChat(crew, { id: "c", status: "active", turn: "idle" }, lastId()).chats.get("c")?.error, undefined);
});
