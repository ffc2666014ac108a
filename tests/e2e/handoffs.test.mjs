// What a session leaves behind: its own words first, nothing where there is nothing, and what it changed.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Agent, patience, Project } from "./harness.mjs";
import { stdioClient, use } from "./harness/mcp.mjs";

const note = {
  summary: "the parser is half done\n- tokens\n- numbers", completed_work: ["lexer"], in_progress: ["parser"], decisions: ["no generator: too slow"],
  next_steps: ["precedence"], relevant_files: ["src/parser.cc"],
};
const commit = (project, subject) => project.git("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "--allow-empty", "-m", subject);

test("CO-12: the final handoff carries the agent's own words, and that is what the next session reads", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  await ada.ask("submit_work", { task_type: "code", description: "the lexer", task_id: "lexer" });
  const { fencing_token } = await ada.ask("get_work");
  await ada.ask("complete_work", { task_id: "lexer", success: true, fencing_token });
  await ada.ask("write_handoff", { summary: "not the last" });
  const { handoff_id: own } = await ada.ask("write_handoff", note);
  await ada.ask("check_edit", { file_path: "src/touched.cc", tool: "Edit" });
  const { handoff_id } = await ada.ask("end_session", { reason: "logout" });

  const next = await stdioClient(project, t, { env: { AGENT_ID: "ada", SESSION_ID: randomUUID() } });
  const { handoffs: [handoff] } = await use(next, "read_handoff");
  assert.deepEqual([handoff.id, handoff.kind, handoff.carries, handoff.empty], [handoff_id, "final", own, false]);
  assert.ok(handoff.summary.startsWith(`${note.summary}\n\nRecorded by cru: worked `), handoff.summary);
  assert.match(handoff.summary, /completed 1 work item; touched 1 file; ended: logout\.$/);
  assert.deepEqual(handoff.completed_work, ["lexer", "code: the lexer (lexer) (recorded by cru)"]);
  for (const key of ["in_progress", "decisions", "next_steps"]) assert.deepEqual(handoff[key], note[key], key);
  assert.deepEqual(handoff.relevant_files, ["src/parser.cc", "src/touched.cc"]);
  const prompt = await next.getPrompt({ name: "resume_from_handoff" });
  assert.match(prompt.messages[0].content.text, /> the parser is half done\n> - tokens\n/);
});

test("CO-12: a session that did nothing leaves an empty handoff, which stands in nobody's way", async (t) => {
  const project = await Project.started({}, t);
  const worker = new Agent(project, "ada"), idle = new Agent(project, "ada"), reader = new Agent(project, "ada");
  const { handoff_id: own } = await worker.ask("write_handoff", note);
  const { handoff_id: final } = await worker.ask("end_session");
  await idle.ask("register_session", { current_task: "nothing much" });
  const { handoff_id: empty } = await idle.ask("end_session");
  const ids = async (input) => (await reader.ask("read_handoff", { limit: 10, ...input })).handoffs.map(({ id }) => id);
  assert.deepEqual(await ids({}), [empty, final, own], "by time, whatever they say");
  assert.deepEqual(await ids({ empty: false }), [final, own]);
  assert.deepEqual(await ids({ empty: true }), [empty]);
  const shown = await project.cru("handoffs", "show", "--json");
  assert.equal(JSON.parse(shown.stdout).id, final, JSON.stringify(shown));
  const listed = await project.cru("handoffs", "list", "--no-empty", "--json");
  assert.deepEqual(JSON.parse(listed.stdout).handoffs.map(({ id }) => id), [final, own]);
  const odd = await reader.call("read_handoff", { empty: "perhaps" });
  assert.deepEqual([odd.status, odd.json.field], [400, "empty"], odd.text);
});

/// The daemon waits less than a second for git, and leaves out the commits that it could not find out in that time. Here git
/// has the patience of its test.
async function patient(t, options) {
  const project = new Project(options);
  t.after(() => project.close());
  project.env.CRU_GIT_LIMIT_MS = String(patience);
  await project.startDaemon();
  return project;
}

test("what a session changed is there with its handoff: the commits and the files, on the command line too", async (t) => {
  const project = await patient(t, { git: true });
  const ada = new Agent(project, "ada");
  await ada.ask("register_session");
  await ada.ask("check_edit", { file_path: "src/a.cc", tool: "Edit" });
  commit(project, "mend the parser");
  commit(project, "test the parser");
  const { handoff_id } = await ada.ask("end_session");
  const { json: handoff } = await project.get(`/handoffs/${handoff_id}`);
  const { changeset } = handoff;
  assert.equal(handoff.changeset_id, changeset.id);
  assert.equal(changeset.head, project.git("rev-parse", "HEAD").trim());
  assert.equal(changeset.base, project.git("rev-parse", "HEAD~2").trim());
  assert.deepEqual(changeset.commits.map(({ subject, author }) => [subject, author]), [["test the parser", "Ada"], ["mend the parser", "Ada"]]);
  assert.deepEqual([changeset.files, changeset.file_count, changeset.more_commits], [["src/a.cc"], 1, false]);

  const shown = await project.cru("handoffs", "show", handoff.id.slice(0, 12));
  assert.equal(shown.code, 0, JSON.stringify(shown));
  for (const said of [`HEAD went from ${changeset.base.slice(0, 12)} to ${changeset.head.slice(0, 12)}`, "mend the parser (Ada)", "1 file edited", "- src/a.cc"])
    assert.ok(shown.stdout.includes(said), `${said} is not in ${shown.stdout}`);
  const json = await project.cru("handoffs", "show", handoff.id, "--json");
  assert.deepEqual(JSON.parse(json.stdout).changeset, changeset);

  const listed = await project.get(`/sessions/${ada.session_id}/changesets`);
  assert.deepEqual(listed.json.changesets.map(({ id, base, head, files }) => [id, base, head, files]), [[changeset.id, changeset.base, changeset.head, ["src/a.cc"]]], listed.text);
  const table = await project.cru("peers", "changes", ada.session_id);
  assert.match(table.stdout, new RegExp(changeset.head), JSON.stringify(table));
  const mcp = await stdioClient(project, t, { env: { AGENT_ID: "reader", SESSION_ID: randomUUID() } });
  const { contents: [resource] } = await mcp.readResource({ uri: `handoffs://${handoff.id}` });
  assert.deepEqual(JSON.parse(resource.text).changeset, changeset);
});

test("a repository may get its first commit while a session works", async (t) => {
  const project = await patient(t, {});
  project.git("init", "-q", "-b", "trunk");
  const ada = new Agent(project, "ada");
  await ada.ask("register_session");
  commit(project, "the very first");
  const { handoff_id } = await ada.ask("end_session");
  const { json: { changeset } } = await project.get(`/handoffs/${handoff_id}`);
  assert.equal(changeset.base, "0".repeat(40));
  assert.equal(changeset.head, project.git("rev-parse", "HEAD").trim());
  assert.deepEqual(changeset.commits.map(({ subject }) => subject), ["the very first"]);
});
