// The harness of the crew's tests itself: the reader of frontmatter and the checker of a session's folder, with planted faults.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Chat, Crew, key, linksIn, parseMarkdown, problemsOf, checkSessionFolder, toMarkdown, toYaml } from "./harness/crew.mjs";

const name = "2026-11-15-review-the-login";
const trace_id = "0af7651916cd43dd8448eb211c80319c";
const permissions = ["FilesystemRead", "SemanticSearch"];
const at = (seconds) => `2026-11-15T10:00:0${seconds}.000Z`;

const subagent = (task_id, more = {}) => ({
  subagent_of: `[[${name}/session]]`, agent_name: "code-reviewer", task_id, spawned_at: at(1), completed_at: at(2), duration_ms: 900, model: "haiku", model_source: "definition", tokens: 120, cost_usd: 0.001,
  status: "completed", permissions, requested_permissions: null, depth: 1, trace_id, parent_chain: [name], ...more,
});
const listed = (front) => ({ task_id: front.task_id, file: `${front.agent_name}-${front.task_id}.md`, status: front.status, depth: 1, model_override: null, permissions: front.permissions, inherited: true, duration_ms: front.duration_ms, trace_id });
const failed = subagent("9c", { status: "failed", error_type: "overloaded", error_message: "try \"later\": now", stack_trace: null });
const report = `\n# report\n\nFor [[${name}/session]].\n\n## Summary\n\nFine.\n\n## Findings\n\nNone, see [[kiln]].\n`;

