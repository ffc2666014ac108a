// Rules about approvals: a person's word in advance, shown before it is made, narrow, never for what cannot be undone, on record whenever it decides.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { here, Project, waitFor } from "./harness.mjs";
import { cast, filed, told } from "./harness/cast.mjs";

const may_write = ["FilesystemRead", "FilesystemWrite"];
const may_run = [...may_write, "ProcessSpawn"];
const writing = (path) => ({ name: "write_file", input: { path, content: "made\n" } });
const shell = (script) => ({ name: "run_command", input: { argv: ["sh", "-c", script] } });

/// A crew with "careful", who uses one of these tools in each of its turns.
async function scene(t, tools, { permissions = may_write, requires_approval = ["FilesystemWrite"], ...options } = {}) {
  const part = ({ turn }) => (turn < tools.length ? { text: "I do it.", tools: [tools[turn]] } : { text: "done" });
  const { crew, asked } = await cast(t, { careful: part }, { agents: { careful: { permissions, requires_approval } }, ...options });
  const begin = () => crew.chat({ agent: "careful", message: "please" }, { wait: false });
  return { crew, begin, heard: () => told(asked("careful")) };
}
const all = async (crew) => (await crew.must(200, crew.get("/approvals"))).approvals;
const waits = (crew, id) => waitFor(async () => (await all(crew)).find((one) => one.id === id && one.status === "pending"), { what: `${id} waits` });
const rules = async (crew) => (await crew.must(200, crew.get("/approval-rules"))).rules;
async function cru(crew, ...words) {
  const done = await crew.cru("approvals", ...words);
  assert.equal(done.code, 0, `cru approvals ${words.join(" ")}: ${done.stdout}${done.stderr}`);
  return done.stdout + done.stderr;
}

test("a rule for the session is shown before it is made, decides what it covers, says so on the approval, and is revoked", async (t) => {
  const { crew, begin } = await scene(t, [writing("docs/a.md"), writing("docs/b.md"), writing("src/c.md"), writing("docs/d.md")]);
  const chat = await begin();
  await waits(crew, "A-1");
  const unasked = await crew.cru("approvals", "approve", "A-1", "--for", "session", "--covers", "docs/**");
  assert.notEqual(unasked.code, 0, "nobody has seen what it covers");
  assert.match(unasked.stderr, /allows the agent careful to change files that match docs\/\*\*, in this session only[^]*--yes/);
  assert.deepEqual([(await all(crew))[0].status, await rules(crew)], ["pending", []], "nothing was decided");
  const other = await crew.cru("approvals", "approve", "A-1", "--for", "session", "--covers", "src/**", "--yes");
  assert.match(other.stderr, /would not cover A-1 itself/);
  const changed = await crew.post("/approvals/A-1/approve", { set: { content: "other" }, for: "session" });
  assert.deepEqual([changed.status, await rules(crew)], [400, []], "a rule would cover what was replaced");
  assert.match(await cru(crew, "approve", "A-1", "--for", "session", "--covers", "docs/**", "--yes"), /approved by a person[^]*R-[0-9a-f]{8} allows the agent careful/);
  await waits(crew, "A-3");
  const [rule] = await rules(crew);
  assert.deepEqual((await all(crew)).map(({ status, decided_by, rule: by }) => [status, decided_by, by]),
    [["approved", "person", null], ["approved", "rule", rule.id], ["pending", null, null]]);
  assert.equal(readFileSync(crew.path("docs/b.md"), "utf8"), "made\n");
  assert.ok(!existsSync(crew.path("src/c.md")));
  assert.match(await cru(crew, "rules"), new RegExp(`${rule.id} +allow +session +docs/\\*\\* `), "in a list that is 80 columns wide");
  assert.match(await cru(crew, "rules", "show", rule.id), new RegExp(`^${rule.id} allows the agent careful to change files that match docs/\\*\\*, [^]*\\n  covers +docs/\\*\\*\\n[^]*\\n  made from +A-1\\n`));
  assert.deepEqual(JSON.parse(await cru(crew, "rules", "show", rule.id, "--json")), rule);
  const nobody = await crew.cru("approvals", "rules", "show", "R-none");
  assert.match(nobody.stderr, /rule not found: R-none/);
  assert.match(await cru(crew, "show", "A-2"), new RegExp(`approved by the rule ${rule.id}`));
  assert.match(await cru(crew, "rules", "revoke", rule.id), /^revoked R-\S+, the rule that allows the agent careful to change /);
  assert.deepEqual(await rules(crew), []);
  await cru(crew, "approve", "A-3");
  await waits(crew, "A-4");
  await cru(crew, "deny", "A-4", "no more");
  await chat.idle();
  const { metadata } = await filed(chat);
  assert.deepEqual(metadata.approvals.map(({ decided_by, rule: by }) => [decided_by, by]), [["person", null], ["rule", rule.id], ["person", null], ["person", null]]);
});

