// `cru run AGENT TASK`, as a person sees it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { waitFor } from "./harness/basics.mjs";
import { checkSessionFolder, Crew, parseMarkdown } from "./harness/crew.mjs";

const summary = "41 tests pass; added a regression test for expired tokens";
const long_summary = Array.from({ length: 60 }, (_, n) => `word${n}`).join(" ");
const script = { replies: [
  { when: { contains: "stall" }, say: "never", delay: "1h" },
  { when: { contains: "fail" }, say: "x", fail: { type: "invalid_request", message: "no such thing" } },
  { when: { contains: "long" }, say: `## Summary\n\n${long_summary}\n\n## Findings\n\nf\n` },
], otherwise: { say: `## Summary\n\n${summary}\n\n## Findings\n\nI was told: {{task}}\n` } };
const crew = (t) => Crew.started({ models: { haiku: "worker" }, scripts: { worker: script }, agents: { tester: { model: "haiku" } } }, t);

test("an agent is run with a task: progress, summary, and where the report is", async (t) => {
  const made = await crew(t);
  const ran = await made.cru("run", "tester", "cover the login fix");
  assert.equal(ran.code, 0, JSON.stringify(ran));
  assert.match(ran.stdout, new RegExp(`^→ Running tester agent\\.\\.\\.\n {4}${summary}\n\nI was told: cover the login fix\n\n✓ tester [\\d.hms]+ [\\d.]+k? tok  \\.crucible/sessions/[^/]+/tester-\\w+\\.md\n$`));
  const file = ran.stdout.match(/\S+\.md/)[0];
  const { front, body } = parseMarkdown(readFileSync(made.path(file), "utf8"));
  assert.equal(front.status, "completed");
  assert.match(body, /## Summary[^]*## Findings[^]*I was told: cover the login fix/);
  checkSessionFolder(made.path(file.slice(0, file.lastIndexOf("/"))));
  const shown = await made.cru("sessions", "show", file.split("/")[2]);
  assert.match(shown.stdout, /→ Running tester agent/);
  assert.equal((await made.cru("spawn", "tester", "again")).code, 0, "the alias");
});

test("SA-30: the user reads the first 100 characters of the summary, indented and marked as cut; the whole follows, and is in the file and in --json", async (t) => {
  const made = await crew(t);
  const ran = await made.cru("run", "tester", "a long one");
  const line = ran.stdout.split("\n")[1];
  assert.equal(line, `    ${long_summary.slice(0, 100)}…`);
  assert.ok(ran.stdout.includes(`\n## Summary\n\n${long_summary}\n\n## Findings\n\nf\n`), ran.stdout);
  const { body } = parseMarkdown(readFileSync(made.path(ran.stdout.match(/\S+\.md/)[0]), "utf8"));
  assert.ok(body.includes(long_summary), "the full details are in the file");
  const json = await made.cru("run", "tester", "tell", "--json");
  const record = JSON.parse(json.stdout);
  assert.equal(record.status, "completed");
  assert.match(record.result, /## Findings/);
  assert.equal(json.stderr, "");
});

test("one that fails ends with 6, with type, message and file", async (t) => {
  const made = await crew(t);
  const ran = await made.cru("run", "tester", "fail at it");
  assert.equal(ran.code, 6, JSON.stringify(ran));
  assert.equal(ran.stdout, "→ Running tester agent...\n");
  assert.match(ran.stderr, /^✗ tester failed \(invalid_request, \w+\): no such thing\n✗ tester \S+ [\d.]+k? tok  \S+\/tester-\w+\.md\n$/);
  assert.equal(parseMarkdown(readFileSync(made.path(ran.stderr.match(/\S+\.md/)[0]), "utf8")).front.error_type, "invalid_request");
});

test("what a person permits is all that is granted", async (t) => {
  const made = await crew(t);
  const granted = JSON.parse((await made.cru("run", "tester", "go", "--permit", "NetworkAccess", "--json")).stdout);
  assert.deepEqual([...granted.permissions].sort(), ["FilesystemRead", "NetworkAccess", "SemanticSearch"]);
  assert.equal(granted.inherited, false);
  const refused = await made.cru("run", "tester", "go", "--permit", "Everything");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /Everything/);
  const model = await made.cru("run", "tester", "go", "--model", "nonesuch");
  assert.equal(model.code, 2, JSON.stringify(model));
});

test("Ctrl-C cancels it; detached it prints its id and goes on", async (t) => {
  const made = await crew(t);
  const child = made.spawn(["run", "tester", "stall"]);
  await waitFor(() => child.text.stdout.includes("→ Running"), { what: "it runs" });
  child.kill("SIGINT");
  const ended = await child.ended;
  assert.equal(ended.code, 130, JSON.stringify(ended));
  assert.match(ended.stderr, /✗ tester was cancelled \(cancelled, warning\)/);
  const detached = await made.cru("run", "tester", "quickly", "--detach");
  assert.match(detached.stdout, /^\w+\n$/);
  assert.equal((await made.subagentOver(detached.stdout.trim())).status, "completed");
});

test("a command is still a command, and what is neither is told so", async (t) => {
  const made = await crew(t);
  assert.equal((await made.cru("run", "--", "echo", "hello")).stdout, "hello\n");
  assert.equal((await made.cru("run", "echo", "hello")).stdout, "hello\n", "a program with one word");
  assert.equal((await made.cru("run", "echo", "--", "-n", "x")).stdout, "x");
  const neither = await made.cru("run", "testr", "do it");
  assert.equal(neither.code, 3);
  assert.match(neither.stderr, /"testr" is neither an agent nor a program[^]*tester[^]*PATH/);
  const mistyped = await made.cru("run", "cluade", "fix the bug");
  assert.equal(mistyped.code, 3);
  assert.match(mistyped.stderr, /did you mean: cru run claude 'fix the bug'\n/);
  const taskless = await made.cru("run", "tester");
  assert.equal(taskless.code, 2);
  assert.match(taskless.stderr, /takes one task/);
  assert.equal((await made.cru("run", "tester", "x", "--model", "haiku", "--worktree")).code, 2);
});
