// Approvals: nothing that a definition holds back is done without a person's word, once, with exactly the bytes that were shown.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { exchange } from "./harness/client.mjs";
import { cast, filed, report, running, spawning, told } from "./harness/cast.mjs";

const writing = (path, content) => ({ name: "write_file", input: { path, content } });
const may_write = ["FilesystemRead", "FilesystemWrite", "SemanticSearch"];
const may_run = [...may_write, "ProcessSpawn"];

/// A chat with "careful", who uses these tools in its first reply and then says what came of them; its first approval.
async function asking(t, tools, { requires_approval = ["FilesystemWrite"], permissions = may_write, explain = "It is needed.", ...options } = {}) {
  const part = ({ turn, text, results }) => (/the person asks:/.test(text) ? { text: explain }
    : turn === 0 ? { text: "I do it now.", tools } : { text: `came to: ${results.map(({ text: said }) => said).join(" | ")}` });
  const scene = await cast(t, { careful: part }, { agents: { careful: { permissions, requires_approval } }, ...options });
  const chat = await scene.crew.chat({ agent: "careful", message: "please do it" }, { wait: false });
  return { ...scene, chat, approval: await pending(scene.crew) };
}
const open = async (crew) => (await crew.must(200, crew.get("/approvals?pending=true"))).approvals;
const pending = async (crew, than = "") => {
  const one = await waitFor(async () => (await open(crew)).find(({ id }) => id !== than), { what: "an approval waits" });
  return crew.must(200, crew.get(`/approvals/${one.id}`));
};
const shown = (crew, { id }) => crew.must(200, crew.get(`/approvals/${id}`));
const cru = async (crew, ...words) => {
  const done = await crew.cru("approvals", ...words);
  assert.equal(done.code, 0, `cru approvals ${words.join(" ")}: ${done.stdout}${done.stderr}`);
  return done.stdout;
};
/// Approved, and withdrawn in the same moment: said so, and never that it was approved.
const approveInVain = async (crew, ...words) => {
  const done = await crew.cru("approvals", "approve", ...words);
  assert.equal(done.code, 1, done.stdout);
  assert.doesNotMatch(done.stdout, /approved/);
  return done.stderr;
};
/// What careful was told by its tools.
const heard = ({ asked }) => told(asked("careful").filter(({ text }) => !/the person asks:/.test(text)));

test("SA-53: what a definition lists waits for a person, who sees what, why and its impact, and approves, denies or modifies it", async (t) => {
  const scene = await asking(t, [writing("notes/made.txt", "made\n")]);
  const { crew, chat, approval } = scene;
  assert.deepEqual([approval.status, approval.tool, approval.agent, approval.what], ["pending", "write_file", "careful", "create notes/made.txt"]);
  assert.deepEqual([approval.reason, approval.parent_chain, approval.task], ["I do it now.", ["user", "careful"], "please do it"]);
  assert.match(approval.impact, /Creates the file notes\/made\.txt \(5 bytes\)/);
  assert.equal(approval.timeout_seconds, 300, "by default");
  assert.ok(approval.seconds_left > 200 && approval.seconds_left <= 300, `${approval.seconds_left}`);
  assert.ok(!existsSync(crew.path("notes/made.txt")), "nothing is done meanwhile");
  assert.match(await cru(crew, "list"), /A-1 +careful +please do it +create notes\/made\.txt +yes +pending/);
  const page = await cru(crew, "show", "A-1");
  assert.match(page, /careful wants to create notes\/made\.txt[^]*can undo +yes [^]*I do it now\.[^]*asked by +careful, which you started[^]*\+made/);
  assert.match((await crew.cru("crew")).stdout, /careful +model +needs you/);
  assert.match((await crew.cru("crew", "--json")).stdout, /approval A-1: create notes\/made\.txt/);
  assert.match(await cru(crew, "approve", "A-1"), /approved by a person/);
  await chat.idle();
  assert.equal(readFileSync(crew.path("notes/made.txt"), "utf8"), "made\n");
  assert.deepEqual(heard(scene).map(({ is_error }) => is_error), [false]);
  const types = chat.events().map(({ type }) => type).filter((type) => type.startsWith("approval."));
  assert.deepEqual(types, ["approval.requested", "approval.approved", "approval.used"]);
});