test("a rule for the project is in the person's own folder, outlives kill -9, holds in another chat, and a denial counts before it", async (t) => {
  const { crew, begin, heard } = await scene(t, [writing("docs/a.md"), writing("docs/b.md")]);
  const first = await begin();
  await waits(crew, "A-1");
  await cru(crew, "approve", "A-1", "--for", "project", "--covers", "docs/**", "--yes");
  await first.idle();
  const folder = join(crew.config_home, "approval-rules");
  const [file] = readdirSync(folder);
  assert.deepEqual([statSync(folder).mode & 0o777, statSync(join(folder, file)).mode & 0o777], [0o700, 0o600]);
  assert.equal(JSON.parse(readFileSync(join(folder, file), "utf8")).project, crew.root);
  await crew.killDaemon();
  await crew.startDaemon();
  const second = await begin();
  await second.idle();
  const [, , third, fourth] = await all(crew);
  assert.deepEqual([third.decided_by, fourth.decided_by], ["rule", "rule"]);
  await cru(crew, "rules", "add", "A-2", "deny", "--for", "project", "--reason", "b is finished", "--yes");
  const last = await begin();
  await last.idle();
  const denial = (await rules(crew)).find(({ verdict }) => verdict === "deny");
  assert.deepEqual((await all(crew)).slice(-2).map(({ status, rule }) => [status, rule === denial.id]), [["approved", false], ["denied", true]]);
  assert.match(heard().at(-1).text, new RegExp(`^forbidden: denied by the rule ${denial.id} that a person made: b is finished`));
  assert.ok(!heard().at(-1).text.includes("files that match"), "what the rule covers is not the agent's to know");
});

test("no rule allows what cannot be undone; where the person's configuration says that it can, each part of a command is checked", async (t) => {
  const tools = [shell("true"), shell("true && true"), shell("true && touch no.txt"), shell("true $(touch no.txt)"), shell("true > no.txt"), shell("A=1 true")];
  const plain = await scene(t, [shell("touch no.txt")], { permissions: may_run });
  await plain.begin();
  await waits(plain.crew, "A-1");
  const refused = await plain.crew.cru("approvals", "approve", "A-1", "--confirm", "A-1", "--for", "session", "--yes");
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /no rule can allow this: it cannot be undone/);
  assert.deepEqual([(await all(plain.crew))[0].status, await rules(plain.crew)], ["pending", []]);

  const { crew, begin } = await scene(t, tools, { permissions: may_run, user_settings: { approvals: { rules: [{ action: "run_command", can_be_undone: true }] } } });
  const chat = await begin();
  await waits(crew, "A-1");
  await cru(crew, "approve", "A-1", "--for", "session", "--yes");
  for (const id of ["A-3", "A-4", "A-5", "A-6"]) {
    await waits(crew, id);
    assert.notEqual((await crew.cru("approvals", "approve", id, "--for", "session", "--covers", "true *", "--yes")).code, 0, "nor can one be made for it");
    await cru(crew, "deny", id, "no");
  }
  await chat.idle();
  assert.equal((await all(crew))[1].decided_by, "rule");
  assert.ok(!existsSync(crew.path("no.txt")));
});