/// A good folder of a chat with two subagents, then `spoil({front, metadata, write, …})`.
function folder(t, spoil = () => {}) {
  const root = mkdtempSync(join(tmpdir(), "cru-folder-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const dir = join(root, ".crucible/sessions", name);
  mkdirSync(dir, { recursive: true });
  const made = {
    root, dir, subagents: [subagent("3f"), { ...failed }], bodies: { "3f": report, "9c": report },
    session: { session_id: name, title: "Review: the \"login\" — it's", started_at: at(0), primary_agent: "assistant", model: "sonnet", status: "completed", subagents: ["[[code-reviewer-3f]]", "[[code-reviewer-9c]]"] },
    body: "\n# Review\n\n- [[code-reviewer-3f]] completed\n- [[code-reviewer-9c|the other]] failed\n\n```\n[[not a link]]\n```\n`[[nor this]]`\n",
    metadata: { session_id: name, started_at: at(0), ended_at: at(3), status: "completed", depth: 0, queue_depth: 0, model: "sonnet", model_version: "claude-sonnet-4-5", total_tokens: 500, subagents: [listed(subagent("3f")), listed(failed)] },
    write: (file, text) => writeFileSync(join(dir, file), text),
  };
  writeFileSync(join(root, "kiln.md"), "a note\n");
  const later = spoil(made);
  made.write("session.md", `---\n${toYaml(made.session)}---\n${made.body}`);
  made.write("metadata.json", JSON.stringify(made.metadata));
  for (const front of made.subagents) made.write(`${front.agent_name}-${front.task_id}.md`, `---\n${toYaml(front)}---\n${made.bodies[front.task_id]}`);
  later?.();
  return dir;
}

test("a good folder has no problem, and is read", (t) => {
  const dir = folder(t);
  assert.deepEqual(problemsOf(dir), []);
  const { session, subagents, metadata } = checkSessionFolder(dir);
  assert.deepEqual([session.front.title, subagents.map((note) => note.name), metadata.depth], ["Review: the \"login\" — it's", ["code-reviewer-3f", "code-reviewer-9c"], 0]);
  assert.equal(subagents[1].front.error_message, "try \"later\": now");
});

const faults = {
  "session.md: there is no frontmatter": (made) => () => made.write("session.md", "# bare\n"),
  "stands twice": (made) => () => made.write("session.md", `---\nsession_id: a\nsession_id: b\n---\n${made.body}`),
  "must be quoted": (made) => () => made.write("session.md", `---\nsession_id: ${name}\ntitle: a: b\n---\n${made.body}`),
  "leads nowhere": (made) => { made.body += "\n[[lost]]\n"; },
  "no link [[code-reviewer-9c]]": (made) => { made.body = "\n[[code-reviewer-3f]]\n"; made.session.subagents = []; },
  "to its parent": (made) => { made.bodies["3f"] = "\n## Summary\n\n## Findings\n"; made.subagents[0].subagent_of = name; },
  "is not its session": (made) => { made.subagents[0].subagent_of = "another"; },
  "no ## Findings": (made) => { made.bodies["3f"] = `\n[[${name}/session]]\n\n## Summary\n\nx\n`; },
  "error_type is missing": (made) => { delete made.subagents[1].error_type; },
  "model_version is missing": (made) => { delete made.metadata.model_version; },
  "inherited is missing": (made) => { delete made.metadata.subagents[0].inherited; },
  "the task id 3f stands twice": (made) => { made.metadata.subagents.push(made.metadata.subagents[0]); },
  "is also in 2026-11-14-other": (made) => { mkdirSync(join(made.dir, "../2026-11-14-other")); writeFileSync(join(made.dir, "../2026-11-14-other/metadata.json"), '{"subagents":[{"task_id":"9c"}]}'); },
  "is no RFC 3339 time": (made) => { made.subagents[0].completed_at = "2026-11-15 10:00:02"; },
  "is before": (made) => { made.subagents[0].completed_at = at(0); made.subagents[0].duration_ms = 0; made.metadata.subagents[0].duration_ms = 0; },
  "is longer than": (made) => { made.subagents[0].duration_ms = made.metadata.subagents[0].duration_ms = 60_000; },
  "status here and in its file": (made) => { made.metadata.subagents[0].status = "failed"; },
  "status of session.md and metadata.json": (made) => { made.session.status = "active"; },
  "SemanticSearch is always granted": (made) => { made.subagents[0].permissions = made.metadata.subagents[0].permissions = ["FilesystemRead"]; },
  "there is no permission Everything": (made) => { made.subagents[0].permissions = made.metadata.subagents[0].permissions = [...permissions, "Everything"]; },
  "depth 2, a subagent's is 1": (made) => { made.subagents[0].depth = made.metadata.subagents[0].depth = 2; },
  "are less than the 240": (made) => { made.metadata.total_tokens = 239; },
  "a file that does not belong here": (made) => made.write("session.md.tmp", ""),
  "there is no file code-reviewer-aa.md": (made) => { made.metadata.subagents.push({ ...listed(subagent("aa")), status: "queued" }); },
  "is not among the subagents": (made) => { made.metadata.subagents.pop(); },
  "status running": (made) => { made.subagents[0].status = made.metadata.subagents[0].status = "running"; },
};
for (const [problem, spoil] of Object.entries(faults)) {
  test(`a fault is seen: ${problem}`, (t) => {
    const found = problemsOf(folder(t, spoil));
    assert.ok(found.some((one) => one.includes(problem)), JSON.stringify(found));
    assert.ok(found.length <= 2, `and only that: ${JSON.stringify(found)}`);
  });
}

test("while it runs a subagent may be queued without a file", (t) => {
  const dir = folder(t, (made) => { made.metadata.subagents.push({ ...listed(subagent("aa")), status: "queued" }); made.session.subagents.push("[[code-reviewer-aa]]"); });
  assert.deepEqual(problemsOf(dir, { running: true }), []);
});

test("frontmatter: what it takes, what it refuses", () => {
  const front = (text) => parseMarkdown(`---\n${text}\n---\nbody\n`).front;
  assert.deepEqual(front('a: 1\nb: "x\\n\\u00e9 [["\nc: [a, "b, c", []]\nd:\n  - one\n  - "two: 2"\ne: |\n  line\n    more\n\n  end\nf: null\ng: 0.500000\nh: {x: 1, "y": [true]}\ni: plain words # and a comment\nj:'),
    { a: 1, b: "x\né [[", c: ["a", "b, c", []], d: ["one", "two: 2"], e: "line\n  more\n\nend\n", f: null, g: 0.5, h: { x: 1, y: [true] }, i: "plain words", j: null });
  for (const bad of ["a: [1", "a: \"x", "a: \"x\" y", "a\n", "  a: 1", "a: &b c", "a: @b", "a: 1\n\tb: 2", "a: x\u0007"]) assert.throws(() => front(bad), undefined, bad);
  assert.deepEqual(parseMarkdown(toMarkdown({ a: ["x: y", "z"], b: null }, "the body")), { front: { a: ["x: y", "z"], b: null }, body: "\nthe body\n" });
  assert.deepEqual(linksIn("[[a]] [[b/c#d|e]] `[[f]]` ``[[g]] ` `` [[h]]\n```md\n[[i]]\n```\n~~~~\n[[j]]\n~~~~\n[[k]]"), ["a", "b/c", "h", "k"]);
});

test("a crew's project is written as it is configured; keys are the person's alone", async (t) => {
  const crew = new Crew({ models: { sonnet: "primary", big: { provider: "anthropic", id: "x" } }, server: { url: "http://127.0.0.1:1" }, providers: { anthropic: { retries: 2 } }, scripts: { primary: { replies: [{ say: "hi", when: { turn: 1 } }] } },
    agents: { tester: { model: "haiku", prompt: "Test." } }, user_agents: { mine: "---\nname: mine\n---\n" }, notes: { "notes/a.md": "# A\n" }, standin: { replies: [] } });
  t.after(() => crew.close());
  const read = (path) => readFileSync(crew.path(path), "utf8");
  assert.equal(read(".crucible/config.yaml"), 'models:\n  sonnet:\n    provider: "scripted"\n    script: ".crucible/scripts/primary.yaml"\n  big:\n    provider: "anthropic"\n    id: "x"\n');
  assert.equal(readFileSync(join(crew.config_home, "config.yaml"), "utf8"), 'confine: off\nproviders:\n  anthropic:\n    base_url: "http://127.0.0.1:1"\n    retries: 2\n  openai:\n    base_url: "http://127.0.0.1:1"\n');
  assert.equal(read(".crucible/scripts/primary.yaml"), 'replies:\n  - say: "hi"\n    when:\n      turn: 1\n');
  assert.deepEqual(parseMarkdown(read(".crucible/agents/tester.md")).front, { name: "tester", description: "The tester of the tests", permissions, model: "haiku" });
  assert.equal(readFileSync(join(crew.config_home, "agents/mine.md"), "utf8"), "---\nname: mine\n---\n");
  const secret = join(crew.config_home, "keys/anthropic");
  assert.deepEqual([readFileSync(secret, "utf8"), statSync(secret).mode & 0o777], [`${key}\n`, 0o600]);
  assert.equal(read("notes/a.md"), "# A\n");
  assert.match(crew.env.PATH, /fixtures\/bin/);
});

/// Answers as the daemon does, as far as a Chat asks: each message is a turn with a restart in it, told on the stream.
async function pretendDaemon(crew, t) {
  const [log, listeners, entries] = [[], new Set(), []];
  const frame = (event) => `event: ${event.type}\nid: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`;
  const emit = (type, data) => {
    const event = { id: log.length + 1, type, entity_id: data.chat_id, timestamp: new Date().toISOString(), data };
    log.push(event);
    for (const listener of listeners) listener.write(frame(event));
  };
  const turn = (text) => {
    entries.push({ n: entries.length + 1, role: "user", text });
    const n = entries.length + 1;
    emit("chat.turn", { chat_id: "c1", turn: "running" });
    emit("chat.turn", { chat_id: "another", turn: "idle" });
    for (const piece of ["lost", null, "you said ", text]) emit(piece === null ? "chat.restarted" : "chat.text", { chat_id: "c1", task_id: null, n, ...(piece === null ? {} : { text: piece }) });
    entries.push({ n, role: "assistant", text: `you said ${text}` });
    setTimeout(() => emit("chat.turn", { chat_id: "c1", turn: "idle", ...(text === "bad" ? { error: { type: "connection", message: "no" } } : {}) }), 20);
  };
  const server = http.createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://here");
    if (pathname === "/events") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(frame({ id: log.length, type: "state.snapshot", data: {} }));
      listeners.add(response);
      return response.on("close", () => listeners.delete(response));
    }
    let text = "";
    for await (const part of request) text += part;
    const body = text ? JSON.parse(text) : {};
    const answer = (status, value) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    if (pathname === "/chats") { if (body.message) turn(body.message); return answer(201, { id: "c1", status: "active", folder: ".crucible/sessions/c1" }); }
    if (pathname === "/chats/c1/messages") { turn(body.text); return answer(202, { id: "c1", status: "active" }); }
    const rest = entries.filter(({ n }) => n > Number(searchParams.get("after") ?? 0));
    return pathname === "/chats/c1" ? answer(200, { id: "c1", status: "active", entries: rest.slice(0, 2), more: rest.length > 2 }) : answer(404, { error: { code: "not_found" } });
  });
  mkdirSync(crew.path(".coven"), { recursive: true });
  await new Promise((resolve) => server.listen(crew.socket, resolve));
  t.after(() => { server.closeAllConnections(); server.close(); });
}

test("a chat: begun, waited for, gone on with, read page by page", async (t) => {
  const crew = new Crew();
  t.after(() => crew.close());
  await pretendDaemon(crew, t);
  const chat = await crew.chat({ message: "one" });
  assert.deepEqual([await chat.answer(), chat.streamed(2)], ["you said one", "you said one"]);
  await chat.say("two");
  assert.equal(await chat.answer(), "you said two");
  await chat.say("bad", { wait: false });
  assert.equal((await chat.idle()).error.type, "connection");
  assert.deepEqual([(await chat.entries()).length, chat.events("chat.turn").length, chat.streamed(6)], [6, 6, "you said bad"]);
  assert.ok(chat.events().every(({ seen }) => seen > 0));
  const joined = await Chat.joined(crew, "c1");
  await chat.say("four", { wait: false });
  assert.equal((await joined.idle()).turn, "idle");
  await assert.rejects(chat.crew.must(200, crew.get("/chats/none")), /404 instead of 200/);
  assert.equal(chat.folder, crew.path(".crucible/sessions/c1"));
});
