// The daemon is killed with kill -9 at random times, again and again, while agents print numbered lines, further runs
// are started, agents ask by both protocols and are answered, and two clients follow the events. No line is lost,
// doubled or out of order; every acknowledged start is recorded and begun once; each question is asked once and each
// answer heard once; every run ends with its true status; no process is left.
//   CRU_SEED=n replays the times of the kills; CRU_KILLS=n changes their number.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { cru_bin, entityOf, exchange, noneLeft, Project, random, sleep } from "./harness.mjs";
import { caughtUp, checkCounting, countingArgv, gapless, linesOf, twoClients } from "./loop.mjs";

const kills = Number(process.env.CRU_KILLS ?? 200);
const agents = 20;
const rounds = 3;  // questions an asking agent has

let is_over = false;  // the test has ended, well or not: nobody goes on asking
const whileItLasts = () => { if (is_over) throw new Error("the test is over"); };

/// Asks again under the same request id until the daemon answers, whichever of its lives that is.
async function persist(project, path, body, request_id) {
  for (;; whileItLasts()) {
    const reply = await exchange(project.unix, "POST", path, { body, headers: { "Cru-Request-Id": request_id } }).catch(() => null);
    if (reply && reply.status < 500) return reply;
    await sleep(20);
  }
}
async function look(project, path) {
  for (;; whileItLasts()) {
    const reply = await project.get(path).catch(() => null);
    if (reply && reply.status < 500) return reply;
    await sleep(20);
  }
}
/// The reply that the daemon had recorded the start and died before there was a process: there never will be one.
const didNotStart = (reply) => reply.status === 422 && /did not start: daemon restarted/.test(reply.json.message);

/// Starts one further run after another. `acknowledged` are those that the daemon said yes to.
class Starter {
  acknowledged = new Map();
  refused = new Map();
  constructor(project) { Object.assign(this, { project, wanted: true }); }
  async start(plan) {
    const reply = await persist(this.project, `/tasks/${plan.id}/start`, { argv: plan.argv }, `start-${plan.id}`);
    if (reply.status === 201) this.acknowledged.set(plan.id, plan);
    else if (didNotStart(reply)) this.refused.set(plan.id, plan);
    else assert.fail(`${plan.id}: ${reply.status} ${reply.text}`);
  }
  async run() {
    for (let i = 0; this.wanted; ++i) {
      const code = i % 4, id = `more-${i}`;
      const verb = `for i in ${Array.from({ length: rounds }, (_, n) => n + 1).join(" ")}; do a=$(${cru_bin} ask "verb $i of ${id}"); echo "got $i code $? $a"; done; exit ${code}`;
      const line = `for i in ${Array.from({ length: rounds }, (_, n) => n + 1).join(" ")}; do echo "::cru-ask {\\"prompt\\":\\"line $i of ${id}\\"}"; read -r a; echo "got $i code $? $a"; done; exit ${code}`;
      const kind = ["line", "quick", "line", "verb", "line", "quick"][i % 6];
      const argv = { line: ["sh", "-c", line], verb: ["sh", "-c", verb], quick: ["sh", "-c", `echo only; exit ${code}`] }[kind];
      await this.start({ id, kind, code, argv });
      await sleep(kind === "verb" ? 600 : 300);
    }
  }
}

/// Answers whatever is pending, each with words of its own, and remembers what was acknowledged.
class Answerer {
  acknowledged = new Map();
  constructor(project) { Object.assign(this, { project, wanted: true }); }
  async answer({ id }) {
    const words = `answer to ${id}`;
    for (let attempt = 1; ; ++attempt) {
      const reply = await persist(this.project, `/questions/${id}/answer`, { answer: words }, `answer-${id}-${attempt}`);
      if (reply.status === 200) return this.acknowledged.set(id, words);
      assert.equal(reply.status, 409, reply.text);
      const { json: question } = await look(this.project, `/questions/${id}`);
      if (question.status === "pending") continue;
      if (question.status === "expired") return null;  // the asker has left: what that means is judged at the end
      assert.deepEqual([question.status, question.response], ["answered", words], JSON.stringify(question));
      return this.acknowledged.set(id, words);
    }
  }
  async run() {
    while (this.wanted) {
      const { json } = await look(this.project, "/questions?pending=true");
      await Promise.all(json.questions.map((question) => this.answer(question)));
      await sleep(50);
    }
  }
}

