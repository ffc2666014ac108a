// `cru chat` as people and scripts use it: on pipes, at a terminal, through a dying daemon, without a mind.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { waitFor } from "./harness/basics.mjs";
import { cast, spawning } from "./harness/cast.mjs";
import { checkSessionFolder, Crew } from "./harness/crew.mjs";
import { Terminal } from "./harness/terminal.mjs";
import { ModelServer } from "./fixtures/model_server.mjs";

const report = (words) => `## Summary\n\n${words}\n\n## Findings\n\nMore of it.\n`;
const spawn = (agent, task = "{{task}}") => ({ name: "spawn_agent", input: { agent, task } });
const worker = { replies: [
  { when: { agent: "critic" }, say: report("The login lets anyone in."), repeat: true },
  { when: { agent: "tester" }, say: report("41 tests pass."), repeat: true },
  { when: { agent: "broken" }, say: "I begin and", fail: { type: "invalid_request", message: "too \u001b[31mred" }, repeat: true },
] };
const primary = { replies: [
  { when: { contains: "review" }, say: "I ask the critic.", tools: [spawn("critic")] },
  { when: { contains: "break" }, say: "I try.", tools: [spawn("broken")] },
  { when: { contains: "slow" }, say: "one two three four five six seven eight nine ten ".repeat(12), chunk: 10, pace: "100ms" },
  { when: { contains: "markdown" }, say: "# Big\n\nsome **bold** and `code`\n\n- item\n" },
  { when: { contains: "fail" }, say: "no", fail: { type: "authentication", message: "the key is refused" } },
  { when: { after_tool: "spawn_agent" }, say: "In short: {{result}}", repeat: true },
], otherwise: { say: "You said: {{task}}" } };
const options = {
  models: { sonnet: "primary", haiku: "worker" }, scripts: { primary, worker },
  agents: { critic: { model: "haiku" }, tester: { model: "haiku" }, broken: { model: "haiku" } },
};
const crew = (t, more = {}) => Crew.started({ ...options, ...more }, t);
const folderOf = (made, { stderr }) => made.path(stderr.match(/\.crucible\/sessions\/[^;\s]+/)[0]);

test("SA-46, SA-47: on pipes: the answer on stdout, progress on stderr, everything in the folder", async (t) => {
  const made = await crew(t);
  const said = await made.cru("chat", "-m", "please review the login");
  assert.equal(said.code, 0, JSON.stringify(said));
  assert.match(said.stdout, /^I ask the critic\.\n\nIn short: [^]*The login lets anyone in\./, "its own words, then the synthesis");
  assert.doesNotMatch(said.stdout + said.stderr, /\x1b/, "no escape sequences on a pipe");
  assert.match(said.stderr, /^→ Running critic agent\.\.\.\n {4}The login lets anyone in\.\n/m);
  const folder = folderOf(made, said);
  const { session, subagents } = checkSessionFolder(folder);
  assert.equal(session.front.status, "completed");
  assert.match(readFileSync(join(folder, `${subagents[0].name}.md`), "utf8"), /More of it\./, "the whole report is there to be read");
});

test("standard input is one message, and --json is one object a turn and nothing else", async (t) => {
  const made = await crew(t);
  const piped = await made.cru("chat", { input: "one\n\ntwo\n" });
  assert.equal(piped.stdout, "You said: one\n\ntwo\n");
  const json = await made.cru("chat", "--json", "-m", "a", "-m", "b");
  assert.equal(json.stderr, "");
  const turns = json.stdout.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(turns.map(({ entries }) => entries.map(({ role, text }) => [role, text])), [[["user", "a"], ["assistant", "You said: a"]], [["user", "b"], ["assistant", "You said: b"]]]);
  assert.equal((await made.cru("chat", { input: "\n" })).code, 2, "nothing to say");
});

test("on pipes an answer is whole however long it is", async (t) => {
  const long = Array.from({ length: 6000 }, (_, n) => `sentence ${n} of many.`).join(" ");  // more than an event or a listed entry holds
  const made = await crew(t, { scripts: { worker, primary: { otherwise: { say: long, chunk: 20000 } } } });
  const said = await made.cru("chat", "-m", "tell me all");
  assert.equal(said.code, 0, said.stderr);
  assert.equal(said.stdout.length, long.length + 1);
  assert.equal(said.stdout, `${long}\n`);
});

