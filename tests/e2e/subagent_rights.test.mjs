// What a subagent may do: never more than its parent, always the baseline, one level deep; and that this holds when its mind
// asks all the same.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { codeOf } from "./harness.mjs";
import { cast, every_permission, filed, report, running, served, spawning, told } from "./harness/cast.mjs";

const baseline = ["FilesystemRead", "SemanticSearch"];
const sorted = (list) => [...list].sort();

/// A primary that spawns once, with `more`, in a chat that may do `permissions`.
async function spawned(t, more, permissions, parts = {}, options = {}) {
  const scene = await cast(t, { assistant: [{ text: "I ask.", tools: [spawning("worker", "work", more)] }, { text: "done" }], worker: { text: report("Worked.") }, ...parts }, options);
  const chat = await scene.crew.chat({ message: "go", permissions });
  return { ...scene, chat, result: told(scene.asked("assistant"))[0] };
}

test("SA-17: without a list of its own a subagent has what its parent has", async (t) => {
  const { chat, asked } = await spawned(t, {}, ["FilesystemWrite", "ProcessSpawn"]);
  const { subagents: [note], metadata } = await filed(chat);
  assert.deepEqual(sorted(note.front.permissions), sorted([...baseline, "FilesystemWrite", "ProcessSpawn"]));
  assert.deepEqual([note.front.requested_permissions, metadata.subagents[0].inherited], [null, true]);
  const { tools } = asked("worker")[0];
  for (const tool of ["write_file", "edit_file", "run_command"]) assert.ok(tools.includes(tool), `${tools}`);
});

test("SA-18: with a list it has that and the baseline; the list is kept", async (t) => {
  const { chat, asked } = await spawned(t, { permissions: ["FilesystemWrite"] }, ["all"]);
  const { subagents: [note], metadata } = await filed(chat);
  assert.deepEqual(sorted(note.front.permissions), sorted([...baseline, "FilesystemWrite"]));
  assert.deepEqual([note.front.requested_permissions, metadata.subagents[0].inherited], [["FilesystemWrite"], false]);
  const { tools } = asked("worker")[0];
  assert.ok(tools.includes("write_file") && !tools.includes("run_command"), `${tools}`);
  assert.deepEqual(sorted((await chat.record()).permissions), sorted(every_permission));
});

test("SA-19: the baseline cannot be taken away", async (t) => {
  const { chat, asked } = await spawned(t, { permissions: ["DatabaseRead"] }, ["all"]);
  const { subagents: [note] } = await filed(chat);
  assert.deepEqual(sorted(note.front.permissions), sorted([...baseline, "DatabaseRead"]));
  for (const tool of ["read_note", "list_notes", "semantic_search", "read_file"]) assert.ok(asked("worker")[0].tools.includes(tool));
});

test("SA-18, SA-20: a permission that the parent lacks is refused with its name and the parent's, and the primary goes on", async (t) => {
  const { chat, result, asked } = await spawned(t, { permissions: ["NetworkAccess"] }, ["FilesystemWrite"]);
  assert.equal(result.is_error, true);
  assert.match(result.text, /NetworkAccess/);
  assert.match(result.text, /its permissions are: [^\n]*FilesystemRead[^\n]*FilesystemWrite[^\n]*SemanticSearch/);
  assert.equal(await chat.answer(), "done");
  assert.equal(asked("worker").length, 0);
  assert.deepEqual((await filed(chat)).subagents, []);
});

test("so is an agent whose definition needs more than the parent has, and a permission that is none", async (t) => {
  const { crew, asked } = await cast(t, { assistant: [{ text: "x", tools: [spawning("eager", "a"), spawning("eager", "b", { permissions: ["Filesystemwrite"] })] }, { text: "done" }] },
    { agents: { eager: { permissions: ["FilesystemRead", "DatabaseWrite"] } } });
  const chat = await crew.chat({ message: "go" });
  const [needs, unknown] = told(asked("assistant"));
  assert.ok(needs.is_error && unknown.is_error);
  assert.match(needs.text, /eager[^]*DatabaseWrite[^]*FilesystemRead/);
  assert.match(unknown.text, /Filesystemwrite[^]*did you mean FilesystemWrite/);
  assert.equal(await chat.answer(), "done");
});