test(`the daemon is killed ${kills} times under ${agents} agents that print, start and ask (EX-02, EX-04, EX-08, EX-09, EX-10, EX-11, EX-12, EX-17, EX-18)`, async (t) => {
  const seed = Number(process.env.CRU_SEED ?? Date.now() % 1_000_000_000);
  console.error(`kill_loop: CRU_SEED=${seed}`);
  const next = random(seed);
  const project = await Project.started({}, t);
  const stop = project.path("stop");
  const streams = await twoClients(project, t);

  // Half of them end by themselves somewhere in the middle, the others when they are told to.
  const plans = Array.from({ length: agents }, (_, i) => ({ id: `agent-${i}`, code: i % 3, lines: i % 2 ? 20 + Math.floor(next() * 800) : -1, stop }));
  for (const plan of plans) await project.start(plan.id, countingArgv(plan));
  const starter = new Starter(project), answerer = new Answerer(project);
  const workers = [starter.run(), answerer.run()];
  t.after(() => { is_over = true; starter.wanted = answerer.wanted = false; });
  const trouble = Promise.all(workers).then(() => null, (error) => error);

  const began = Date.now();
  const seconds = () => ((Date.now() - began) / 1000).toFixed(0);
  let killed = 0;
  // The loop must do what it is for, however slow the agents are: enough starts, of each kind, and enough answers.
  const has_enough = () => starter.acknowledged.size >= kills / 10 && answerer.acknowledged.size >= kills / 10
    && ["line", "verb", "quick"].every((kind) => [...starter.acknowledged.values()].some((plan) => plan.kind === kind));
  while (killed < kills || !has_enough()) {
    // By turns at any moment of the start and the first work, and after some quiet work.
    if (killed % 2) {
      await project.ready();
      await sleep(next() * 300);
    } else {
      await sleep(next() * 350);
    }
    const died = await project.killDaemon();
    if (died && (killed += 1) % 50 === 0) console.error(`kill_loop: ${killed} kills, ${seconds()} s, ${starter.acknowledged.size} starts, ${answerer.acknowledged.size} answers`);
    await project.startDaemon({ wait: false });
    const failed = await Promise.race([trouble, null]);
    if (failed) throw failed;
  }
  await project.ready();
  writeFileSync(stop, "");
  starter.wanted = false;
  await workers[0];
  const further = [...starter.acknowledged.values(), ...starter.refused.values()];
  const ends = new Map();
  for (const { id } of [...plans, ...further]) {
    ends.set(id, await project.ended(id));
  }
  answerer.wanted = false;
  const failed = await trouble;
  if (failed) throw failed;
  await caughtUp(streams, [...ends.keys()]);
  const summary = `${killed} kills, ${starter.acknowledged.size} further starts acknowledged, ${starter.refused.size} refused, ${answerer.acknowledged.size} answers, connections ${streams.map((stream) => stream.connections)}, ${seconds()} s`;
  console.error(`kill_loop: ${summary}`);
  t.diagnostic(`CRU_SEED=${seed}: ${summary}`);
  assert.ok(killed >= kills && has_enough(), summary);

  const truth = (id, code) => {
    const run = ends.get(id);
    assert.deepEqual([id, run.status, run.exit_code], [id, code ? "failed" : "completed", code], JSON.stringify(run));
    if (code) assert.ok(run.error === "daemon restarted" || /exited with code/.test(run.error), run.error);
    return run;
  };
  for (const { id, code, lines } of plans) {
    const run = truth(id, code);
    const file = await linesOf(project, id, streams);
    const count = checkCounting(id, file);
    if (lines > 0) assert.ok(count <= lines);
    assert.equal(run.last_seq, file.length, `${id}: last_seq`);
  }

  for (const { id, kind, code } of further) {
    const run = ends.get(id);
    if (starter.refused.has(id)) {
      assert.deepEqual([run.status, run.pid, run.error, run.last_seq], ["failed", null, "daemon restarted", 0], JSON.stringify(run));
      continue;
    }
    const file = await linesOf(project, id, streams);
    truth(id, code);
    const said = file.filter(({ stream }) => stream === "stdout").map(({ data }) => data).filter((data) => !data.startsWith("::cru-ask"));
    const trace = file.map(({ stream, data }) => `${stream}: ${data}`).join("\n");
    if (kind === "quick") {
      assert.deepEqual(said, ["only"], `${id} was begun once`);
      continue;
    }
    const questions = await project.questions(`?task_id=${id}`);
    assert.deepEqual(questions.map(({ prompt }) => prompt).sort(), Array.from({ length: rounds }, (_, n) => `${kind} ${n + 1} of ${id}`), `${id}: each question once\n${trace}`);
    for (const question of questions) {
      assert.deepEqual([question.status, question.response], ["answered", answerer.acknowledged.get(question.id)], `${JSON.stringify(question)}\n${trace}`);
    }
    const heard = questions.map(({ prompt, response }) => `got ${prompt.split(" ")[1]} code 0 ${response}`).sort();
    assert.deepEqual(said, heard, `${id}: each answer heard once\n${trace}`);
    for (const question of questions) assert.equal(question.delivered, true, `${id} heard it, and the record says it did not: ${JSON.stringify(question)}`);
    for (const stream of streams) {
      const told = stream.events.filter((event) => entityOf(event) === id).map((event) => event.type);
      for (const type of ["agent.question", "question.answered", "question.delivered"]) assert.equal(told.filter((one) => one === type).length, rounds, `${id}: ${type}`);
    }
  }

  const recorded = new Set((await project.get("/agents?limit=1000")).json.agents.map((run) => run.task_id));
  assert.deepEqual([...starter.acknowledged.keys()].filter((id) => !recorded.has(id)), [], "every acknowledged start is recorded");
  for (const stream of streams) {
    gapless(stream);
    for (const [id, run] of ends) {
      const types = stream.events.filter((event) => entityOf(event) === id && /^agent\.(?!output|question)/.test(event.type)).map((event) => event.type);
      assert.deepEqual(types, ["agent.starting", ...(run.pid === null ? [] : ["agent.started"]), `agent.${run.status}`], `${id}: its life, once`);
    }
  }
  await noneLeft(project);
});
