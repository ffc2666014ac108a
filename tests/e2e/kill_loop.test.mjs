// The daemon is killed with kill -9 at random times, again and again, while agents print numbered lines and
// clients follow the events: no line is lost, doubled or out of order, and every run ends with its true status.
//   CRU_SEED=n replays the times of the kills; CRU_KILLS=n changes their number.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { EventStream, entityOf, exchange, Project, random, sleep, waitFor } from "./harness.mjs";

const kills = Number(process.env.CRU_KILLS ?? 200);
const agents = 20;

test(`the daemon is killed ${kills} times under ${agents} agents (EX-02, EX-04, EX-08, EX-09, EX-17, EX-18)`, { timeout: 600_000 }, async (t) => {
  const seed = Number(process.env.CRU_SEED ?? Date.now() % 1_000_000_000);
  t.diagnostic(`CRU_SEED=${seed}`);
  console.error(`kill_loop: CRU_SEED=${seed}`);
  const next = random(seed);
  const project = await Project.started({}, t);
  const stop = project.path("stop");

  // Half of them end by themselves somewhere in the middle, the others when they are told to.
  const plans = Array.from({ length: agents }, (_, i) => ({
    id: `agent-${i}`, code: i % 3, lines: i % 2 ? 20 + Math.floor(next() * 800) : Infinity,
  }));
  const program = `$|=1; my ($n, $code, $stop) = @ARGV; my $i = 0;
    while (!-e $stop && ($n < 0 || $i < $n)) { $i++; print "out $i\\n"; print STDERR "err $i\\n" if $i % 10 == 0; select undef, undef, undef, .05 }
    print "end $i\\n"; exit $code`;

  const where = () => project.tcp;
  const streams = [new EventStream(project.unix, { query: "?since=0" }), new EventStream(where, { query: "?since=0", headers: { Authorization: `Bearer ${project.token}` } })];
  t.after(() => Promise.all(streams.map((stream) => stream.stop())));
  await waitFor(() => streams.every((stream) => stream.connections));
  for (const { id, code, lines } of plans)
    await project.start(id, ["perl", "-e", program, "--", lines === Infinity ? "-1" : String(lines), String(code), stop]);

  const began = Date.now();
  for (let i = 0; i < kills; ++i) {
    // Mostly at any moment of the start and the first work; now and then after some quiet work.
    if (i % 8 === 7) {
      await project.ready();
      await sleep(next() * 300);
    } else {
      await sleep(next() * 350);
    }
    await project.killDaemon();
    await project.startDaemon({ wait: false });
    if (i % 50 === 49) console.error(`kill_loop: ${i + 1} kills, ${((Date.now() - began) / 1000).toFixed(0)} s`);
  }
  await project.ready();
  writeFileSync(stop, "");

  const ends = new Map();
  for (const { id } of plans) ends.set(id, await project.ended(id, 60_000));
  const { last_seq: last } = (await project.get("/state")).json;
  const terminal = (stream) => plans.every(({ id }) => stream.events.some((event) => entityOf(event) === id && /completed|failed|killed/.test(event.type)));
  for (const stream of streams) await waitFor(() => terminal(stream), { within: 60_000, what: "the streams catch up" });
  t.diagnostic(`last event ${last}, connections ${streams.map((stream) => stream.connections)}, ${((Date.now() - began) / 1000).toFixed(1)} s`);

  for (const { id, code, lines: planned } of plans) {
    const run = ends.get(id);
    assert.deepEqual([id, run.status, run.exit_code], [id, code ? "failed" : "completed", code], JSON.stringify(run));
    if (code) assert.ok(run.error === "daemon restarted" || /exited with code/.test(run.error), run.error);
    const file = project.fileLines(id);
    file.forEach((line, index) => assert.equal(line.seq, index + 1, `${id}: the file's numbers`));
    const out = file.filter((line) => line.stream === "stdout").map((line) => line.data);
    const err = file.filter((line) => line.stream === "stderr").map((line) => line.data);
    const count = out.length - 1;
    if (planned !== Infinity) assert.ok(count <= planned);
    assert.deepEqual(out, [...Array.from({ length: count }, (_, i) => `out ${i + 1}`), `end ${count}`], `${id}: stdout`);
    assert.deepEqual(err, Array.from({ length: Math.floor(count / 10) }, (_, i) => `err ${(i + 1) * 10}`), `${id}: stderr`);
    assert.equal(run.last_seq, file.length, `${id}: last_seq`);
    assert.deepEqual(await project.output(id), file, `${id}: the API`);
    for (const stream of streams) assert.deepEqual(stream.lines(id), file, `${id}: the stream`);
  }
  for (const stream of streams) {
    stream.events.forEach((event, index) => assert.equal(event.id, stream.events[0].id + index, "event numbers without gap or repeat"));
    for (const { id } of plans) {
      const types = stream.events.filter((event) => entityOf(event) === id && event.type !== "agent.output").map((event) => event.type);
      assert.deepEqual(types, ["agent.starting", "agent.started", `agent.${ends.get(id).status}`]);
    }
  }
  assert.equal((await exchange(project.unix, "GET", "/health")).status, 200);
});
