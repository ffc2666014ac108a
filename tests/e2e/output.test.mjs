// Output Streaming: EX-01 … EX-06, as a user sees it.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { assertBetween, bytesOf, Project, waitFor } from "./harness.mjs";

test("EX-01: output is streamed while the run goes on, and is in the file", async (t) => {
  const project = await Project.started({}, t);
  const stream = project.stream();
  await waitFor(() => stream.connections);
  await project.sh("talker", "echo one; read go; echo two");
  await waitFor(() => stream.lines("talker").some((line) => line.data === "one"), { what: "the stream tells of line one" });
  assert.equal((await project.run("talker")).status, "running");
  assert.deepEqual(project.fileLines("talker").map((line) => line.data), ["one"]);
  assert.equal((await project.post("/agents/talker/input", { text: "go" })).status, 200);
  assert.equal((await project.ended("talker")).status, "completed");
  await waitFor(() => stream.events.some((event) => event.type === "agent.completed"));
  assert.deepEqual(stream.lines("talker").map(({ seq, data }) => [seq, data]), [[1, "one"], [2, "two"]]);
  const types = stream.events.map((event) => event.type).filter((type) => type.startsWith("agent.") && type !== "agent.output");
  assert.deepEqual(types, ["agent.starting", "agent.started", "agent.completed"]);
});

test("EX-02: output is persisted with seq, ts, stream and data, and survives a killed daemon", async (t) => {
  const project = await Project.started({}, t);
  const began = Date.now();
  await project.sh("keeps", "echo out; echo err >&2; read go; echo later");
  await waitFor(() => project.fileLines("keeps").length === 2);
  const before = project.fileLines("keeps");
  await project.killDaemon();
  assert.deepEqual(project.fileLines("keeps"), before);
  await project.startDaemon();
  await project.post("/agents/keeps/input", { text: "go" });
  assert.equal((await project.ended("keeps")).status, "completed");
  const after = project.fileLines("keeps");
  assert.deepEqual(after.slice(0, 2), before);
  assert.deepEqual(after.map((line) => line.seq), [1, 2, 3]);
  assert.deepEqual(after.map((line) => line.stream).sort(), ["stderr", "stdout", "stdout"]);
  assert.equal(after[2].data, "later");
  for (const line of after) assertBetween(line.ts, began);
});

test("EX-03: every line has the documented form, and no byte is lost", async (t) => {
  const project = await Project.started({}, t);
  const script = String.raw`
    printf 'plain\n'; printf 'cr\rhere\n'; printf 'nul\000byte\n'; printf 'bad\377\376utf8\n'; printf 'tab\tquote"back\\slash\n';
    printf 'caf\303\251 \360\237\232\200\n'; printf '\n'; printf '\033[31mred\033[0m\n'; printf 'err line\n' >&2;
    perl -e 'print "x" x 40000, "\n"'; printf 'no newline at the end'`;
  await project.sh("bytes", script);
  assert.equal((await project.ended("bytes")).status, "completed");
  const texts = readFileSync(project.file("bytes"), "utf8").split("\n");
  assert.equal(texts.pop(), "", "the file ends with a newline");
  texts.forEach((text, index) => {
    assert.match(text, /^\{"seq":\d+,"ts":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","stream":"(stdout|stderr)","data":"/);
    assert.equal(JSON.parse(text).seq, index + 1);
  });
  const lines = texts.map((text) => JSON.parse(text));
  const expected = Buffer.concat([
    Buffer.from("plain\ncr\rhere\nnul\0byte\nbad"), Buffer.from([0xff, 0xfe]), Buffer.from('utf8\ntab\tquote"back\\slash\ncafé 🚀\n\n\x1b[31mred\x1b[0m\n'),
    Buffer.from("x".repeat(40000)), Buffer.from("\nno newline at the end"),
  ]);
  assert.ok(bytesOf(lines, "stdout").equals(expected), "stdout can be put together again byte for byte");
  assert.equal(bytesOf(lines, "stderr").toString(), "err line\n");
  assert.deepEqual(await project.output("bytes"), lines, "the API gives the records of the file");
});

test("EX-04: output is there after a restart, of ended and of live runs", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("ended", "for i in 1 2 3; do echo line $i; done");
  await project.sh("live", "echo alive; read go");
  await project.ended("ended");
  await project.outputWith("live", "alive");
  const before = await project.output("ended");
  await project.restartDaemon();
  assert.deepEqual(await project.output("ended"), before);
  assert.deepEqual(before.map((line) => line.data), ["line 1", "line 2", "line 3"]);
  assert.deepEqual((await project.output("live")).map((line) => line.data), ["alive"]);
  assert.equal((await project.run("live")).status, "running");
});