test("SA-10: what was not granted is refused when it is asked for: files, commands, edits outside", async (t) => {
  const uses = (crew) => [
    { name: "write_file", input: { path: "made.txt", content: "x" } },
    { name: "edit_file", input: { path: "kept.txt", old: "kept", new: "lost" } },
    running("touch ran.txt"),
    { name: "read_file", input: { path: "../../../../etc/passwd" } },
    { name: "read_file", input: { path: `${crew.home}/.config/crucible/keys/anthropic` } },
    { name: "read_file", input: { path: ".coven/token" } },
    { name: "no_such_tool", input: {} },
    { name: "submit_work", input: { task_type: "t", description: "d" } },
  ];
  let crew;
  const scene = await cast(t, { assistant: [{ text: "x", tools: [spawning("worker", "w", { permissions: ["SemanticSearch"] })] }, { text: "done" }],
    worker: ({ turn }) => (turn === 0 ? { text: "I try.", tools: uses(crew) } : { text: report("Refused.") }) }, { notes: { "kept.txt": "kept\n" } });
  crew = scene.crew;
  const chat = await crew.chat({ message: "go", permissions: ["all"] });
  const results = told(scene.asked("worker"));
  assert.equal(results.length, 8);
  for (const { is_error, text } of results) assert.ok(is_error, text);
  assert.match(results[0].text, /write_file needs the permission FilesystemWrite[^]*FilesystemRead, SemanticSearch/);
  assert.match(results[2].text, /ProcessSpawn/);
  assert.ok(!existsSync(crew.path("made.txt")) && !existsSync(crew.path("ran.txt")));
  assert.equal(readFileSync(crew.path("kept.txt"), "utf8"), "kept\n");
  for (const { text } of results) assert.doesNotMatch(text, /root:|sk-test/);
  assert.equal((await filed(chat)).subagents[0].front.status, "completed");
});

test("with the permission it writes, but only inside the project, and never its own rights", async (t) => {
  let outside;
  const scene = await cast(t, { assistant: [{ text: "x", tools: [spawning("worker", "w", { permissions: ["FilesystemWrite"] })] }, { text: "done" }],
    worker: ({ turn }) => (turn === 0 ? { text: "I try.", tools: [
      { name: "write_file", input: { path: "made.txt", content: "made\n" } },
      { name: "write_file", input: { path: outside, content: "x" } },
      { name: "edit_file", input: { path: "../outside.txt", old: "a", new: "b" } },
      { name: "write_file", input: { path: ".crucible/agents/worker.md", content: "x" } },
      { name: "edit_file", input: { path: ".crucible/config.yaml", old: "models", new: "x" } },
      { name: "write_file", input: { path: ".coven/token", content: "x" } },
      { name: "write_file", input: { path: ".crucible/sessions/x.md", content: "x" } },
    ] } : { text: report("Wrote.") }) });
  outside = `${scene.crew.home}/made.txt`;
  const before = readFileSync(scene.crew.path(".crucible/config.yaml"), "utf8");
  await scene.crew.chat({ message: "go", permissions: ["all"] });
  const results = told(scene.asked("worker"));
  assert.deepEqual(results.map(({ is_error }) => is_error), [false, true, true, true, true, true, true], JSON.stringify(results));
  assert.equal(readFileSync(scene.crew.path("made.txt"), "utf8"), "made\n");
  assert.ok(!existsSync(outside) && !existsSync(scene.crew.path(".crucible/sessions/x.md")));
  assert.equal(readFileSync(scene.crew.path(".crucible/config.yaml"), "utf8"), before);
});

test("SA-25, SA-26, SA-27, SA-28: the primary is at 0, a subagent at 1, and what it spawns is refused in words it can act on", async (t) => {
  const { crew, asked } = await cast(t, {
    assistant: [{ text: "x", tools: [spawning("worker", "w")] }, { text: "done" }],
    worker: ({ turn, results }) => (turn === 0 ? { text: "I want help.", tools: [spawning("helper", "help")] } : { text: report(`Alone: ${results[0].is_error}`) }),
    helper: { text: report("never") },
  });
  const chat = await crew.chat({ message: "go", permissions: ["all"] });
  const [refusal] = told(asked("worker"));
  assert.equal(refusal.is_error, true);
  assert.match(refusal.text, /Maximum agent depth \(2\) exceeded/);
  assert.match(refusal.text, /subagents cannot spawn their own subagents/);
  assert.ok(!asked("worker")[0].tools.includes("spawn_agent"), "it is not offered either");
  assert.ok(asked("assistant")[0].tools.includes("spawn_agent"));
  assert.equal(asked("helper").length, 0);
  const { metadata, subagents: [note, ...more] } = await filed(chat);
  assert.deepEqual([metadata.depth, metadata.subagents[0].depth, note.front.depth, more.length], [0, 1, 1, 0]);
  assert.match(note.body, /Alone: true/);
  assert.equal(chat.events("subagent.started")[0].data.depth, 1);
});

