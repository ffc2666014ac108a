// Subagents as a primary uses them: spawned, by themselves, reported on, woven into one answer; and what stays in files.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { cast, filed, report, running, spawning, told } from "./harness/cast.mjs";

const review = "Review src/login.cc for SQL injection.";

test("SA-09, SA-10: a subagent gets its prompt and its task alone, and its report goes to the primary", async (t) => {
  const { crew, server, asked } = await cast(t, {
    assistant: [{ text: "I ask the reviewer.", tools: [spawning("code-reviewer", review)] }, ({ text: "It is safe, says the reviewer." })],
    "code-reviewer": { text: report("No injection found.", "Every query is bound; see [[kiln]].") },
  }, { agents: { "code-reviewer": { prompt: "You are code-reviewer. Be strict." } }, notes: { "kiln.md": "# Kiln\n" } });
  const chat = await crew.chat({ message: "My cat is named Schroedinger. Is the login safe?" });
  assert.equal(await chat.answer(), "It is safe, says the reviewer.");
  const [call, ...more] = asked("code-reviewer");
  assert.equal(more.length, 0, "one call of its own");
  assert.equal(call.system, "You are code-reviewer. Be strict.");
  assert.deepEqual(call.body.messages.map(({ role }) => role), ["user"]);
  assert.equal(call.task, review);
  assert.doesNotMatch(call.raw, /Schroedinger|I ask the reviewer/, "nothing of the parent's talk");
  for (const tool of ["read_note", "semantic_search", "list_notes"]) assert.ok(call.tools.includes(tool), `${tool} among ${call.tools}`);
  const [result] = told(asked("assistant"));
  assert.equal(result.is_error, false);
  assert.match(result.text, /^---\nsubagent_of: [^]*status: "completed"[^]*## Summary\n\nNo injection found\.\n\n## Findings\n\nEvery query is bound/);
  assert.deepEqual(server.refused, []);
});

test("SA-10: a subagent's tools read notes, and not what its parent talked of", async (t) => {
  let folder;
  const looks = () => [
    { name: "read_file", input: { path: `.crucible/sessions/${folder}/session.md` } },
    { name: "list_files", input: { folder: ".crucible/sessions" } },
    { name: "read_note", input: { path: `.crucible/sessions/${folder}/session.md` } },
    { name: "read_file", input: { path: `notes/../.crucible/sessions/${folder}/metadata.json` } },
    { name: "semantic_search", input: { query: "Schroedinger" } },
    { name: "list_files", input: { pattern: "**/*.md" } },
    { name: "get_subagent", input: { task_id: "000000" } },
    running("cat .crucible/sessions/*/* .coven/token; ls .crucible/sessions .coven"),
    { name: "read_note", input: { path: "notes/a.md" } },
  ];
  const { crew, asked } = await cast(t, {
    assistant: [{ text: "secret-plan", tools: [spawning("spy", "look around")] }, { text: "ok" }],
    spy: ({ turn }) => (turn === 0 ? { text: "I look.", tools: looks() } : { text: report("Seen.") }),
  }, { notes: { "notes/a.md": "# A\n\nThe kiln burns at 1200 degrees.\n" } });
  const chat = await crew.chat({ title: "spied", message: "hello", permissions: ["all"] }, { wait: false });
  folder = chat.id;
  await chat.idle();
  const results = told(asked("spy"));
  assert.equal(results.length, 9);
  for (const { text } of results) assert.doesNotMatch(text, /secret-plan|session_id: |"session_id"/);
  for (const n of [0, 1, 3, 6]) assert.ok(results[n].is_error, JSON.stringify(results[n]));
  assert.doesNotMatch(results[5].text, /sessions/);
  assert.doesNotMatch(results[7].text, new RegExp(`spied|${crew.token}`));
  assert.match(results[8].text, /1200 degrees/);
});

test("SA-11, SA-14, SA-16, SA-39, SA-40: the report is a file with all that is known of it, linked both ways", async (t) => {
  const { crew } = await cast(t, {
    assistant: [{ text: "I ask.", tools: [spawning("tester", "test it")], usage: { input: 10, output: 1 } }, { text: "All green.", usage: { input: 20, output: 2 } }],
    tester: { text: report("12 tests pass.", "- one\n- two"), usage: { input: 1000, output: 200 } },
  });
  const chat = await crew.chat({ message: "Please test it!" });
  await chat.end();
  const { session, subagents: [note, ...more], metadata } = await filed(chat);
  assert.equal(more.length, 0);
  assert.equal(note.name, `tester-${note.front.task_id}`);
  assert.ok(note.links.includes(`${chat.id}/session`), "the way back");
  assert.ok(session.links.includes(note.name));
  assert.deepEqual([note.front.subagent_of, note.front.agent_name, note.front.model, note.front.model_source, note.front.tokens, note.front.status], [`[[${chat.id}/session]]`, "tester", "sonnet", "default", 1200, "completed"]);
  assert.deepEqual([note.front.cost_usd, note.front.depth, note.front.parent_chain], [0.006, 1, ["user", "assistant", "tester"]]);
  assert.match(note.body, /## Summary\n\n12 tests pass\.\n\n## Findings\n\n- one\n- two\n/);
  assert.match(session.text, /Please test it!/);
  assert.match(session.text, /All green\./);
  assert.deepEqual([metadata.session_id, session.front.session_id], [chat.id, chat.id]);
  assert.ok(metadata.started_at <= note.front.spawned_at && note.front.completed_at <= metadata.ended_at, "the times of the session hold those of its subagent");
  assert.deepEqual([metadata.status, metadata.total_tokens, metadata.model, metadata.model_version, metadata.depth], ["completed", 1233, "sonnet", "model-1", 0]);
  assert.deepEqual(metadata.subagents.map(({ task_id, file, status }) => [task_id, file, status]), [[note.front.task_id, `${note.name}.md`, "completed"]]);
  const listed = (await crew.must(200, crew.get(`/subagents?chat=${chat.id}`))).subagents;
  assert.deepEqual(listed.map(({ task_id, file }) => [task_id, file]), [[note.front.task_id, `.crucible/sessions/${chat.id}/${note.name}.md`]]);
});

test("a report without headings gets them; one with only a summary has findings too", async (t) => {
  const { crew } = await cast(t, { plain: { text: "Just words.\n\nAnd more of them." }, brief: { text: "## Summary\n\nShort." }, mute: { text: "" } });
  for (const [agent, pattern] of [["plain", /## Summary\n\nJust words\.\n\n## Findings\n\nJust words\.\n\nAnd more/], ["brief", /## Summary\n\nShort\.\n\n## Findings\n\nShort\./], ["mute", /## Summary\n\n\[no answer/]]) {
    const { task_id } = await crew.must(201, crew.spawnAgent({ agent, task: "say" }));
    const { result, file, status } = await crew.subagentOver(task_id);
    assert.equal(status, "completed");
    assert.match(result, pattern);
    assert.match(readFileSync(crew.path(file), "utf8"), pattern);
  }
});

test("SA-12, SA-41: a subagent whose mind fails is told of, filed, and not in the way of the next", async (t) => {
  const { crew, asked } = await cast(t, {
    assistant: [{ text: "Two of you.", tools: [spawning("broken", "break"), spawning("tester", "test")] }, { text: "One failed, one did not." }],
    broken: { status: 400, error: { type: "invalid_request_error", message: "the prompt is too odd" } },
    tester: { text: report("Fine.") },
  });
  const chat = await crew.chat({ message: "go" });
  assert.equal(await chat.answer(), "One failed, one did not.");
  const [bad, good] = told(asked("assistant"));
  assert.deepEqual([bad.is_error, good.is_error], [true, false]);
  assert.match(bad.text, /status: "failed"[^]*the prompt is too odd/);
  const { subagents } = await filed(chat);
  const note = subagents.find(({ front }) => front.agent_name === "broken");
  assert.equal(note.front.status, "failed");
  assert.match(note.front.error_type, /^[a-z_]+$/);
  assert.match(note.front.error_message, /the prompt is too odd/);
  assert.match(note.front.stack_trace, /user → assistant → broken/);
  assert.equal(subagents.find(({ front }) => front.agent_name === "tester").front.status, "completed");
  const [failed] = chat.events("subagent.failed");
  assert.deepEqual([failed.data.agent, failed.data.error_type, failed.data.severity], ["broken", note.front.error_type, "error"]);
  assert.match(failed.data.message, /the prompt is too odd/);
});

test("SA-13, SA-15: a chat has a folder named for the day and its words, never the same twice", async (t) => {
  const { crew } = await cast(t, { assistant: [{ text: "a", tools: [spawning("one", "1"), spawning("two", "2")] }, { text: "b" }], one: {}, two: {} });
  const words = "Ünïcode & ../../etc: fix the “login” page, please; it is quite broken since last week's release";
  const first = await crew.chat({ message: words });
  const second = await crew.chat({ message: words });
  const third = await crew.chat({ message: "日本語だけ" });
  const today = new Date().toISOString().slice(0, 10);
  assert.notEqual(first.id, second.id);
  for (const chat of [first, second, third]) {
    assert.ok(chat.id.startsWith(today.slice(0, 8)), chat.id);
    await chat.end();
    const { session, subagents, metadata } = await filed(chat);
    assert.equal(subagents.length, 2);
    assert.equal(metadata.subagents.length, 2);
    assert.equal(session.front.session_id, chat.id);
  }
  assert.match(first.id, /fix-the-login/);
  assert.ok(existsSync(`${first.folder}/metadata.json`));
});

test("SA-48: several steps: in order, and woven into one answer", async (t) => {
  const steps = ["explore", "write", "check"];
  const { crew, asked } = await cast(t, {
    assistant: ({ turn, results }) => {
      if (turn === 0) return { text: "First and second.", tools: [spawning("explore", "step 1"), spawning("write", "step 2")] };
      if (turn === 1) return { text: "Third.", tools: [spawning("check", `step 3 after ${results.length}`)] };
      return { text: "Explored, written and checked." };
    },
    explore: { text: report("explored"), delayMs: 150 }, write: { text: report("written") }, check: { text: report("checked") },
  });
  const chat = await crew.chat({ message: "do all three" });
  assert.equal(await chat.answer(), "Explored, written and checked.");
  assert.deepEqual(told(asked("assistant")).map(({ text }) => /## Summary\n\n(\w+)/.exec(text)[1]), ["explored", "written", "checked"]);
  assert.equal(asked("check")[0].task, "step 3 after 2");
  assert.deepEqual(chat.events("subagent.started").map(({ data }) => data.agent), steps);
  const { session, metadata } = await filed(chat);
  assert.deepEqual(metadata.subagents.map(({ agent }) => agent), steps);
  const at = steps.map((agent) => session.body.indexOf(`[[${agent}-`));
  assert.ok(at.every((place, n) => place >= 0 && (n === 0 || place > at[n - 1])), `${at}`);
});