test("what a run's program asks permission for is decided by rules too, and its session's rules end with it", async (t) => {
  const project = await Project.started({ bin: [join(here, "fixtures/bin")] }, t);
  const asking = async (id) => {
    project.spawn(["run", "--backend", "claude", "--id", id, "a question and a shell"]);
    await project.answer((await project.pendingQuestion(id)).id, "SQLite");
  };
  const answered = async (id) => {
    assert.equal((await project.ended(id)).status, "completed");
    return (await project.output(id)).map(({ data }) => JSON.parse(data)).filter(({ type }) => type === "assistant").map(({ message }) => message.content[0].text)
      .filter((text) => text.startsWith("answered ")).map((text) => JSON.parse(text.slice(9)).response.response)[1];
  };
  await asking("one");
  const first = await waitFor(async () => (await project.get("/approvals?pending=true")).json.approvals[0], { what: "an approval waits" });
  assert.equal((await project.post(`/approvals/${first.id}/rule`, { verdict: "ask", for: "session", covers: ["touch *"] })).status, 200);
  assert.equal((await project.get("/approval-rules")).json.rules.length, 1);
  assert.equal((await project.post(`/approvals/${first.id}/approve`, { confirm: first.id, for: "session" })).status, 400);
  assert.equal((await project.post(`/approvals/${first.id}/deny`, { reason: "never", for: "project", covers: ["touch *"] })).status, 200);
  assert.deepEqual(await answered("one"), { behavior: "deny", message: "never" });
  const left = await waitFor(async () => { const { rules: now } = (await project.get("/approval-rules")).json; return now.length === 1 && now; }, { what: "the session's rule ends with its run" });
  assert.deepEqual(left.map(({ scope, verdict }) => [scope, verdict]), [["project", "deny"]]);
  await asking("two");
  const { behavior, message } = await answered("two");
  assert.equal(behavior, "deny");
  assert.match(message, /^denied by the rule R-\S+ that a person made: never$/, "with the person's reason, and not what else the rule covers");
  const { approvals } = (await project.get("/approvals")).json;
  assert.deepEqual(approvals.map(({ status, decided_by, rule }) => [status, decided_by, rule]), [["denied", "person", null], ["denied", "rule", left[0].id]]);
});

test("while the rules cannot be read, and where a denial may apply, no timeout approves", async (t) => {
  const approvals = { timeout: "1s", on_timeout: "approve", rules: [{ action: "run_command", can_be_undone: true }] };
  const { crew, begin, heard } = await scene(t, [shell("touch no.txt"), shell("echo 'touch no.txt' | sh")], { permissions: may_run, user_settings: { approvals } });
  const outcomes = async () => (await all(crew)).slice(-2).map(({ status, decided_by }) => [status, decided_by]);
  await (await begin()).idle();
  assert.deepEqual(await outcomes(), [["approved", "timeout"], ["approved", "timeout"]], "as it is configured");
  await cru(crew, "rules", "add", "A-1", "deny", "--for", "project", "--covers", "touch *", "--yes");
  rmSync(crew.path("no.txt"));
  await (await begin()).idle();
  assert.deepEqual(await outcomes(), [["denied", "rule"], ["expired", "timeout"]]);
  assert.match(heard().at(-1).text, /only a person could approve it: it is not certain whether the rule R-\S+ covers it/);
  assert.match(await cru(crew, "show", "A-4"), /status +expired: [^\n]*it is not certain whether the rule R-/);
  const folder = join(crew.config_home, "approval-rules");
  writeFileSync(join(folder, readdirSync(folder)[0]), "{", { mode: 0o600 });
  await (await begin()).idle();
  assert.deepEqual(await outcomes(), [["expired", "timeout"], ["expired", "timeout"]]);
  assert.match(heard().at(-1).text, /only a person could approve it: the rules about approvals cannot be read/);
  assert.ok(!existsSync(crew.path("no.txt")));
});

test("a terminal that follows the run shows its approval at once, with how to answer it", async (t) => {
  const project = await Project.started({ bin: [join(here, "fixtures/bin")] }, t);
  const heard = (child) => { let text = ""; child.stderr.on("data", (part) => { text += part; }); return () => text; };
  const attached = heard(project.spawn(["run", "--backend", "claude", "--id", "cc", "a question and a shell"]));
  const question = await project.pendingQuestion("cc");
  const following = heard(project.spawn(["logs", "-f", "cc"]));
  await project.answer(question.id, "SQLite");
  for (const [what, text] of [["cru run", attached], ["cru logs -f", following]])
    await waitFor(() => /⚑ cc needs your approval A-1 to run [^\n]*touch SHOULD_NOT_EXIST[^\n]*\n +to see it: +cru approvals show A-1\n +to approve: +cru approvals approve A-1 --confirm A-1\n +to deny: +cru approvals deny A-1 REASON/.test(text()), { what: `${what} shows it: ${text()}` });
  const late = heard(project.spawn(["logs", "-f", "cc"]));
  await waitFor(() => /needs your approval A-1/.test(late()), { what: "whoever comes later sees it too" });
  await project.post("/approvals/A-1/deny", {});
  await project.ended("cc");
});