test("SA-27: the depth error is the same for an agent whose definition lists its tools, or takes spawning away", async (t) => {
  const { crew, asked } = await cast(t, {
    assistant: [{ text: "x", tools: [spawning("lister", "a"), spawning("taker", "b")] }, { text: "done" }],
    lister: ({ turn }) => (turn === 0 ? { text: "I want help.", tools: [spawning("helper", "help")] } : { text: report("Alone.") }),
    taker: ({ turn }) => (turn === 0 ? { text: "I want help.", tools: [spawning("helper", "help")] } : { text: report("Alone.") }),
    helper: { text: report("never") },
  }, { agents: { lister: { tools: ["Read"] }, taker: { disallowedTools: ["Task"] } } });
  await crew.chat({ message: "go", permissions: ["all"] });
  for (const name of ["lister", "taker"]) {
    const [refusal] = told(asked(name));
    assert.equal(refusal.is_error, true);
    assert.match(refusal.text, /Maximum agent depth \(2\) exceeded: subagents cannot spawn their own subagents/, name);
  }
});

test("an agent that requires approvals is refused where nobody could hold its tools back: as a program that cannot be made to ask, and as a live agent", async (t) => {
  const { crew } = await cast(t, { careful: { text: report("never") } }, { agents: { careful: { permissions: ["FilesystemRead"], requires_approval: ["FilesystemWrite"] } },
    models: { sonnet: served(), program: { provider: "codex" } }, standin: {} });
  const live = await crew.post("/live", { definition: "careful" });
  assert.deepEqual([live.status, codeOf(live.json)], [403, "forbidden"], live.text);
  const chat = await crew.post("/chats", { agent: "careful", model: "program", message: "hello" });
  assert.deepEqual([chat.status, codeOf(chat.json)], [403, "forbidden"], chat.text);
  assert.match(chat.text, /agent careful requires approval for FilesystemWrite, and codex uses tools of its own/);
  assert.deepEqual(crew.starts("codex"), [], "it has never begun");
});

test("SA-58: every spawn has a trace id of its own, in its file, its events and the metadata", async (t) => {
  const { crew } = await cast(t, { assistant: [{ text: "x", tools: [spawning("worker", "a"), spawning("worker", "b")] }, { text: "done" }], worker: { text: report("Worked.") } });
  const chat = await crew.chat({ message: "go" });
  const { subagents, metadata } = await filed(chat);
  const ids = subagents.map(({ front }) => front.trace_id);
  assert.equal(new Set([...ids, metadata.trace_id]).size, 3, "and the chat has another");
  assert.deepEqual(metadata.subagents.map(({ trace_id }) => trace_id).sort(), [...ids].sort());
  for (const type of ["subagent.queued", "subagent.started", "subagent.completed"]) assert.deepEqual(chat.events(type).map(({ data }) => data.trace_id).sort(), [...ids].sort(), type);
});

test("tools that a definition takes away are neither offered nor carried out", async (t) => {
  const { crew, asked } = await cast(t, { assistant: [{ text: "x", tools: [spawning("worker", "w")] }, { text: "done" }],
    worker: ({ turn }) => (turn === 0 ? { text: "I try.", tools: [{ name: "write_file", input: { path: "made.txt", content: "x" } }] } : { text: report("Tried.") }) }, { agents: { worker: { disallowedTools: ["Write", "Bash"] } } });
  await crew.chat({ message: "go", permissions: ["all"] });
  assert.ok(!asked("worker")[0].tools.includes("write_file") && !asked("worker")[0].tools.includes("run_command"), `${asked("worker")[0].tools}`);
  assert.ok(told(asked("worker"))[0].is_error);
  assert.ok(!existsSync(crew.path("made.txt")));
});
