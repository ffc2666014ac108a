// Who may do what: an agent never answers a question, whichever way it comes; a repeated request is done once.
import assert from "node:assert/strict";
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { codeOf, cru_bin, exchange, Project, waitFor } from "./harness.mjs";
import { Crew } from "./harness/crew.mjs";

// One POST by hand: `perl knock.pl wait|leave unix|tcp PATH BODY`, from .coven's own files. `leave` writes and is gone.
const knock = String.raw`use strict; use IO::Socket::UNIX; use IO::Socket::INET;
my ($how, $door, $path, $body) = @ARGV;
sub content { open my $f, '<', $_[0] or die "$_[0]: $!"; local $/; my $text = <$f>; $text =~ s/\s+\z//; $text }
my ($s, $host, $more) = (undef, 'localhost', '');
if ($door eq 'unix') { $s = IO::Socket::UNIX->new(Peer => '.coven/covend.sock') or die "connect: $!" }
else {
  ($host) = content('.coven/url') =~ m{http://([^/]+)/?};
  $s = IO::Socket::INET->new(PeerAddr => $host) or die "connect: $!";
  $more = 'Authorization: Bearer ' . content('.coven/token') . "\r\n";
}
$more .= "Cru-Agent-Id: $ENV{AGENT_ID}\r\nCru-Session-Id: $ENV{SESSION_ID}\r\n" if $ENV{AGENT_ID};
syswrite $s, "POST $path HTTP/1.1\r\nHost: $host\r\n\${more}Content-Type: application/json\r\nContent-Length: " . length($body) . "\r\nConnection: close\r\n\r\n$body";
exit 0 if $how eq 'leave';
my $reply = <$s>; print $reply =~ /^HTTP\S+ (\d+)/ ? "status $1\n" : "no answer\n";
`.replaceAll("\\$", "$");

/// A run that asks and then does what `script` says, with the question's id in $question.
async function slyRun(project, script) {
  writeFileSync(project.path("knock.pl"), knock);
  await project.sh("sly", `echo '::cru-ask may I?'; while [ ! -s question ]; do sleep 0.02; done; question=$(cat question); ${script}; echo "tried all"; read answer; echo "got $answer"`);
  const question = await project.pendingQuestion("sly");
  const descriptors = descriptorsOf(project);
  writeFileSync(project.path("question"), `${question.id}\n`);
  await project.outputWith("sly", "tried all");
  return { ...question, descriptors };
}
/// Connections, that is: the store and the notes open their files when they need them.
const descriptorsOf = (project) => readdirSync(`/proc/${project.daemon.pid}/fd`).filter((fd) => {
  try { return readlinkSync(`/proc/${project.daemon.pid}/fd/${fd}`).startsWith("socket:"); } catch { return false; }
}).length;

/// The daemon has dealt with every request that was written before now: connections are taken in their order at each
/// door, so those are taken when ours is answered; and those that were taken are closed when no more are open than before.
async function dealtWithAll(project, { descriptors }) {
  await project.get("/health");
  await exchange(project.tcp, "GET", "/health");
  await waitFor(() => descriptorsOf(project) <= descriptors, { what: `no more than ${descriptors} sockets are open` });
}

/// Nothing has come of it, and the person's answer still does.
async function stillPending(project, question) {
  await dealtWithAll(project, question);
  assert.equal((await project.get(`/questions/${question.id}`)).json.status, "pending");
  const printed = (await project.output("sly")).map(({ data }) => data);
  assert.ok(!printed.some((line) => line.startsWith("got ")), printed.join("\n"));
  const reply = await project.answer(question.id, "the person's");
  assert.deepEqual([reply.status, reply.json.delivered], [200, true], reply.text);
  assert.equal((await project.ended("sly")).status, "completed");
  assert.equal((await project.output("sly")).at(-1).data, "got the person's");
  const types = (await project.events("?entity=sly")).map((event) => event.type).filter((type) => type.startsWith("question."));
  assert.deepEqual(types, ["question.answered", "question.delivered"]);
}

test("an agent may not answer by a verb: send to itself, questions answer, respond", async (t) => {
  const project = await Project.started({}, t);
  const question = await slyRun(project, [
    `${cru_bin} send sly yes; echo "send $?"`,
    `${cru_bin} questions answer "$question" yes; echo "answer $?"`,
    `env -u CRU_RUN -u CRU_TASK_ID -u CRU_PROJECT ${cru_bin} questions answer "$question" yes; echo "unmarked $?"`,
    `setsid -w ${cru_bin} questions answer "$question" yes; echo "away $?"`,
  ].join("; "));
  const printed = (await project.output("sly")).filter(({ stream }) => stream === "stdout").map(({ data }) => data);
  assert.deepEqual(printed.filter((line) => /^(send|answer|unmarked|away) \d+$/.test(line)), ["send 4", "answer 4", "unmarked 4", "away 4"], printed.join("\n"));
  await stillPending(project, question);
});

