// Lists are kept as text between two changes: nobody ever reads one that is older than what was acknowledged to him or to
// anybody else.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Project } from "./harness.mjs";

async function started(t) {
  const project = new Project();
  t.after(() => project.close());
  await project.startDaemon();
  return project;
}
const listed = async (project, query = "") => (await project.get(`/agents${query}`)).json.agents;
const find = async (project, id) => (await listed(project)).find(({ task_id }) => task_id === id);

test("whatever another client does, the next list of runs shows it", async (t) => {
  const project = await started(t);
  assert.deepEqual(await listed(project), []);
  for (let round = 0; round < 8; ++round) {
    const id = `r${round}`;
    await project.start(id, ["sleep", "600"], { stdin: false });
    assert.equal((await find(project, id))?.status, "running", `${id} is listed as soon as it is started`);
    assert.deepEqual(await listed(project), await listed(project), "and the same when it is asked for again");
    await project.post(`/agents/${id}/kill`, { grace_seconds: 0 });
    const { status } = await project.ended(id);
    assert.equal((await find(project, id)).status, status, "what one request has shown the list shows too");
    if (round % 2) await project.post(`/agents/${id}/remove`);
    assert.equal((await find(project, id)) === undefined, round % 2 === 1);
  }
  assert.equal((await listed(project, "?limit=2")).length, 2);
  assert.equal((await listed(project, "?status=running")).length, 0);
});

test("while many read and many write, a reader never falls behind what a writer was told", async (t) => {
  const project = await started(t);
  let acknowledged = 0;
  let over = false;
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let i = 0; i < 6; ++i) {
      await project.start(`w${writer}-${i}`, ["true"], { stdin: false });
      ++acknowledged;
    }
  });
  let reads = 0;
  const readers = Array.from({ length: 8 }, async () => {
    while (!over) {
      const known = acknowledged;
      const seen = (await listed(project)).length;
      assert.ok(seen >= known, `${seen} of ${known} runs are listed`);
      ++reads;
    }
  });
  await Promise.all(writers).finally(() => (over = true));
  await Promise.all(readers);
  assert.equal((await listed(project)).length, 24);
  assert.ok(reads > 24);
});

test("a question is in the list of runs at once, and gone at once when it is answered", async (t) => {
  const project = await started(t);
  await project.start("asker", ["sleep", "600"]);
  assert.equal((await find(project, "asker")).pending_questions, 0);
  const asked = await project.post("/questions", { task_id: "asker", prompt: "Which port?" });
  assert.equal(asked.status, 201, asked.text);
  const waits = await find(project, "asker");
  assert.deepEqual([waits.badge, waits.pending_questions], ["needs you", 1]);
  const answered = await project.post(`/questions/${asked.json.id}/answer`, { answer: "80" });
  assert.equal(answered.status, 200, answered.text);
  const goes_on = await find(project, "asker");
  assert.notEqual(goes_on.badge, "needs you");
  assert.equal(goes_on.pending_questions, 0);
});
