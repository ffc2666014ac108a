// Approvals and questions where a person watches their asker at a terminal: shown at once, and decided right there, in the words
// of `cru approvals`.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { here, Project, waitFor } from "./harness.mjs";
import { cru_bin } from "./harness/basics.mjs";
import { cast, running, told } from "./harness/cast.mjs";
import { Terminal } from "./harness/terminal.mjs";

const writing = (path, content) => ({ name: "write_file", input: { path, content } });
const may_write = ["FilesystemRead", "FilesystemWrite", "SemanticSearch"];
const may_run = [...may_write, "ProcessSpawn"];

/// A crew with "careful", who uses these tools in its first reply and then says what came of them. With `turns`, those of each turn.
async function careful(t, turns, { requires_approval = ["FilesystemWrite"], permissions = may_write, ...options } = {}) {
  let turn = 0;
  const part = ({ text, results }) => {
    if (/the person asks:/.test(text)) return { text: "The reviewer wanted it." };
    if (results.length) return { text: `came to: ${results.map(({ text: said }) => said).join(" | ")}` };
    return { text: "I do it now.", tools: turns[Math.min(turn++, turns.length - 1)] };
  };
  const scene = await cast(t, { careful: part }, { agents: { careful: { permissions, requires_approval } }, ...options });
  return { ...scene, heard: () => told(scene.asked("careful").filter(({ text }) => !/the person asks:/.test(text))) };
}
const chatting = async (crew, message = "please do it") => {
  const terminal = new Terminal(crew, ["chat", "careful"]);
  await terminal.prompt("careful");
  terminal.type(`${message}\r`);
  return terminal;
};
const outcome = async (crew, id) => (await crew.must(200, crew.get(`/approvals/${id}`))).status;

test("cru chat shows an approval of its chat at once, with its preview, whether it can be undone and the time left, and takes the decision there", async (t) => {
  const { crew } = await careful(t, [[writing("made.txt", "made\n")]]);
  const terminal = await chatting(crew);
  await terminal.see(/I do it now\.[^]*⚑ careful needs your approval A-1 to create made\.txt\n +can undo +yes [^]*\n +impact +Creates the file made\.txt \(5 bytes\)[^]*\n +task +please do it\n[^]*\n +time +4m\d\ds left, then it expires and is not done\n[^]*\+made\n +type: approve, deny REASON, ask QUESTION, hold, show, later\nA-1> /);
  assert.ok(!existsSync(crew.path("made.txt")));
  terminal.type("yes\r");
  await terminal.see(/"yes" decides nothing\n +type: approve, deny REASON, ask QUESTION, hold, show, later\nA-1> /);
  terminal.type("approve\r");
  await terminal.see(/A-1 \(create made\.txt\): approved by a person\n/);
  await terminal.see(/came to: /);
  await terminal.prompt("careful");
  assert.equal(readFileSync(crew.path("made.txt"), "utf8"), "made\n");
  assert.equal(terminal.text.match(/A-1.*approved by a person/g).length, 1, "told once");
  terminal.type("\x04");
  assert.equal((await terminal.child.ended).code, 0);
});