for (const door of ["unix", "tcp"]) {
  const requests = [["/questions/$question/answer", '{"answer":"yes"}'], ["/agents/sly/respond", '{"response":"yes"}'], ["/agents/sly/input", '{"text":"yes"}']];
  const all = (how) => requests.map(([path, body]) => `perl knock.pl ${how} ${door} "${path}" '${body}'`);

  test(`an agent may not answer by a request of its own over ${door}: 403`, async (t) => {
    const project = await Project.started({}, t);
    const question = await slyRun(project, all("wait").join("; "));
    const printed = (await project.output("sly")).map(({ data }) => data);
    assert.deepEqual(printed.filter((line) => line.startsWith("status") || line === "no answer"), ["status 403", "status 403", "status 403"], printed.join("\n"));
    await stillPending(project, question);
  });

  test(`an agent's process that leaves its request behind over ${door} and is gone does not answer either`, async (t) => {
    const project = await Project.started({}, t);
    const question = await slyRun(project, `for i in 1 2 3 4 5 6 7 8 9 10; do ${all("leave").map((one) => `${one}; setsid ${one} &`).join(" ")} done; wait`);
    const printed = (await project.output("sly")).filter(({ stream }) => stream === "stderr").map(({ data }) => data);
    assert.deepEqual(printed, [], "every request was written");
    await stillPending(project, question);
  });

  test(`the same request from a person outside answers over ${door}`, async (t) => {
    const project = await Project.started({}, t);
    const question = await slyRun(project, ":");
    const child = project.spawn(["knock.pl", "wait", door, `/questions/${question.id}/answer`, '{"answer":"yes"}'], { argv0: "perl" });
    assert.deepEqual((await child.ended).stdout, "status 200\n");
    await project.ended("sly");
    assert.equal((await project.output("sly")).at(-1).data, "got yes");
  });
}

/// A run that has a lock and says which run it is; and a script that claims to be it, by every name.
async function besetRun(project) {
  writeFileSync(project.path("knock.pl"), knock);
  await project.sh("victim", `${cru_bin} locks acquire src/a.cc && echo "uid $CRU_RUN"; read go; ${cru_bin} locks release src/a.cc; echo "own release $?"`);
  await project.outputWith("victim", "uid ");
  const uid = (await project.output("victim")).map(({ data }) => /^uid (\S+)$/.exec(data)?.[1]).find(Boolean);
  return `env CRU_RUN=${uid} CRU_TASK_ID=victim AGENT_ID=victim SESSION_ID=${uid}`;
}
const heldLocks = async (project) => (await project.get("/locks")).json.result.map(({ file_path, locked_by }) => [file_path, locked_by]);
const codesIn = async (project, id) => (await project.output(id)).map(({ data }) => data).filter((line) => /^(\w+ \d+|no answer)$/.test(line));

test("a run that carries another's mark may not release its locks, end its session or spawn as it", async (t) => {
  const project = await Project.started({}, t);
  const as_victim = await besetRun(project);
  await project.sh("sly", [
    `${as_victim} ${cru_bin} locks release src/a.cc; echo "release $?"`,
    `${as_victim} setsid -w ${cru_bin} locks release src/a.cc; echo "away $?"`,
    `${as_victim} perl knock.pl wait unix /sessions/end '{}'`,
    `${as_victim} perl knock.pl wait unix /subagents '{"agent":"researcher","task":"look"}'`,
    "echo tried all; read never",
  ].join("; "));
  await project.outputWith("sly", "tried all");
  const [release, away, end, spawn] = await codesIn(project, "sly");
  for (const code of [release, away]) assert.match(code, /^(release|away) [14]$/);
  // The processes above it tell which run it is: it ends its own session, and spawns as itself.
  assert.deepEqual([end, spawn], ["status 200", "status 404"], "there is no such agent");
  assert.deepEqual(await heldLocks(project), [["src/a.cc", "victim"]]);
  const { agents } = (await project.get("/sessions")).json;
  assert.ok(agents.some(({ agent_id, status }) => agent_id === "victim" && status === "active"), JSON.stringify(agents));
  await project.post("/agents/victim/input", { text: "go" });
  await project.outputWith("victim", "own release 0");
  assert.deepEqual(await heldLocks(project), []);
});

