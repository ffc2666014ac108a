// cru crew: everybody once, with one word for each; the same word in every list. And questions of those who are gone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, codeOf, Project, waitFor } from "./harness.mjs";
import { cast, report, spawning } from "./harness/cast.mjs";
import { Live } from "./harness/live.mjs";

const crewOf = async (project, query = "") => (await project.get(`/crew${query}`)).json.crew;
const named = async (project, name, query) => (await crewOf(project, query)).find((member) => member.name === name);
const asking = 'echo \'::cru-ask {"prompt":"Which DB?"}\'; read answer; echo "got $answer"';

test("cru crew and cru ps show the same word: who asks needs you, who fails failed, who ends is done", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("asker", asking);
  const question = await project.pendingQuestion("asker");
  await project.sh("broken", "exit 3");
  await project.ended("broken");
  await project.sh("fine", "exit 0");
  await project.ended("fine");
  const asker = await named(project, "asker");
  assert.deepEqual([asker.kind, asker.badge, asker.evidence, asker.facets.run], ["command", "needs you", "asked: Which DB?", "asker"]);
  assert.equal(asker.since, question.asked_at);
  assert.equal(question.member, asker.id);
  const shown = await project.cru("crew");
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /^NAME +KIND +BADGE +SINCE +DOING +PARENT +SPENT\n/);
  assert.match(shown.stdout, /^asker +command +needs you /m);
  assert.match(shown.stdout, /^broken +command +failed /m, "it has ended, and not as it should");
  assert.doesNotMatch(shown.stdout, /fine/, "it has ended");
  assert.match((await project.cru("ps")).stdout, /^asker +running +needs you /m);
  assert.match((await project.cru("crew", "--all")).stdout, /^broken +command +failed /m);
  const runs = (await project.get("/agents")).json.agents;
  for (const { task_id, badge, badge_evidence } of runs) {
    const member = await named(project, task_id, "?all=true");
    assert.deepEqual([badge, badge_evidence], [member.badge, member.evidence], task_id);
  }
  await project.answer(question.id, "SQLite");
  await project.ended("asker");
  assert.equal((await named(project, "asker", "?all=true")).badge, "done");
  assert.equal((await named(project, "broken", "?all=true")).evidence, "exited with code 3");
});

test("a session's question is withdrawn when the session ends, and says so", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada"), bob = new Agent(project, "bob");
  const { question_id } = await ada.ask("ask_user", { prompt: "Which port?", wait_seconds: 0 });
  const others = await bob.ask("ask_user", { prompt: "Which host?", wait_seconds: 0 });
  assert.deepEqual([(await named(project, "ada")).badge, (await named(project, "bob")).badge], ["needs you", "needs you"]);
  const heard = async () => (await bob.ask("discover_agents")).agents.find(({ agent_id }) => agent_id === "ada").last_heartbeat;
  const before = await heard();
  const waits = ada.call("ask_user", { question_id, wait_seconds: 50 });
  await waitFor(async () => (await heard()) !== before, { what: "the call has been let in" });
  await ada.ask("end_session", { reason: "logout" });
  const told = await waits;
  const kept = (await project.get(`/questions/${question_id}`)).json;
  assert.deepEqual([kept.status, kept.withdrawn_because], ["expired", "it ended: logout"]);
  assert.equal(told.json.success, true, told.text);
  assert.match(told.json.message, /withdrawn because its asker ended: logout/);
  const late = await project.post(`/questions/${question_id}/answer`, { answer: "80" });
  assert.deepEqual([late.status, codeOf(late.json)], [409, "conflict"]);
  assert.match(late.text, /withdrawn because its asker ended/);
  assert.equal((await project.get(`/questions/${others.question_id}`)).json.status, "pending", "bob is still there");
  assert.equal((await named(project, "ada", "?all=true")).badge, "done");
});

test("locks and work name their member", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  await ada.ask("acquire_lock", { file_path: "src/a.cc" });
  await ada.ask("submit_work", { task_type: "t", description: "d", task_id: "piece" });
  await ada.ask("get_work");
  const { id } = await named(project, "ada");
  assert.match(id, /^m-[0-9a-f]{12}$/);
  assert.equal((await ada.ask("check_locks")).result[0].member, id);
  assert.equal((await ada.ask("get_work_item", { task_id: "piece" })).claimed_by_member, id);
});

test("a chat's primary and its subagents are members, and gone when they have ended", async (t) => {
  const { crew } = await cast(t, {
    assistant: [{ text: "I ask.", tools: [spawning("code-reviewer", "Review it.")] }, { text: "It is safe." }],
    "code-reviewer": { text: report("Fine.", "Nothing.") },
  }, { agents: { "code-reviewer": { prompt: "You are code-reviewer." } } });
  const chat = await crew.chat({ message: "Is it safe?" });
  assert.equal(await chat.answer(), "It is safe.");
  const all = await crewOf(crew, "?all=true");
  const primary = all.find(({ facets }) => facets.thread === chat.id);
  assert.deepEqual([primary.name, primary.kind, primary.badge, primary.doing], ["assistant", "model", "idle", "Is it safe?"]);
  const child = all.find(({ definition }) => definition === "code-reviewer");
  assert.deepEqual([child.badge, child.parent, child.doing], ["done", "assistant", "Review it."]);
  await crew.post(`/chats/${chat.id}/end`);
  assert.equal((await crewOf(crew)).some(({ id }) => id === primary.id), false);
  await crew.post(`/chats/${chat.id}/messages`, { text: "Are you sure?" });
  assert.ok((await crewOf(crew)).some(({ id }) => id === primary.id), "a chat that goes on has its member back");
});

test("a live agent is a member from its arrival to its end, and across a restart", async (t) => {
  const live = await Live.started({}, t);
  for (let i = 0; i < 2; ++i) assert.equal((await live.cru("spawn", "--live", "--name", "Ada")).code, 0);
  const bodies = async () => (await crewOf(live)).filter(({ facets }) => facets.body);
  assert.deepEqual((await bodies()).map(({ name, kind }) => [name, kind]), [["Ada", "script"], ["Ada-1", "script"]]);
  await live.restartDaemon();
  const [first] = await bodies();
  assert.ok(["idle", "listening", "thinking", "speaking"].includes(first.badge), first.badge);
  assert.equal((await live.cru("live", "terminate", first.facets.body)).code, 0);
  await waitFor(async () => (await bodies()).length === 1, { what: "one is left" });
  assert.equal((await named(live, "Ada", "?all=true")).badge, "done");
});