test("SA-31: a subagent's error is told with its type and severity, and the turn goes on", async (t) => {
  const made = await crew(t);
  const said = await made.cru("chat", "-m", "break it");
  assert.equal(said.code, 0, JSON.stringify(said));
  assert.match(said.stderr, /^✗ broken failed \(invalid_request, (fatal|error)\): too \\x1b\[31mred$/m);
  const [file] = said.stderr.match(/^ {4}\.crucible\/sessions\/.*\/broken-\w+\.md$/m);
  assert.match(readFileSync(made.path(file.trim()), "utf8"), /error_type: "invalid_request"[^]*error_message: [^\n]*red[^]*stack_trace: /, "all of it is in the file");
  assert.match(said.stdout, /In short: /);
});

test("a turn that fails ends with 6 and says why", async (t) => {
  const made = await crew(t);
  const said = await made.cru("chat", "-m", "fail now");
  assert.equal(said.code, 6, JSON.stringify(said));
  assert.match(said.stderr, /✗ assistant failed \(authentication, \w+\): the key is refused/);
  const unknown = await made.cru("chat", "critc", "-m", "hello");
  assert.equal(unknown.code, 3);
  assert.match(unknown.stderr, /agent not found: "critc"[^]*critic/);
});

test("SA-23, SA-48: several subagents run one after the other, and what waits is told", async (t) => {
  // What waits is told while the second is held back.
  let child;
  const { crew: made } = await cast(t, {
    assistant: ({ turn, results }) => (turn === 0 ? { text: "One after the other.", tools: [spawning("critic", "first"), spawning("tester", "second"), spawning("critic", "third")] } : { text: `In short: ${results.map(({ text }) => text).join("\n")}` }),
    critic: { text: report("The login lets anyone in.") },
    tester: async () => { await waitFor(() => child.text.stderr.includes("1 more in the queue"), { what: "it is told that one waits" }); return { text: report("41 tests pass.") }; },
  });
  child = made.spawn(["chat", "-m", "three steps"]);
  const said = await child.ended;
  assert.match(said.stderr, /^→ Running critic agent\.\.\.\n( {4}\d more in the queue\n)? {4}The login.*\n→ Running tester agent\.\.\.\n {4}1 more in the queue\n {4}41 tests pass\.\n→ Running critic agent\.\.\.\n {4}The login/m);
  assert.match(said.stdout, /In short: [^]*lets anyone in[^]*41 tests pass[^]*lets anyone in/, "one answer of all three, in order");
});

test("at a terminal: prompt, markdown, commands, history, leaving and resuming", async (t) => {
  const made = await crew(t);
  const terminal = new Terminal(made, ["chat"]);
  await terminal.prompt();
  terminal.type("show markdown, grüße 漢字\r");
  await terminal.see(/item/);
  assert.match(terminal.screen, /\x1b\[1mBig\x1b\[0m\r\n/);
  assert.match(terminal.screen, /some \x1b\[1mbold\x1b\[0m and \x1b\[36mcode\x1b\[0m/);
  await terminal.prompt();
  terminal.type("please review it\r");
  await terminal.see(/→ Running critic agent\.\.\.\n {4}The login lets anyone in\.\n/);
  await terminal.see(/In short: /);
  await terminal.prompt();
  terminal.type("one\\\r");
  await terminal.see(/\.\.\. /);
  terminal.type("two\r");
  await terminal.see(/You said: one\ntwo/);
  await terminal.prompt();
  terminal.type("/staus\r");
  await terminal.see(/did you mean: \/status/);
  await terminal.prompt();
  terminal.type("/status\r");
  await terminal.see(/spent +[\d.]+k? tok/);
  await terminal.prompt();
  terminal.type("/files\r");
  await terminal.see(/session\.md\n\.crucible\/sessions\/\S+\/critic-\w+\.md/);
  await terminal.prompt();
  terminal.type("\x04");
  const [, id] = await terminal.see(/resume with: cru chat --resume (\S+)/);
  assert.equal((await terminal.child.ended).code, 0);
  const history = join(made.home, ".state/cru/chat_history");
  assert.equal(statSync(history).mode & 0o777, 0o600);
  assert.match(readFileSync(history, "utf8"), /^"show markdown, grüße 漢字"$/m);
  const again = new Terminal(made, ["chat", "--resume", id.slice(0, -1)]);
  await again.see(/you> one\ntwo/);
  await again.prompt();
  again.type("\x1b[A");  // the newest line of the history
  await again.see(/\/files/);
  again.type("\x15still there?\r");
  await again.see(/You said: still there\?/);
  await again.prompt();
  again.type("/quit\r");
  await again.child.ended;
  const { entries, status } = (await made.get(`/chats/${id}`)).json;
  assert.equal(status, "completed");
  assert.equal(entries.filter(({ role }) => role === "user").length, 4);
});

test("Ctrl-C stops a turn and comes back to the prompt; at the prompt twice it leaves", async (t) => {
  const made = await crew(t);
  const terminal = new Terminal(made, ["chat", "critic", "--model", "sonnet"]);
  await terminal.prompt("critic");
  terminal.type("slow please\r");
  await terminal.see(/one two three/);
  terminal.type("\x03");
  await terminal.see(/stopped by the user/);
  await terminal.prompt("critic");
  terminal.type("and now?\r");
  await terminal.see(/You said: and now\?/);
  await terminal.prompt("critic");
  terminal.type("half a li");
  await terminal.see(/half a li/);
  terminal.type("\x03");
  await terminal.see(/Ctrl-C again/);
  await terminal.prompt("critic");
  terminal.type("\x03");
  await terminal.see(/cru chat --resume/);
  assert.equal((await terminal.child.ended).code, 0);
});

test("a paste of several lines is one message", async (t) => {
  const made = await crew(t);
  const terminal = new Terminal(made, ["chat"]);
  await terminal.prompt();
  terminal.type("\x1b[200~first\r\tsecond\rthird\x1b[201~");
  await terminal.see(/third/);
  terminal.type("\r");
  await terminal.see(/You said: first\n\s+second\nthird/);
  await terminal.prompt();
  terminal.type("\x04");
  await terminal.child.ended;
});

test("a chat outlives its daemon: it goes on, and no word is shown twice", async (t) => {
  const made = await crew(t);
  const terminal = new Terminal(made, ["chat"]);
  await terminal.prompt();
  terminal.type("slow please\r");
  await terminal.see(/one two three four five six seven eight nine ten one/);
  await made.killDaemon();
  await terminal.prompt();
  const words = terminal.text.match(/one two three[^]*?(?=assistant> )/)[0].replaceAll(/\s+/g, " ").trim();
  assert.equal(words, "one two three four five six seven eight nine ten ".repeat(12).trim());
  terminal.type("and on\r");
  await terminal.see(/You said: and on/);
  await terminal.prompt();
  terminal.type("\x04");
  assert.equal((await terminal.child.ended).code, 0);
});

test("without a mind it says so, how to get one, and offers the script", async (t) => {
  const made = await Crew.started({ env: { PATH: "/usr/bin:/bin", ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "" } }, t);
  const piped = await made.cru("chat", "-m", "hello");
  assert.equal(piped.code, 1, JSON.stringify(piped));
  assert.match(piped.stderr, /no mind is configured[^]*ANTHROPIC_API_KEY[^]*--model scripted[^]*claude is not on PATH/);
  const json = await made.cru("chat", "--json", "-m", "hello");
  assert.equal(json.code, 1);
  assert.match(JSON.parse(json.stdout).message, /no mind is configured/);
  assert.deepEqual(await made.chats(), [], "nothing is left behind");
  const terminal = new Terminal(made, ["chat"]);
  await terminal.see(/no mind is configured[^]*Use the scripted mind instead\? \[y\/N\] /);
  terminal.type("y\r");
  await terminal.prompt();
  terminal.type("what are you?\r");
  await terminal.see(/script/);
  await terminal.prompt();
  terminal.type("\x04");
  await terminal.child.ended;
  const refused = new Terminal(made, ["chat"]);
  await refused.see(/\[y\/N\] /);
  refused.type("\r");
  assert.equal((await refused.child.ended).code, 1);
  assert.equal((await made.cru("chat", "--model", "scripted", "-m", "hello")).code, 0);
});

test("a key that only our environment has is lent to a running daemon, and never shown", async (t) => {
  const server = await ModelServer.start({}, t);
  const made = await Crew.started({ server, keys: {}, env: { ANTHROPIC_API_KEY: "" } }, t);
  const secret = "sk-test-0123456789";
  const said = await made.cru("chat", "-m", "hello", { env: { ANTHROPIC_API_KEY: secret } });
  assert.equal(said.code, 0, JSON.stringify(said));
  assert.match(said.stdout, /Hello\./);
  assert.equal(server.requests.at(-1).headers["x-api-key"], secret);
  assert.ok(!(said.stdout + said.stderr + made.log()).includes(secret));
});

test("sessions: listed, shown, opened by the beginning of an id, pruned after a question", async (t) => {
  const made = await crew(t);
  await made.cru("chat", "-m", "please review the login", "--title", "The login");
  const listed = await made.cru("sessions", "list");
  assert.match(listed.stdout, /^ID +STATUS +AGENT +MODEL +SUBAGENTS +SPENT +STARTED +TITLE\n\S+-the-login +completed +assistant +sonnet +1 .* The login$/m);
  const id = listed.stdout.match(/^(\S+-the-login)/m)[1];
  const shown = await made.cru("sessions", "show", id.slice(0, -2));
  assert.match(shown.stdout, /you\nplease review the login\n\nassistant\nI ask the critic\.\n→ Running critic agent\.\.\.\n[^]*The login lets anyone in\.\n {2}✓ critic [^]*\d+ subagent/);
  assert.equal(JSON.parse((await made.cru("sessions", "show", id, "--json")).stdout).id, id);
  const opened = await made.cru("sessions", "open", id);
  assert.equal(opened.stdout, `${made.path(".crucible/sessions", id)}\n`);
  assert.equal((await made.cru("sessions", "show", "nonesuch")).code, 3);
  assert.equal((await made.cru("sessions", "prune", "--older-than", "soon")).code, 2);
  assert.equal((await made.cru("sessions", "prune", "--older-than", "0d", "--dry-run")).stdout, `${id}\n`);
  const unsure = await made.cru("sessions", "prune", "--older-than", "0d");
  assert.equal(unsure.code, 2, "nobody to ask");
  assert.ok(existsSync(opened.stdout.trim()));
  assert.equal((await made.cru("sessions", "prune", "--older-than", "0d", "--yes")).stdout, "deleted 1\n");
  assert.deepEqual(readdirSync(made.path(".crucible/sessions")), []);
});

test("config tells every value's origin, and what waits for a restart; doctor tells of the minds", async (t) => {
  const made = await crew(t);
  const shown = await made.cru("config");
  assert.match(shown.stdout, /^KEY +VALUE +SOURCE$/m);
  assert.match(shown.stdout, /^crew\.default_model +sonnet +default$/m);
  assert.match(shown.stdout, /^models\.sonnet\.provider +scripted +\.crucible\/\S+:\d+$/m);
  const one = await made.cru("config", "crew.max_c");
  assert.match(one.stdout, /^crew\.max_concurrent +1 +default\n$/m);
  assert.equal((await made.cru("config", "nonesuch")).code, 3);
  const all = await made.cru("config", "--all");
  assert.ok(all.stdout.split("\n").length > shown.stdout.split("\n").length);
  const files = (await made.cru("config", "path")).stdout.trim().split("\n");
  assert.equal(files.length, 2);
  const before = readFileSync(files[1], "utf8");
  made.write(files[1].slice(made.root.length + 1), `${before}\ncrew:\n  max_concurrent: 2\n`);
  const changed = await made.cru("config", "crew.max_c");
  assert.match(changed.stdout, /crew\.max_concurrent +2 +\S+ \(not active\)/);
  assert.match(changed.stderr, /apply the changes with: cru daemon restart/);
  const doctor = await made.cru("doctor");
  assert.match(doctor.stdout, /^ok +mind scripted/m);
});