test("every process of a run is that run, also one with a session of its own, and an orphan of its session", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("family", [`setsid -w ${cru_bin} locks acquire a`, `(${cru_bin} locks acquire b)`, `sh -c '(while kill -0 $$ 2>/dev/null; do sleep 0.02; done; ${cru_bin} locks acquire c; echo orphan done) & exit'`, "echo here; read never"].join("; "));
  await project.outputWith("family", "orphan done");
  assert.deepEqual((await heldLocks(project)).sort(), [["a", "family"], ["b", "family"], ["c", "family"]]);
});

test("a run's first words are the run's, however fast it is", async (t) => {
  const project = await Project.started({}, t);
  const names = Array.from({ length: 12 }, (_, n) => `fast${n}`);
  await Promise.all(names.map((id) => project.start(id, [cru_bin, "locks", "acquire", `src/${id}`])));
  for (const id of names) {
    const { status } = await project.ended(id);
    const printed = (await project.output(id)).map(({ data }) => data).join("\n");
    assert.equal(status, "completed", printed);
    assert.match(printed, new RegExp(id));
  }
});

test("conversations are neither in the events nor in the crew that an agent reads", async (t) => {
  const crew = await Crew.started({ models: { sonnet: "primary", haiku: "worker" }, scripts: { primary: { otherwise: { say: "private words" } }, worker: { otherwise: { say: "## Summary\n\nDone.\n\n## Findings\n\nNone.\n" } } }, agents: { tester: { model: "haiku" } } }, t);
  assert.equal((await crew.cru("chat", "-m", "between us")).code, 0);
  // Not its own output, which would never end. Its own start comes after the chat: once that is told, so is all before it.
  const types = "--type chat.*,subagent.*,agent.started";
  const follow = `${cru_bin} events -f --since 0 --json ${types} >told & until grep -q '"agent.started"' told; do sleep 0.05; done; kill $!; cat told`;
  await crew.sh("sly", `set -f; ${follow}; ${cru_bin} events --json; ${cru_bin} crew --all --json; echo end of events; ${cru_bin} run tester "go"; echo "ran $?"`);
  await crew.ended("sly");
  const printed = (await crew.output("sly")).map(({ data }) => data);
  const listed = printed.slice(0, printed.indexOf("end of events")), ran = printed.slice(listed.length).join("\n");
  assert.ok(listed.filter((line) => line.includes('"agent.started"')).length >= 2, `both ways of reading read: ${listed.join("\n")}`);
  assert.ok(listed.some((line) => line.includes('"crew":')), "and so is the crew");
  assert.doesNotMatch(listed.join("\n"), /private words|between.us|"type":"(chat|subagent)\./);
  assert.match(ran, /→ Running tester agent\.\.\.\n {4}Done\.\n\nNone\.\n\n✓ tester [^]*ran 0/, "what it spawns it waits for by asking");
  assert.ok((await crew.events("?type=chat.entry")).length >= 2, "a person reads them");
});

test("a request id that is repeated gets the same reply, after a crash too, and is done once", async (t) => {
  const project = await Project.started({}, t);
  const again = (path, body, id) => exchange(project.unix, "POST", path, { body, headers: { "Cru-Request-Id": id } });
  const start = () => again("/tasks/once/start", { argv: ["sh", "-c", "echo began; echo '::cru-ask ok?'; read a; echo \"got $a\"; read b"] }, "start-1");
  const first = await start();
  assert.equal(first.status, 201, first.text);
  const second = await start();
  assert.deepEqual([second.status, second.text], [first.status, first.text]);
  const question = await project.pendingQuestion("once");
  const answer = () => again(`/questions/${question.id}/answer`, { answer: "yes" }, "answer-1");
  const answered = await answer();
  assert.equal(answered.status, 200, answered.text);
  await project.restartDaemon();
  for (const [repeat, original] of [[await start(), first], [await answer(), answered]]) assert.deepEqual([repeat.status, repeat.text], [original.status, original.text]);
  const refused = await again("/tasks/once/start", { argv: ["true"] }, "start-2");
  assert.equal(refused.status, 409, "another id is another request");
  const still = await again("/tasks/once/start", { argv: ["true"] }, "start-2");
  assert.deepEqual([still.status, still.text], [409, refused.text], "a refusal is repeated too");
  const other = await again("/tasks/once/start", { argv: ["false"] }, "start-1");
  assert.deepEqual([other.status, codeOf(other.json)], [409, "conflict"], "the same id with another request");
  await waitFor(async () => (await project.output("once")).some(({ data }) => data === "got yes"));
  assert.deepEqual((await project.output("once")).map(({ data }) => data), ["began", "::cru-ask ok?", "got yes"]);
  const types = (await project.events("?entity=once")).map((event) => event.type);
  assert.deepEqual([types.filter((type) => type === "agent.starting").length, types.filter((type) => type === "question.answered").length], [1, 1]);
});