test("EX-05: since gives only later lines, in bounded pages, with last_seq for the next", async (t) => {
  const project = await Project.started({}, t);
  await project.start("count", ["perl", "-e", "print qq(n $_\\n) for 1..2500"]);
  await project.ended("count");
  const ask = async (query) => (await project.get(`/agents/count/output?${query}`)).json;
  const tail = await ask("since=2490");
  assert.deepEqual(tail.lines.map((line) => line.seq), Array.from({ length: 10 }, (_, i) => 2491 + i));
  assert.equal(tail.last_seq, 2500);
  assert.equal(tail.task_id, "count");
  const page = await ask("since=5&limit=7");
  assert.deepEqual([page.lines.length, page.lines[0].seq, page.last_seq, page.more], [7, 6, 12, true]);
  const first = await ask("");
  assert.ok(first.lines.length <= 1000 && first.more, "a page is bounded");
  const beyond = await ask("since=2500");
  assert.deepEqual([beyond.lines, beyond.last_seq], [[], 2500]);
  const all = await project.output("count", { limit: 333 });
  assert.deepEqual(all.map((line) => line.data), Array.from({ length: 2500 }, (_, i) => `n ${i + 1}`));
  assert.deepEqual((await ask("tail=2")).lines.map((line) => line.seq), [2499, 2500]);
  assert.equal((await project.get("/agents/count/output?since=x")).status, 400);
});

test("EX-06: the daemon holds no output: what it answers is what the file says", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("swap", "echo first; echo second");
  await project.ended("swap");
  assert.equal((await project.output("swap")).length, 2);
  const [line] = readFileSync(project.file("swap"), "utf8").split("\n");
  writeFileSync(project.file("swap"), line.replace("first", "other") + "\n");
  assert.deepEqual((await project.output("swap")).map((l) => l.data), ["other"]);
});

test("EX-06: a flood of output does not make the daemon grow", async (t) => {
  const project = new Project();
  t.after(() => project.close());
  // The address sanitizer keeps freed memory back by default, which would hide what is asked here.
  await project.startDaemon({ env: { ASAN_OPTIONS: "detect_leaks=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64" } });
  const resident = () => Number(readFileSync(`/proc/${project.daemon.pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]);
  await project.start("warm", ["perl", "-e", "print qq(warm\\n) for 1..100000"]);
  await project.ended("warm");
  const before = resident();
  await project.start("flood", ["perl", "-e", "print 'y' x 99, qq(\\n) for 1..600000"]);
  await project.ended("flood");
  assert.ok(statSync(project.file("flood")).size > 60e6);
  const grown = resident() - before;
  assert.ok(grown < 32 * 1024, `grew by ${grown} kB while 60 MB went by`);
  assert.ok(existsSync(project.file("flood")));
});

test("a torn last line is cut off, and the numbers go on", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("torn", "echo a; echo b");
  await project.ended("torn");
  writeFileSync(project.file("torn"), readFileSync(project.file("torn"), "utf8") + '{"seq":3,"ts":"2026');
  assert.deepEqual((await project.output("torn")).map((line) => line.data), ["a", "b"]);
  await project.sh("torn", "echo c");
  await project.ended("torn");
  assert.deepEqual(project.fileLines("torn").map(({ seq, data }) => [seq, data]), [[1, "a"], [2, "b"], [3, "c"]]);
});
