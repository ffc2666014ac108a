// Whole traces as `cru sessions trace` renders them: of a chat, a run and a work item. What differs each time (ids, times, the
// length of bars) is left out; the rest is kept in tests/golden/traces. CRU_GOLDEN=write writes it anew.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Agent, cru_bin, Project, repository, waitFor } from "./harness.mjs";
import { cast, report, spawning } from "./harness/cast.mjs";
import { Crew } from "./harness/crew.mjs";

/// Everything that is the same each time.
const settled = (text) => text
  .replace(/\b[0-9a-f]{32}\b/g, "TRACE")
  .replace(/\d{4}-\d\d-\d\d-[\w-]+/g, "CHAT")
  .replace(/\b(explorer|tester|verify|q)-[0-9a-f]{4,}\b/g, "$1-ID")
  .replace(/ +[█▒]+/g, "  BAR")
  .replace(/ +(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?m?s\b/g, " TIME");

async function golden(project, name, id) {
  const shown = await project.cru("sessions", "trace", id);
  assert.equal(shown.code, 0, shown.stderr);
  const text = settled(shown.stdout);
  const file = join(repository, "tests/golden/traces", name);
  if (process.env.CRU_GOLDEN === "write") {
    mkdirSync(join(repository, "tests/golden/traces"), { recursive: true });
    writeFileSync(file, text);
  }
  assert.equal(text, existsSync(file) ? readFileSync(file, "utf8") : "(no golden file)", `${name}: ${shown.stdout}`);
}

test("the trace of a chat: its tree in the order of spawning, tokens, an approval that was waited for, a failure apart", async (t) => {
  const { crew } = await cast(t, {
    careful: [
      { text: "I write it down.", tools: [{ name: "write_file", input: { path: "made.txt", content: "made\n" } }], usage: { input: 20, output: 2 } },
      { text: "I verify the login fix.", tools: [spawning("explorer", "find it"), spawning("tester", "test it")], usage: { input: 1000, output: 100 } },
      { text: "One failed.", usage: { input: 10, output: 1 } },
    ],
    explorer: { text: report("Found it."), usage: { input: 500, output: 50 } },
    tester: { status: 400, error: { type: "invalid_request_error", message: "the prompt is bad" } },
  }, { agents: { careful: { permissions: ["FilesystemRead", "FilesystemWrite", "SemanticSearch"], requires_approval: ["FilesystemWrite"] } } });
  const chat = await crew.chat({ agent: "careful", message: "Check the login." }, { wait: false });
  const { id } = await waitFor(async () => (await crew.must(200, crew.get("/approvals?pending=true"))).approvals[0], { what: "an approval waits" });
  assert.equal((await crew.cru("approvals", "approve", id)).code, 0);
  await chat.idle();
  await chat.end();
  await golden(crew, "chat.txt", chat.id);
});

test("the trace of a run: what it began, what it cost, what held it up, and how that ended", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("outer", `${cru_bin} run --id inner -- sh -c 'exit 4'`);
  await project.ended("inner");
  await project.ended("outer");
  await golden(project, "run.txt", "outer");
  const crew = await Crew.started({ standin: { replies: [{ when: "asks", steps: [{ ask: "question" }, { say: "Thank you." }] }] } }, t);
  await crew.must(201, crew.post("/tasks", { id: "work", backend: "claude", task: "asks" }));
  const question = await crew.pendingQuestion("work");
  await crew.must(200, crew.post(`/questions/${question.id}/answer`, { answer: "SQLite" }));
  await crew.ended("work");
  await golden(crew, "run-claude.txt", "work");
});

test("the trace of a work item: who attempted it, and the run that verified that", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  await ada.ask("submit_work", { task_id: "w1", task_type: "review", description: "look at it", backoff_seconds: 0, verify: ["sh", "-c", "test -e ok"] });
  const claim = await ada.ask("get_work");
  await ada.call("complete_work", { task_id: "w1", success: true, fencing_token: claim.fencing_token });
  await golden(project, "work.txt", "w1");
});
