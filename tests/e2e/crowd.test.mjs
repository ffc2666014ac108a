// 64 agents at once take 8 locks and a queue of work, and every call is recorded; then the same while the daemon is
// killed again and again. The histories must be linearizable: invariants I1 to I3.
//   CRU_SEED=n replays the choices and the times of the kills; CRU_CROWD_KILLS=n changes their number.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, Project, random, sleep, waitFor } from "./harness.mjs";
import { firstGrants, lockViolations, Recorder, workViolations } from "./harness/history.mjs";
import { gapless } from "./loop.mjs";

const clients = 64;
const keys = ["src/a.cc", "src/b.cc", "docs/", "lib/*.h", "api:users", "db:orders", "event:paid", "env:prod"];
const seed = Number(process.env.CRU_SEED ?? Date.now() % 1_000_000_000);

/// One agent's day: locks, work submitted, work claimed and completed.
async function life(agent, recorder, next, { inside, goes_on }) {
  for (let round = 0; goes_on(round) && !recorder.is_over; ++round) {
    const key = keys[Math.floor(next() * keys.length)];
    const wait_seconds = next() < 0.5 ? 0 : 2;
    const taken = await recorder.call(agent, "acquire_lock", { file_path: key, reason: "crowd", ...(wait_seconds ? { wait_seconds } : {}) });
    if (taken.reply.success) {
      const before = inside.get(key) ?? 0;
      inside.set(key, before + 1);
      assert.equal(before, 0, `${key}: two agents are inside`);
      await sleep(next() * 5);
      inside.set(key, inside.get(key) - 1);
      const freed = await recorder.call(agent, "release_lock", { file_path: key, fencing_token: taken.reply.fencing_token });
      assert.equal(freed.reply.success, true, JSON.stringify(freed.reply));
      // A late second release must not free what is by now another's.
      if (next() < 0.2) {
        const late = await recorder.call(agent, "release_lock", { file_path: key, fencing_token: taken.reply.fencing_token });
        assert.equal(late.reply.success, false, JSON.stringify(late.reply));
      }
    }
    if (next() < 0.6) await recorder.call(agent, "submit_work", { task_type: "crowd", description: `${agent.agent_id} ${round}`, priority: 1 + Math.floor(next() * 10), backoff_seconds: 0, max_attempts: 100 });
    await work(agent, recorder, next, round);
  }
}

async function work(agent, recorder, next, round, fails = 0.15) {
  const { reply } = await recorder.call(agent, "get_work", { task_types: ["crowd"] });
  if (!reply.success) return false;
  if (next() < 0.3) await sleep(next() * 5);
  const done = next() >= fails;
  const input = { task_id: reply.task_id, success: done, fencing_token: reply.fencing_token, ...(done ? { result: { by: agent.agent_id, round } } : { error_message: "try again" }) };
  const end = await recorder.call(agent, "complete_work", input);
  assert.equal(end.reply.success, true, JSON.stringify([reply, end.reply]));
  if (done && next() < 0.2) {
    // Whatever this is answered, the first result is the one that stays: the checker looks.
    await agent.call("complete_work", { ...input, result: { by: "a second time" } }).catch(() => null);
  }
  return true;
}

/// The crowd at work for `rounds` each, or, if there is something else to do meanwhile, until that is done.
async function crowd(project, { rounds, meanwhile, grants }) {
  const next = random(seed);
  const recorder = new Recorder();
  const inside = new Map();
  const agents = Array.from({ length: clients }, (_, n) => new Agent(project, `agent-${n}`));
  let is_done = false;
  // As long as it takes to have something to judge, however slowly the locks go round.
  const has_enough = () => firstGrants(recorder.calls).length > grants && recorder.calls.filter(({ operation }) => operation === "submit_work").length > grants;
  const goes_on = (round) => (meanwhile ? !is_done : round < rounds) || !has_enough();
  const lives = agents.map((agent) => life(agent, recorder, random(Math.floor(next() * 2 ** 32)), { inside, goes_on }));
  const all = Promise.all(lives);
  let trouble;
  all.catch((error) => { trouble = error; recorder.is_over = true; });
  await meanwhile?.(() => !trouble, next, recorder);
  is_done = true;
  await all;
  // What is left of the work is done, so that nothing can hide in the queue.
  const tidy = agents.slice(0, 8).map(async (agent) => { while (await work(agent, recorder, next, -1, 0)); });
  await Promise.all(tidy);
  const person = agents[0];
  await waitFor(async () => (await person.ask("list_work", { status: "open", limit: 1 })).work.length === 0, { what: "the queue is empty" });
  return { recorder, person };
}

async function judge(project, { recorder, person }, stream) {
  const { calls } = recorder;
  const wrong = keys.flatMap((key) => lockViolations(calls, key));
  const items = [];
  for (const { reply } of calls.filter(({ operation }) => operation === "submit_work")) items.push(await person.ask("get_work_item", { task_id: reply.task_id }));
  wrong.push(...workViolations(calls, items));
  assert.deepEqual(wrong, []);
  assert.deepEqual((await person.ask("check_locks")).result, [], "every lock was given back");
  // I1: what was acknowledged is in the log, once, in order, without a gap.
  const grants = firstGrants(calls).map(({ reply }) => reply.fencing_token).sort((a, b) => a - b);
  const told = () => stream.events.filter(({ type }) => type === "lock.acquired").map(({ data }) => data.fencing_token);
  await waitFor(() => told().length >= grants.length, { what: "the events of all grants" });
  assert.deepEqual(told().sort((a, b) => a - b), grants, "one event a grant");
  gapless(stream);
  const completed = stream.events.filter(({ type }) => type === "work.completed").length;
  assert.equal(completed, items.length, "one event a completion");
  return { grants: grants.length, items: items.length, calls: calls.length, retries: recorder.retries };
}

