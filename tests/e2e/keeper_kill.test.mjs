// The loop of kill_loop.test.mjs with the keeper killed: nothing hangs, no process is orphaned, every run is failed with
// a clear error, what the events acknowledged is still there, and the clients see no gap.
//   CRU_SEED=n replays it; CRU_ROUNDS=n changes the number of kills.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cru_bin, entityOf, isAlive, noneLeft, Project, random, sleep, waitFor } from "./harness.mjs";
import { caughtUp, checkCounting, counting, countingArgv, gapless, linesOf, twoClients } from "./loop.mjs";

const agents = 20;
const rounds = Number(process.env.CRU_ROUNDS ?? 8);

/// What counts, and beside it a tree that will not go: out of the session, deaf to TERM, its parent gone.
const wild = (stop) => ["sh", "-c", `setsid sh -c 'trap "" TERM; sleep 611 & sleep 612' >/dev/null 2>&1 & (sleep 613 >/dev/null 2>&1 &); exec perl -e '${counting.replaceAll("\n", " ")}' -- -1 0 ${stop}`];

/// The ways to lose the keeper.
const ways = {
  "the keeper alone": (project) => project.killKeeper(),
  "the keeper, then the daemon": async (project, next) => {
    await project.killKeeper();
    await sleep(next() * 60);
    await project.killDaemon();
  },
  "the daemon, then the keeper": async (project, next) => {
    await project.killDaemon();
    await sleep(next() * 60);
    await project.killKeeper();
  },
  "the keeper while a daemon comes back": async (project, next) => {
    await project.killDaemon();
    await project.startDaemon({ wait: false });
    await sleep(next() * 300);
    await project.killKeeper();
  },
};

test(`the keeper is killed ${rounds} times under ${agents} agents (EX-04, EX-09, EX-12, EX-17, EX-18)`, async (t) => {
  const seed = Number(process.env.CRU_SEED ?? Date.now() % 1_000_000_000);
  console.error(`keeper_kill: CRU_SEED=${seed}`);
  t.diagnostic(`CRU_SEED=${seed}`);
  const next = random(seed);
  const project = await Project.started({}, t);
  const streams = await twoClients(project, t);
  const stop = project.path("never");
  const began = Date.now();

  for (let round = 0; round < rounds; ++round) {
    const [way, lose] = Object.entries(ways)[round % Object.keys(ways).length];
    const ids = Array.from({ length: agents }, (_, i) => `r${round}-${i}`);
    const pids = [];
    for (const [i, id] of ids.entries()) pids.push((await project.start(id, i % 4 ? countingArgv({ stop }) : wild(stop))).pid);
    await project.sh(`r${round}-line`, "echo '::cru-ask anyone?'; read -r a; echo got $a; sleep 600");
    await project.sh(`r${round}-verb`, `${cru_bin} ask anyone; sleep 600`);
    const asking = [`r${round}-line`, `r${round}-verb`];
    const questions = await Promise.all(asking.map((id) => project.pendingQuestion(id)));
    await waitFor(() => streams.every((stream) => ids.every((id) => stream.lines(id).length >= 3)), { what: "all agents print" });
    await sleep(next() * 300);

    // What is waited for at the moment of the loss must be answered, not hang: a call, a verb, and starts in flight.
    const follower = project.spawn(["logs", "-f", ids[0]]);
    await waitFor(() => follower.text.stdout.includes("out 3"), { what: "the verb follows" });
    const waiting = project.get(`/agents/${ids[1]}?wait_seconds=60`).catch((error) => error);
    const late = Array.from({ length: 3 }, (_, i) => `r${round}-late${i}`);
    const starts = late.map((id) => project.post(`/tasks/${id}/start`, { argv: countingArgv({ stop }) }).catch((error) => error));
    const keeper = project.keeperPid;
    await lose(project, next);
    const acknowledged = streams.map((stream) => new Map(ids.map((id) => [id, stream.lines(id)])));
    if (project.daemon === null) await project.startDaemon({ wait: false });
    await project.ready();

    const ends = new Map();
    for (const id of [...ids, ...asking]) ends.set(id, await project.ended(id));
    for (const [id, run] of ends) {
      assert.deepEqual([id, run.status, Boolean(run.ended_at)], [id, "failed", true], `${way}: ${JSON.stringify(run)}`);
      assert.match(run.error, /^(keeper lost|daemon restarted)$/, `${way}: ${JSON.stringify(run)}`);
      assert.match(run.error_detail, /keeper/, `${way}: ${JSON.stringify(run)}`);
      assert.deepEqual([run.exit_code, run.signal], [null, null], "nobody saw its end, and nobody claims to have");
    }
    for (const { id } of questions) assert.equal((await project.get(`/questions/${id}`)).json.status, "expired", `${way}: nobody is left to hear an answer`);

    if (way === "the keeper alone") assert.equal((await waiting).json?.status, "failed", "a waiting call is answered");
    else await waiting;
    await follower.ended;
    for (const [i, start] of starts.entries()) {
      const reply = await start;  // an error means: the daemon died over it
      assert.ok(reply instanceof Error || reply.status === 201 || reply.status >= 422, `${way}: ${reply.status} ${reply.text}`);
      if (reply.status === 201) assert.equal((await project.get(`/agents/${late[i]}`)).status, 200, "an acknowledged start is recorded");
      const run = await project.get(`/agents/${late[i]}`);
      if (run.status !== 200) continue;
      // It may have come to the next keeper; then it lives, and a process is there.
      const settled = await waitFor(async () => {
        const { json } = await project.get(`/agents/${late[i]}`);
        return json.status !== "starting" && (json.status !== "running" || isAlive(json.pid)) && json;
      }, { what: `${late[i]} is what it says` });
      if (settled.status === "running") await project.post(`/agents/${late[i]}/kill`, { grace_seconds: 0 });
      assert.match((await project.ended(late[i])).status, /^(failed|killed)$/);
    }

    assert.deepEqual(pids.filter(isAlive), [], way);
    await noneLeft(project, way);
    await caughtUp(streams, [...ids, ...asking]);
    for (const id of ids) {
      const file = await linesOf(project, id, streams);
      checkCounting(id, file, { whole: false });
      assert.equal(ends.get(id).last_seq, file.length, `${id}: last_seq`);
      for (const lines of acknowledged) assert.deepEqual(file.slice(0, lines.get(id).length), lines.get(id), `${id}: what was acknowledged is there`);
    }
    for (const stream of streams) {
      gapless(stream);
      for (const id of ids) {
        const types = stream.events.filter((event) => entityOf(event) === id && event.type !== "agent.output").map((event) => event.type);
        assert.deepEqual(types, ["agent.starting", "agent.started", "agent.failed"]);
      }
    }

    // Life goes on, under a new keeper.
    await project.sh(`r${round}-after`, "echo works");
    assert.equal((await project.ended(`r${round}-after`)).status, "completed", way);
    assert.notEqual(project.keeperPid, keeper);
    console.error(`keeper_kill: ${round + 1}: ${way}, ${((Date.now() - began) / 1000).toFixed(0)} s`);
  }
});