test("the task of an approval is what its agent does now: the message of the turn, and of a subagent its own task", async (t) => {
  const write = { name: "write_file", input: { path: "a.txt", content: "a\n" } };
  let said = "";
  const lead = ({ text, results }) => {
    if (results.length) return { text: "done" };
    said = text;
    return /delegate/.test(text) ? { text: "I delegate.", tools: [spawning("worker", "tidy up\nand report")] } : { text: "I write.", tools: [write] };
  };
  const worker = ({ turn }) => (turn === 0 ? { text: "I write.", tools: [write] } : { text: report("done") });
  const terms = { permissions: may_write, requires_approval: ["FilesystemWrite"] };
  const { crew } = await cast(t, { lead, worker }, { agents: { lead: terms, worker: terms } });
  const chat = await crew.chat({ agent: "lead", message: "first of all" }, { wait: false });
  for (const [id, message, agent, task] of [["A-1", "", "lead", "first of all"], ["A-2", "\n  now the second\nwith more", "lead", "now the second"], ["A-3", "please delegate it", "worker", "tidy up"]]) {
    if (message) await chat.say(message, { wait: false });
    const approval = await pending(crew, "");
    assert.deepEqual([approval.id, approval.agent, approval.task], [id, agent, task], said);
    await crew.must(200, crew.post(`/approvals/${id}/deny`, { reason: "no" }));
    await chat.idle();
  }
});

test("SA-54: what a change would do is shown before it is approved, nothing is decided by that, and nothing else is approved afterwards", async (t) => {
  const { crew, chat, approval } = await asking(t, [writing("kept.txt", "one\ntwo\n")], { notes: { "kept.txt": "one\n" } });
  const change = ["approve", "A-1", "--set", "content=one\nzwei\n"];
  const preview = async () => JSON.parse(await cru(crew, ...change, "--preview", "--json"));
  const page = await crew.cru("approvals", ...change, "--preview");
  assert.equal(page.code, 0, page.stderr);
  assert.match(page.stdout, /A-1 with these changes would (change|write|replace|edit) kept\.txt[^]*changed +content: [^]*can undo +yes[^]*\+zwei/);
  assert.match(page.stdout + page.stderr, /nothing is approved yet; to approve exactly this, repeat the command with --digest [0-9a-f]{64} instead of --preview/);
  const first = await preview();
  assert.notEqual(first.digest, approval.digest);
  assert.deepEqual([first.status, first.changes.map(({ field }) => field), (await shown(crew, approval)).status], ["pending", ["content"], "pending"]);
  assert.deepEqual((await shown(crew, approval)).input, approval.input);
  // Of what the agent asked for, and after somebody changed the file: neither is what was shown.
  for (const spoil of [() => approval.digest, () => { writeFileSync(crew.path("kept.txt"), "other\n"); return first.digest; }]) {
    const refused = await crew.cru("approvals", ...change, "--digest", spoil());
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /this is not what you were shown/);
    assert.equal((await shown(crew, approval)).status, "pending");
  }
  for (const words of [["approve", "A-1", "--preview"], [...change, "--preview", "--for", "session"]]) assert.match((await crew.cru("approvals", ...words)).stderr, /--preview shows the effect of --set/);
  assert.match(await cru(crew, ...change, "--digest", (await preview()).digest), /approved by a person with changes/);
  await chat.idle();
  assert.equal(readFileSync(crew.path("kept.txt"), "utf8"), "one\nzwei\n");
});

test("SA-57: a paired device decides an approval, and nobody does without its key", async (t) => {
  const { crew, chat } = await asking(t, [writing("made.txt", "made\n")]);
  const { code } = JSON.parse((await crew.cru("pair", "--label", "phone", "--json")).stdout);
  const { json: { key } } = await crew.post("/pairings/redeem", { code });
  const decide = (headers) => exchange({ host: "127.0.0.1", port: crew.tcp.port }, "POST", "/approvals/A-1/approve", { body: {}, headers });
  for (const headers of [{}, { Authorization: `Bearer ${code}` }]) assert.equal((await decide(headers)).status, 401);
  const { status, text } = await decide({ Authorization: `Bearer ${key}` });
  assert.equal(status, 200, text);
  await chat.idle();
  assert.equal(readFileSync(crew.path("made.txt"), "utf8"), "made\n");
});

