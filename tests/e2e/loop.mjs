// What the two kill loops share: agents that print numbered lines, two clients that follow the events, and the checks
// that nothing they were told is lost, doubled or out of order.
import assert from "node:assert/strict";
import { entityOf, EventStream, waitFor } from "./harness.mjs";

/// Prints `out 1`, `out 2` … and every tenth on stderr too, until N lines (-1: no end) or until the file STOP is there;
/// then `end N`, and exits with CODE.
export const counting = `$|=1; my ($n, $code, $stop) = @ARGV; my $i = 0;
  while (!-e $stop && ($n < 0 || $i < $n)) { $i++; print "out $i\\n"; print STDERR "err $i\\n" if $i % 10 == 0; select undef, undef, undef, .05 }
  print "end $i\\n"; exit $code`;

export const countingArgv = ({ lines = -1, code = 0, stop }) => ["perl", "-e", counting, "--", String(lines), String(code), stop];

/// One over the unix socket, one over TCP with the token; both from the first event on.
export async function twoClients(project, t) {
  const streams = [
    new EventStream(project.unix, { query: "?since=0" }),
    new EventStream(() => project.tcp, { query: "?since=0", headers: { Authorization: `Bearer ${project.token}` } }),
  ];
  t.after(() => Promise.all(streams.map((stream) => stream.stop())));
  await waitFor(() => streams.every((stream) => stream.connections));
  return streams;
}

const isEnd = (event) => /^agent\.(completed|failed|killed)$/.test(event.type);

/// Both clients have been told of `count` ends of each of these runs.
export async function caughtUp(streams, ids, count = 1) {
  for (const stream of streams) {
    await waitFor(() => {
      const ends = new Map();
      for (const event of stream.events) if (isEnd(event)) ends.set(entityOf(event), (ends.get(entityOf(event)) ?? 0) + 1);
      return ids.every((id) => ends.get(id) === count);
    }, { every: 100, what: "the clients catch up" });
  }
}

export function gapless(stream) {
  stream.events.forEach((event, index) => assert.equal(event.id, stream.events[0].id + index, "event numbers without gap or repeat"));
}

/// The file of a run, its numbers checked, and the same from the API and from every client.
export async function linesOf(project, id, streams) {
  const file = project.fileLines(id);
  file.forEach((line, index) => assert.equal(line.seq, index + 1, `${id}: the file's numbers`));
  assert.deepEqual(await project.output(id), file, `${id}: the API`);
  for (const stream of streams) assert.deepEqual(stream.lines(id), file, `${id}: the stream`);
  return file;
}

/// What a counting agent must have printed; `whole` if it came to its end.
export function checkCounting(id, file, { whole = true } = {}) {
  const out = file.filter((line) => line.stream === "stdout").map((line) => line.data);
  const err = file.filter((line) => line.stream === "stderr").map((line) => line.data);
  const count = whole ? out.length - 1 : out.length;
  assert.deepEqual(out, [...Array.from({ length: count }, (_, i) => `out ${i + 1}`), ...(whole ? [`end ${count}`] : [])], `${id}: stdout`);
  const marks = Array.from({ length: Math.floor(count / 10) }, (_, i) => `err ${(i + 1) * 10}`);
  // A run that was cut off may have been so between its two streams.
  if (whole) assert.deepEqual(err, marks, `${id}: stderr`);
  else assert.ok([0, 1].includes(Math.abs(marks.length - err.length)) && err.every((line, i) => line === `err ${(i + 1) * 10}`), `${id}: stderr ${err.at(-1)}`);
  return count;
}