test("at the terminal of a chat: ask, hold, approve with changes, deny with a reason, and what cannot be undone needs its id", async (t) => {
  const { crew, heard } = await careful(t, [[writing("a.txt", "one\n")], [writing("b.txt", "two\n")], [running("rm -rf gone")]], { requires_approval: ["FilesystemWrite", "ProcessSpawn"], permissions: may_run });
  const terminal = await chatting(crew);
  await terminal.see(/A-1> /);
  terminal.type("ask who wanted it?\r");
  await terminal.see(/you asked +who wanted it\?\n +answer +The reviewer wanted it\.[^]*A-1> /);
  terminal.type("hold\r");
  await terminal.see(/A-1 \(create a\.txt\): held; its timeout is paused\. To release it: cru approvals hold A-1 --release\nA-1> /);
  assert.equal(await outcome(crew, "A-1"), "held");
  terminal.type("show\r");
  await terminal.see(/time +the timeout is paused; 4m\d\ds left\n[^]*to release: cru approvals hold A-1 --release\n(?![^]*to hold:)[^]*A-1> /);
  terminal.type("hold --release\r");
  await terminal.see(/A-1 \(create a\.txt\): pending\nA-1> /);
  assert.equal(await outcome(crew, "A-1"), "pending");
  terminal.type("approve --set 'content=uno dos'\r");
  await terminal.see(/approved by a person with changes/);
  await terminal.prompt("careful");
  assert.equal(readFileSync(crew.path("a.txt"), "utf8"), "uno dos");
  terminal.type("and the next\r");
  await terminal.see(/task +and the next\n[^]*A-2> /);
  terminal.type("deny not on a Friday, it's late\r");
  await terminal.see(/A-2 \(create b\.txt\): denied by a person: not on a Friday, it's late\n/);
  await terminal.prompt("careful");
  assert.ok(!existsSync(crew.path("b.txt")));
  assert.match(heard()[1].text, /not on a Friday, it's late/);
  terminal.type("remove it\r");
  await terminal.see(/needs your approval A-3 to run [^]*can undo +no [^]*type: approve A-3, deny REASON[^]*A-3> /);
  terminal.type("approve\r");
  await terminal.see(/This cannot be undone: to approve it, type its id too: approve A-3\nA-3> /);
  assert.equal(await outcome(crew, "A-3"), "pending");
  terminal.type("approve A-3\r");
  await terminal.see(/A-3 .*approved by a person/);
  await terminal.prompt("careful");
});

test("what was typed before an approval was shown decides nothing, and is there at the prompt afterwards", async (t) => {
  let go;
  const gate = new Promise((resolve) => { go = resolve; });
  const part = async ({ results, turn }) => {
    if (turn > 0 || results.length) return { text: "done with it" };
    await gate;
    return { text: "I do it now.", tools: [writing("made.txt", "made\n")] };
  };
  const { crew } = await cast(t, { careful: part }, { agents: { careful: { permissions: may_write, requires_approval: ["FilesystemWrite"] } } });
  const terminal = await chatting(crew);
  await terminal.see(/thinking/);
  terminal.type("approve\rappr");
  await new Promise((resolve) => { setTimeout(resolve, 500); });  // nothing tells when the terminal has it; too early only makes the test easier
  go();
  await terminal.see(/A-1> /);
  terminal.type("deny too fast\r");
  await terminal.see(/A-1 \(create made\.txt\): denied by a person: too fast/);
  await terminal.prompt("careful");
  await terminal.see(/approve[^]*done with it[^]*careful> appr/);
  assert.ok(!existsSync(crew.path("made.txt")));
});

test("decided elsewhere or expired, the terminal says what became of it, by its own word, and goes on", async (t) => {
  // Only the file has a short time, so that nothing else expires on a slow machine.
  const { crew } = await careful(t, [[running("ls a")], [writing("b.txt", "b\n")], [running("ls c")], [running("ls d")]], {
    requires_approval: ["FilesystemWrite", "ProcessSpawn"], permissions: may_run, user_settings: { approvals: { rules: [{ action: "write_file", timeout: "8s" }] } },
  });
  const terminal = await chatting(crew);
  await terminal.see(/A-1> /);
  await crew.must(200, crew.post("/approvals/A-1/hold", {}));
  await terminal.see(/A-1 is now held; to release it, type: hold --release\nA-1> /);
  await crew.must(200, crew.post("/approvals/A-1/approve", {}));
  await terminal.see(/A-1 approved by a person\n/);
  await terminal.prompt("careful");
  terminal.type("again\r");
  await terminal.see(/A-2> /);
  await terminal.see(/A-2 expired: nobody answered within 8(\.0)?s/);
  await terminal.prompt("careful");
  terminal.type("once more\r");
  await terminal.see(/A-3> /);
  terminal.type("approve\r");  // a message was typed since A-2 ended, so this is for A-3
  await terminal.see(/A-3 .*: approved by a person/);
  await terminal.prompt("careful");
  terminal.type("the last\r");
  await terminal.see(/A-4> /);
  terminal.type("later\r");
  await terminal.see(/A-4 still waits\n +to approve: +cru approvals approve A-4\n +to deny: +cru approvals deny A-4 REASON\n/);
  await crew.must(200, crew.post("/approvals/A-4/deny", { reason: "enough" }));
  await terminal.see(/A-4 denied by a person: enough/);
  await terminal.prompt("careful");
  assert.deepEqual(await Promise.all(["A-1", "A-2", "A-3", "A-4"].map((id) => outcome(crew, id))), ["approved", "expired", "approved", "denied"]);
});

test("Ctrl-C at the question stops the turn and withdraws it; kill -9 of the daemon does not take the question away", async (t) => {
  const { crew } = await careful(t, [[writing("a.txt", "a\n")], [writing("b.txt", "b\n")]]);
  const terminal = await chatting(crew);
  await terminal.see(/A-1> /);
  terminal.type("\x03");
  await terminal.see(/stopped by the user/);
  await terminal.prompt("careful");
  assert.equal(await outcome(crew, "A-1"), "withdrawn");
  terminal.type("again\r");
  await terminal.see(/A-2> /);
  await crew.killDaemon();
  await crew.startDaemon();
  terminal.type("approve\r");
  await terminal.see(/A-2 \(create b\.txt\): approved by a person/);
  await terminal.prompt("careful");
  assert.equal(readFileSync(crew.path("b.txt"), "utf8"), "b\n");
});

test("cru run AGENT and cru run of a program decide at their terminal in the same words", async (t) => {
  const { crew } = await careful(t, [[writing("a.txt", "a\n")]]);
  const terminal = new Terminal(crew, ["run", "careful", "do it please"]);
  await terminal.see(/⚑ careful.* needs your approval A-1 to create a\.txt[^]*task +do it please[^]*type: approve, deny REASON, ask QUESTION, hold, show, later\nA-1> /);
  terminal.type("approve\r");
  await terminal.see(/A-1 \(create a\.txt\): approved by a person/);
  assert.equal((await terminal.child.ended).code, 0);
  assert.equal(readFileSync(crew.path("a.txt"), "utf8"), "a\n");

  const project = await Project.started({ bin: [join(here, "fixtures/bin")] }, t);
  const program = new Terminal(project, ["run", "--backend", "claude", "--id", "cc", "a question and a shell"]);
  await program.see(/answer: /);
  program.type("SQLite\r");
  await program.see(/⚑ cc needs your approval A-1 to run [^]*SHOULD_NOT_EXIST[^]*type: approve A-1, deny REASON, hold, show, later\nA-1> /);
  program.type("deny not now\r");
  await program.see(/A-1 .*denied by a person: not now/);
  await project.ended("cc");
  assert.equal(program.text.match(/cru questions answer/g).length, 1, "the permission is asked for once, as an approval");
});

test("what was typed before a question of cru run was shown answers nothing", async (t) => {
  const project = await Project.started({}, t);
  const go = project.path("go");
  writeFileSync(project.path("ask.sh"), `echo ready\nwhile [ ! -e '${go}' ]; do sleep 0.05; done\nanswer=$('${cru_bin}' ask "Which port?")\necho "it is port $answer"\n`);
  const terminal = new Terminal(project, ["run", "--id", "asker", "--", "sh", "ask.sh"]);
  await terminal.see(/ready\n/);
  terminal.type("80\r81");
  await terminal.see(/80\n81/);  // the terminal has it, as its echo tells
  writeFileSync(go, "");
  await terminal.see(/Which port\?[^]*answer: /);
  terminal.type("8080\r");
  await terminal.see(/it is port .*\n/);
  assert.match(terminal.text, /it is port 8080\n/, "neither the line that was typed before nor the beginning of one");
  assert.equal((await terminal.child.ended).code, 0);
});

test("a question of the chat's budget is answered at its terminal", async (t) => {
  const { crew } = await cast(t, { assistant: { text: "ok", usage: { input_tokens: 100, output_tokens: 0 } } }, { user_settings: { budgets: { chat: { turns: 1 } } } });
  const terminal = new Terminal(crew, ["chat"]);
  await terminal.prompt();
  terminal.type("one\r");
  await terminal.see(/ok\n/);
  await terminal.prompt();
  terminal.type("two\r");
  await terminal.see(/\? chat .* has spent its budget: 1 repl[^]*1\) [^]*→ cru questions answer \S+\nanswer: /);
  terminal.type("1\r");
  await terminal.see(/ok\n/);
  await terminal.prompt();
  await waitFor(async () => (await crew.get("/questions?pending=true")).json.questions.length === 0, { what: "nothing is asked any more" });
});