test("SA-53: the timeout is configurable, for an agent and an action, and an expired one is nobody's no", async (t) => {
  const scene = await asking(t, [writing("made.txt", "made\n")], { user_settings: { approvals: { timeout: "none", rules: [{ agent: "careful", action: "write_file", timeout: "1s" }] } } });
  await scene.chat.idle();
  const over = await shown(scene.crew, scene.approval);
  assert.deepEqual([over.status, over.decided_by], ["expired", "timeout"]);
  const [result] = heard(scene);
  assert.equal(result.is_error, true);
  assert.match(result.text, /^timed_out: expired: nobody answered within 1\.0s \(approval A-1\)/);
  assert.doesNotMatch(result.text, /denied/);
  assert.ok(!existsSync(scene.crew.path("made.txt")));
  assert.notEqual((await scene.crew.cru("approvals", "approve", "A-1")).code, 0);
});

test("SA-53: a command is held back by whatever it could do, another tool of the agent is not", async (t) => {
  const scene = await asking(t, [{ name: "read_file", input: { path: "kept.txt" } }, running("echo lost > kept.txt")], { permissions: may_run, notes: { "kept.txt": "kept\n" } });
  assert.equal(scene.approval.tool, "run_command", "a gate for writing holds a shell too");
  await cru(scene.crew, "deny", "A-1", "no shells here");
  await scene.chat.idle();
  const [read, ran] = heard(scene);
  assert.deepEqual([read.is_error, ran.is_error], [false, true]);
  assert.equal(readFileSync(scene.crew.path("kept.txt"), "utf8"), "kept\n");
});

test("SA-54: approved with modifications it is done so, after they are checked, and logged, and acknowledged", async (t) => {
  const scene = await asking(t, [writing("made.txt", "made\n")]);
  const { crew, chat } = scene;
  for (const [set, why] of [["paht=x", /paht is not a field/], ["path=", /path is empty/], ["path=../x", /path/], ["path=.coven/token", /reserved for the daemon/]]) {
    const refused = await crew.cru("approvals", "approve", "A-1", "--set", set);
    assert.notEqual(refused.code, 0, set);
    assert.match(refused.stderr, why);
  }
  assert.equal((await shown(crew, scene.approval)).status, "pending", "what is refused decides nothing");
  assert.match(await cru(crew, "approve", "A-1", "--set", "path=other.txt", "--set", "content=changed\n"), /approved by a person with changes/);
  await chat.idle();
  assert.equal(readFileSync(crew.path("other.txt"), "utf8"), "changed\n");
  assert.ok(!existsSync(crew.path("made.txt")));
  const [result] = heard(scene);
  assert.equal(result.is_error, false);
  assert.match(result.text, /approved by a person with changes \(approval A-1\): path: "made\.txt" → "other\.txt"; content: "made\\n" → "changed\\n"[^]*created other\.txt/);
  const { metadata } = await filed(chat);
  assert.deepEqual(metadata.approvals.map(({ id, status, changes }) => [id, status, changes.map(({ field, to }) => [field, to])]),
    [["A-1", "approved", [["path", "other.txt"], ["content", "changed\n"]]]]);
});