test("64 agents lock and work at once, and the history is linearizable", async (t) => {
  const project = await Project.started({}, t);
  const stream = project.stream({ query: "?since=0" });
  const sum = await judge(project, await crowd(project, { rounds: 5, grants: 80 }), stream);
  t.diagnostic(`CRU_SEED=${seed}: ${JSON.stringify(sum)}`);
  assert.ok(sum.grants > 80 && sum.items > 80, JSON.stringify(sum));
});

test("the same while the daemon is killed again and again", async (t) => {
  const kills = Number(process.env.CRU_CROWD_KILLS ?? 16);
  console.error(`crowd: CRU_SEED=${seed}`);
  const project = await Project.started({}, t);
  const stream = project.stream({ query: "?since=0" });
  let killed = 0;
  const meanwhile = async (is_well, next, recorder) => {
    while ((killed < kills || !recorder.retries) && is_well()) {
      // Mostly at work, sometimes while it begins.
      if (killed % 4) await project.ready();
      await sleep(50 + next() * 1200);
      killed += await project.killDaemon();
      await project.startDaemon({ wait: false });
    }
    await project.ready();
  };
  const sum = await judge(project, await crowd(project, { meanwhile, grants: 60 }), stream);
  t.diagnostic(`CRU_SEED=${seed}: ${killed} kills, ${JSON.stringify(sum)}`);
  assert.ok(killed >= kills && sum.retries > 0 && sum.grants > 60, `${killed} ${JSON.stringify(sum)}`);
});

// The checker itself: it says nothing of a sound history, and finds what is planted.
const at = (operation, agent, call, ret, input, reply) => ({ operation, agent, session: `s-${agent}`, call, ret, input, reply, status: 200 });
const take = (agent, token, call, ret) => at("acquire_lock", agent, call, ret, { file_path: "k" }, { success: true, action: "acquired", fencing_token: token });
const free = (agent, token, call, ret) => at("release_lock", agent, call, ret, { file_path: "k", fencing_token: token }, { success: true });
const denied = (agent, by, call, ret) => at("acquire_lock", agent, call, ret, { file_path: "k" }, { success: false, reason: "locked_by_other", locked_by: by });

test("the checker of locks finds planted violations", () => {
  const sound = [take("a", 1, 0, 10), denied("b", "a", 5, 12), free("a", 1, 20, 30), take("b", 2, 15, 25), free("b", 2, 40, 41)];
  assert.deepEqual(lockViolations(sound, "k"), [], "overlapping calls that some order explains");
  const planted = {
    "two holders": [take("a", 1, 0, 10), take("b", 2, 11, 12), free("a", 1, 20, 30), free("b", 2, 40, 41)],
    "never released": [take("a", 1, 0, 10), take("b", 2, 11, 12)],
    "tokens that go back": [take("a", 2, 0, 10), free("a", 2, 11, 12), take("b", 1, 20, 21), free("b", 1, 22, 23)],
    "one token for two": [take("a", 1, 0, 1), free("a", 1, 2, 3), take("b", 1, 4, 5), free("b", 1, 6, 7)],
    "a release by another": [take("a", 1, 0, 1), free("b", 1, 2, 3)],
    "released twice": [take("a", 1, 0, 1), free("a", 1, 2, 3), free("a", 1, 4, 5)],
    "refused for nobody": [take("a", 1, 0, 1), free("a", 1, 2, 3), denied("b", "a", 4, 5)],
  };
  for (const [what, calls] of Object.entries(planted)) assert.notDeepEqual(lockViolations(calls, "k"), [], what);
});

test("the checker of work finds planted violations", () => {
  const submit = at("submit_work", "p", 0, 1, {}, { success: true, task_id: "w" });
  const claim = (agent, token, call, ret) => at("get_work", agent, call, ret, {}, { success: true, task_id: "w", fencing_token: token });
  const end = (agent, token, call, ret, status = "completed") => at("complete_work", agent, call, ret, { task_id: "w", fencing_token: token, result: agent }, { success: true, status });
  const done = [{ task_id: "w", status: "completed", result: "a" }];
  assert.deepEqual(workViolations([submit, claim("a", 1, 2, 3), end("a", 1, 4, 5)], done), []);
  assert.deepEqual(workViolations([submit, claim("b", 1, 2, 3), end("b", 1, 4, 8, "failed"), claim("a", 2, 6, 7), end("a", 2, 9, 9)], done), []);
  const planted = {
    "claimed twice": [[submit, claim("a", 1, 2, 3), claim("b", 2, 4, 5), end("a", 1, 6, 7)], done],
    "completed twice": [[submit, claim("a", 1, 2, 3), end("a", 1, 4, 5), end("a", 1, 6, 7)], done],
    "by two": [[submit, claim("a", 1, 2, 3), end("a", 1, 4, 5), claim("b", 2, 6, 7), end("b", 2, 8, 9)], done],
    "with a stale token": [[submit, claim("a", 1, 2, 3), end("b", 1, 4, 5)], done],
    "claimed again before its failure": [[submit, claim("a", 1, 2, 3), claim("b", 2, 4, 5), end("a", 1, 6, 7, "failed"), end("b", 2, 8, 9)], [{ task_id: "w", status: "completed", result: "b" }]],
    "lost": [[submit], []],
    "a lost completion": [[submit, claim("a", 1, 2, 3), end("a", 1, 4, 5)], [{ task_id: "w", status: "pending", result: null }]],
    "completed by nobody": [[submit], done],
  };
  for (const [what, [calls, items]] of Object.entries(planted)) assert.notDeepEqual(workViolations(calls, items), [], what);
});