test("SA-54: a spawn that is approved with modifications runs with them, and its result acknowledges them", async (t) => {
  const scene = await asking(t, [spawning("worker", "the old task")], { requires_approval: ["spawn_agent"], agents: { careful: { permissions: may_write, requires_approval: ["spawn_agent"] }, worker: {} } });
  const { crew, chat, approval } = scene;
  assert.equal(approval.tool, "spawn_agent");
  await cru(crew, "approve", approval.id, "--confirm", approval.id, "--set", "task=the new task");
  await chat.idle();
  const [result] = heard(scene);
  assert.match(result.text, /^\[approved by a person with changes \(approval A-1\): task: "the old task" → "the new task"/);
  assert.match(scene.asked("worker")[0].text, /the new task/);
  const { session } = await filed(chat);
  assert.match(session.body, /⚑ approval A-1 [^\n]*: approved by a person with changes/);
});

test("SA-54: what a person changes of a coordination tool is checked as the tool checks a call, by every way", async (t) => {
  const submitting = (input) => ({ name: "submit_work", input });
  const scene = await asking(t, [submitting({ task_type: "build", description: "build it", prority: 1 }), submitting({ task_type: "build", description: "build it" })],
    { permissions: ["DatabaseRead", "DatabaseWrite"], requires_approval: ["DatabaseWrite"] });
  const { crew, chat, approval } = scene;
  assert.deepEqual((await open(crew)).map(({ id }) => id), ["A-1"], "nobody is asked about a call that would fail");
  const bad = [["prority=1", "set", /prority is not a field/], ["priority=high", "set", /priority must be JSON of the type integer/], ["priority=11", "priority", /must be from 1 to 10/],
    ["depends_on=[1]", "depends_on", /must be a list of strings/], ["on_dependency_failure=wait", "on_dependency_failure", /must be one of fail, release/], ["description=", "description", /is empty/]];
  for (const [set, field, why] of bad) {
    const refused = await crew.cru("approvals", "approve", "A-1", "--confirm", "A-1", "--set", set);
    assert.notEqual(refused.code, 0, set);
    assert.match(refused.stderr, why);
    const [name, ...value] = set.split("=");
    const { status, json } = await crew.post("/approvals/A-1/approve", { confirm: "A-1", set: { [name]: value.join("=") } });
    assert.deepEqual([status, json.error, json.field], [400, "invalid_argument", field], set);
  }
  const still = await shown(crew, approval);
  assert.deepEqual([still.status, still.digest, still.changes], ["pending", approval.digest, []], "what is refused changes nothing");
  await cru(crew, "approve", "A-1", "--confirm", "A-1", "--set", "priority=1", "--set", "depends_on=[]", "--set", 'input_data=[{"n":1},2]', "--set", "on_dependency_failure=release");
  await chat.idle();
  const [wrong, done] = heard(scene);
  assert.match(wrong.text, /^invalid_argument: submit_work has no field prority/);
  assert.equal(done.is_error, false, done.text);
  const { work: [listed] } = await crew.must(200, crew.get("/work"));
  const item = await crew.must(200, crew.get(`/work/${listed.task_id}`));
  assert.deepEqual([item.description, item.priority, item.input_data, item.on_dependency_failure], ["build it", 1, [{ n: 1 }, 2], "release"]);
});

test("SA-55: a denial aborts the action with its reason, is kept for audit, and the primary hears of it", async (t) => {
  const worker = ({ turn, results }) => (turn === 0 ? { text: "I write.", tools: [writing("made.txt", "made\n")] } : { text: report(`Could not: ${results[0].text.split("\n")[0]}`) });
  const scene = await cast(t, { assistant: [{ text: "I ask.", tools: [spawning("worker", "write it", { permissions: ["FilesystemWrite"] })] }, { text: "I see." }], worker },
    { agents: { worker: { permissions: may_write, requires_approval: ["write_file"] } } });
  const chat = await scene.crew.chat({ message: "go", permissions: ["all"] }, { wait: false });
  const approval = await pending(scene.crew);
  assert.deepEqual([approval.agent, approval.parent_chain, approval.task], ["worker", ["user", "assistant", "worker"], "write it"]);
  await cru(scene.crew, "deny", approval.id, "not on a Friday");
  await chat.idle();
  const [result] = told(scene.asked("worker"));
  assert.ok(result.is_error);
  assert.match(result.text, /^forbidden: denied by a person: not on a Friday \(approval A-1\)\n.*adjust your plan/);
  assert.ok(!existsSync(scene.crew.path("made.txt")));
  const [heard_by_primary] = told(scene.asked("assistant"));
  assert.match(heard_by_primary.text, /approvals: \["A-1 create made\.txt: denied by a person: not on a Friday"\]/);
  const { subagents: [note], metadata } = await filed(chat);
  assert.deepEqual(note.front.approvals, ["A-1 create made.txt: denied by a person: not on a Friday"]);
  assert.deepEqual(metadata.approvals.map(({ status, reason, task_id }) => [status, reason, task_id]), [["denied", "not on a Friday", note.front.task_id]]);
  assert.match(readFileSync(`${chat.folder}/worker-${note.front.task_id}.md`, "utf8"), /⚑ approval A-1 create made\.txt: denied by a person/);
});

test("SA-56: request_approval waits for a person and goes on with the answer; a timeout aborts or, where the user says so, approves", async (t) => {
  const request = (action) => ({ name: "request_approval", input: { action, reason: "the release waits" } });
  const rules = [{ action: "post the summary", timeout: "1s", on_timeout: "approve", can_be_undone: true }, { action: "drop the table", timeout: "1s", on_timeout: "approve" }];
  const scene = await asking(t, [request("deploy to production"), request("post the summary"), request("drop the table")], { requires_approval: [], user_settings: { approvals: { rules } } });
  const { crew, chat, approval } = scene;
  assert.deepEqual([approval.tool, approval.what, approval.reason, approval.reversible], ["request_approval", "deploy to production", "the release waits", false]);
  assert.match(approval.preview.text, /deploy to production/);
  assert.equal(scene.asked("careful").length, 1, "the agent is paused");
  const bare = await crew.cru("approvals", "approve", "A-1");
  assert.notEqual(bare.code, 0);
  assert.match(bare.stderr, /can(?:not)? be undone[^]*--confirm A-1/);
  await cru(crew, "approve", "A-1", "--confirm", "A-1");
  await chat.idle();
  const [deploy, post, drop] = heard(scene);
  assert.deepEqual([deploy.is_error, post.is_error, drop.is_error], [false, false, true]);
  assert.match(deploy.text, /approved by a person: deploy to production/);
  assert.match(post.text, /approved by its timeout, as configured/);
  assert.match(drop.text, /expired/, "never what nobody knows how to undo, whatever is configured");
});

test("SA-56: only the user's own configuration approves by a timeout", async (t) => {
  const { approval } = await asking(t, [writing("made.txt", "made\n")], { settings: { approvals: { timeout: "1s", on_timeout: "approve" } } });
  assert.deepEqual([approval.reversible, approval.timeout_seconds, approval.on_timeout], [true, 300, "abort"]);
});

test("SA-57: a change is shown as a diff with whether it can be undone; what cannot needs its id typed; the agent is asked for context", async (t) => {
  const scene = await asking(t, [{ name: "edit_file", input: { path: "kept.txt", old: "two", new: "zwei" } }], { notes: { "kept.txt": "one\ntwo\nthree\n" }, explain: "Because the readers are German." });
  const { crew, chat, approval } = scene;
  assert.equal(approval.preview.kind, "diff");
  assert.equal(approval.preview.text, "--- a/kept.txt\n+++ b/kept.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n");
  assert.deepEqual([approval.reversible, approval.undo, approval.confirm], [true, "reversible", false]);
  const answered = await cru(crew, "ask", "A-1", "Why German?");
  assert.match(answered, /Why German\?[^]*Because the readers are German\./);
  const now = await shown(crew, approval);
  assert.deepEqual([now.status, now.context.map(({ question, answer }) => [question, answer])], ["pending", [["Why German?", "Because the readers are German."]]]);
  assert.match(await cru(crew, "hold", "A-1"), /held/);
  const held = (await shown(crew, approval)).seconds_left;
  assert.equal((await shown(crew, approval)).seconds_left, held, "the clock stands still");
  await cru(crew, "approve", "A-1");
  await chat.idle();
  assert.equal(readFileSync(crew.path("kept.txt"), "utf8"), "one\nzwei\nthree\n");
});

test("SA-57: a command is shown with its folder and its program, and counts as irreversible", async (t) => {
  const scene = await asking(t, [{ name: "run_command", input: { argv: ["sh", "-c", "echo 'a b' > out.txt"], cwd: "sub" } }], { permissions: may_run, requires_approval: ["ProcessSpawn"], notes: { "sub/here": "" } });
  const { crew, chat, approval } = scene;
  assert.deepEqual([approval.preview.kind, approval.reversible, approval.undo], ["command", false, "unknown"]);
  assert.ok(approval.preview.text.startsWith(`in ${crew.path("sub")}\n$ sh -c `), approval.preview.text);
  assert.match(approval.executable, /^\/.*sh$/);
  await cru(crew, "approve", "A-1", "--confirm", "A-1");
  await chat.idle();
  assert.equal(readFileSync(crew.path("sub/out.txt"), "utf8"), "a b\n");
});

test("SA-57: a change of the shared records is shown as what would be written", async (t) => {
  const scene = await asking(t, [{ name: "submit_work", input: { task_type: "build", description: "build it" } }], { permissions: ["DatabaseRead", "DatabaseWrite"], requires_approval: ["DatabaseWrite"] });
  assert.deepEqual([scene.approval.preview.kind, scene.approval.reversible], ["statement", false]);
  assert.match(scene.approval.preview.text, /submit_work[^]*"description": "build it"/);
  await cru(scene.crew, "approve", "A-1", "--confirm", "A-1");
  await scene.chat.idle();
  assert.deepEqual(heard(scene).map(({ is_error }) => is_error), [false]);
});

test("who must ask leaves no command behind that is run later: not as the verification of work", async (t) => {
  for (const requires_approval of [["ProcessSpawn"], ["FilesystemWrite"], ["write_file"]]) {
    const part = ({ turn }) => (turn === 0
      ? { text: "I submit.", tools: [{ name: "submit_work", input: { task_id: "w", task_type: "t", description: "d", verify: ["touch", "owned"] } }] }
      : { text: "done" });
    const scene = await cast(t, { careful: part }, { agents: { careful: { permissions: [...may_run, "DatabaseRead", "DatabaseWrite"], requires_approval } } });
    const chat = await scene.crew.chat({ agent: "careful", message: "go" });
    assert.equal(await chat.answer(), "done");
    const [refused] = heard(scene);
    assert.ok(refused.is_error && /verify: agent careful requires approval for/.test(refused.text), refused.text);
    assert.equal((await scene.crew.get("/work/w")).status, 404);
  }
});

test("a file that changes after the approval was asked for is not overwritten: it is asked anew", async (t) => {
  const scene = await asking(t, [{ name: "edit_file", input: { path: "kept.txt", old: "two", new: "zwei" } }], { notes: { "kept.txt": "one\ntwo\n" } });
  const { crew, chat } = scene;
  writeFileSync(crew.path("kept.txt"), "one\ntwo\nthree\n");
  assert.match(await approveInVain(crew, "A-1"), /approval A-1 was not used: withdrawn: something changed after it was approved: kept\.txt has changed since it was shown\n[^]*it is asked for anew: cru approvals show A-2/);
  const again = await pending(crew, "A-1");
  assert.deepEqual([again.id, again.replaces], ["A-2", "A-1"]);
  const old = await shown(crew, { id: "A-1" });
  assert.equal(old.status, "withdrawn");
  assert.match(old.outcome, /kept\.txt has changed since it was shown/);
  assert.equal(readFileSync(crew.path("kept.txt"), "utf8"), "one\ntwo\nthree\n");
  await cru(crew, "approve", "A-2");
  await chat.idle();
  assert.equal(readFileSync(crew.path("kept.txt"), "utf8"), "one\nzwei\nthree\n");
});

test("a script that changes after it was shown does not run before it is shown again", async (t) => {
  const scene = await asking(t, [{ name: "run_command", input: { argv: ["sh", "deploy.sh"] } }], { permissions: may_run, requires_approval: ["Bash"], notes: { "deploy.sh": "echo shown > ran.txt\n" } });
  const { crew, chat } = scene;
  writeFileSync(crew.path("deploy.sh"), "echo other > ran.txt\n");
  assert.match(await approveInVain(crew, "A-1", "--confirm", "A-1"), /withdrawn: something changed after it was approved: .*deploy\.sh/);
  const again = await pending(crew, "A-1");
  assert.equal(again.replaces, "A-1");
  assert.ok(!existsSync(crew.path("ran.txt")));
  await cru(crew, "deny", again.id, "this is another script");
  await chat.idle();
  assert.ok(!existsSync(crew.path("ran.txt")));
});

test("a call that would fail anyway bothers nobody", async (t) => {
  const part = ({ turn, results }) => (turn === 0 ? { text: "x", tools: [{ name: "edit_file", input: { path: "absent.txt", old: "a", new: "b" } }, writing(".coven/token", "x"), { name: "run_command", input: { argv: ["no-such-program"] } }] } : { text: `${results.length}` });
  const { crew, asked } = await cast(t, { careful: part }, { agents: { careful: { permissions: may_run, requires_approval: ["*"] } } });
  await crew.chat({ agent: "careful", message: "go" });
  assert.deepEqual(told(asked("careful")).map(({ is_error }) => is_error), [true, true, true]);
  assert.deepEqual((await crew.must(200, crew.get("/approvals"))).approvals, []);
});

for (const state of ["pending", "held", "asking", "approved", "denied"])
  test(`kill -9 while it is ${state}: the next daemon goes on where this one was, and it is done at most once`, async (t) => {
    let slow = state === "asking";
    const part = ({ turn, text, results }) => (/the person asks:/.test(text) ? (slow ? { hang: true } : { text: "So that it counts." })
      : turn === 0 ? { text: "I count.", tools: [{ name: "run_command", input: { argv: ["sh", "-c", "echo once >> count.txt"] } }] } : { text: `came to: ${results[0].text}` });
    const { crew, server, asked } = await cast(t, { careful: part }, { agents: { careful: { permissions: may_run, requires_approval: ["ProcessSpawn"] } } });
    const chat = await crew.chat({ agent: "careful", message: "count" }, { wait: false });
    const { id, digest } = await pending(crew);
    const post = (verb, body = {}) => crew.post(`/approvals/${id}/${verb}`, body);
    if (state === "held") await crew.must(200, post("hold"));
    if (state === "asking") {
      await crew.must(200, post("ask", { question: "Why?" }));
      await server.when(({ requests }) => requests.some(({ text }) => /the person asks:/.test(text)));
    }
    if (state === "approved") await crew.must(200, post("approve", { confirm: id }));
    if (state === "denied") await crew.must(200, post("deny", { reason: "no" }));
    await crew.killDaemon();
    slow = false;
    await crew.startDaemon();
    if (state === "asking") await waitFor(async () => (await shown(crew, { id })).context[0].answer === "So that it counts.", { what: "the agent answers the next daemon" });
    if (["pending", "held", "asking"].includes(state)) {
      const now = await shown(crew, { id });
      assert.deepEqual([now.status, now.digest], [state === "held" ? "held" : "pending", digest]);
      await crew.must(200, post("approve", { confirm: id }));
    }
    await chat.idle();
    const lines = existsSync(crew.path("count.txt")) ? readFileSync(crew.path("count.txt"), "utf8") : "";
    if (state === "denied") assert.equal(lines, "");
    else if (state === "approved") assert.ok(lines === "once\n" || (lines === "" && /outcome is unknown/.test(told(asked("careful"))[0].text)), lines);
    else assert.equal(lines, "once\n");
    assert.equal((await post("approve", { confirm: id })).status, 409, "it is over");
    assert.equal((await crew.must(200, crew.get("/approvals"))).approvals.length, 1, "asked once");
  });

test("the delegation's time does not run while a person is asked", async (t) => {
  const worker = ({ turn }) => (turn === 0 ? { text: "I write.", tools: [writing("made.txt", "made\n")] } : { text: report("Written.") });
  const scene = await cast(t, { assistant: [{ text: "x", tools: [spawning("worker", "write", { permissions: ["FilesystemWrite"] })] }, { text: "done" }], worker },
    { settings: { crew: { delegation_timeout: "2s" } }, agents: { worker: { permissions: may_write, requires_approval: ["FilesystemWrite"] } } });
  const chat = await scene.crew.chat({ message: "go", permissions: ["all"] }, { wait: false });
  const { id, requested_at } = await pending(scene.crew);
  await waitFor(() => Date.now() - Date.parse(requested_at) > 3000, { what: "more than its own time has passed" });
  await scene.crew.must(200, scene.crew.post(`/approvals/${id}/approve`));
  await chat.idle();
  assert.equal((await filed(chat)).subagents[0].front.status, "completed");
});

test("a turn that is stopped withdraws what waits", async (t) => {
  const { crew, chat, approval } = await asking(t, [writing("made.txt", "made\n")]);
  await chat.cancel();
  assert.equal((await shown(crew, approval)).status, "withdrawn");
  assert.deepEqual(await open(crew), []);
  assert.ok(!existsSync(crew.path("made.txt")));
});

test("a subagent needs approval for whatever its parent does: spawning is no way around", async (t) => {
  const scene = await cast(t, { lead: [{ text: "x", tools: [spawning("worker", "write")] }, { text: "done" }], worker: ({ turn }) => (turn === 0 ? { text: "I write.", tools: [writing("made.txt", "x")] } : { text: report("Done.") }) },
    { agents: { lead: { permissions: may_write, requires_approval: ["FilesystemWrite"] }, worker: { permissions: ["FilesystemRead"] } } });
  const chat = await scene.crew.chat({ agent: "lead", message: "go" }, { wait: false });
  const approval = await pending(scene.crew);
  assert.deepEqual([approval.agent, approval.tool], ["worker", "write_file"]);
  await scene.crew.must(200, scene.crew.post(`/approvals/${approval.id}/deny`, { reason: "no" }));
  await chat.idle();
  assert.ok(!existsSync(scene.crew.path("made.txt")));
});
