// Who passes for a person: each of these once did, or might. All run as an ordinary user.
import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { UserProject } from "./harness/ordinary_user.mjs";

const has_namespaces = spawnSync("unshare", ["-rm", "true"]).status === 0;

/// A project whose run "sly" has asked something, and what a process knows that can read `.coven`.
async function beset(t) {
  const project = new UserProject({});
  t.after(() => project.close());
  await project.startDaemon();
  const { code, stderr } = await project.cru("run", "--id", "sly", "--detach", "--", "sh", "-c", "echo '::cru-ask may I?'; read answer; echo \"got $answer\"");
  assert.equal(code, 0, stderr);
  const question = await waitFor(async () => (await project.json("questions")).questions[0], { what: "the run asks" });
  return { project, question, token: readFileSync(project.path(".coven/token"), "utf8").trim(), doors: { tcp: `tcp:${project.tcp.port}`, unix: `unix:${project.path(".coven/covend.sock")}` } };
}

/// Runs a command as a run to its end: what it printed.
async function inRun(project, id, words, env = {}) {
  const { code, stdout, stderr } = await project.cru("run", "--id", id, "--detach", "--", ...words, { env });
  assert.equal(code, 0, `${stdout}${stderr}`);
  await waitFor(async () => ["completed", "failed", "killed"].includes((await project.json("show", id)).status), { what: `${id} ends` });
  return (await project.cru("logs", id)).stdout;
}

async function isPending(project, question) {
  const now = (await project.json("questions")).questions.find(({ id }) => id === question.id);
  assert.equal(now?.status, "pending");
}

for (const mode of ["plain", "hidden", "in_flight", "own_table", "deep"])
  test(`a run's process that is ${mode} while it knocks neither answers a question nor reads the inbox`, async (t) => {
    const { project, question, token, doors } = await beset(t);
    // A thousand processes take their time to start.
    for (const door of mode === "deep" ? ["unix"] : ["tcp"]) {
      const knock = (id, method, target, ...body) => inRun(project, id, [project.attacker, mode, doors[door], door === "tcp" ? token : "", method, target, ...body]);
      assert.match(await knock(`answer-${door}`, "POST", `/questions/${question.id}/answer`, '{"answer":"yes"}'), new RegExp(`^${mode} 40[13] `));
      assert.doesNotMatch(await knock(`read-${door}`, "GET", "/questions"), /may I/);
      if (mode === "deep") continue;
      assert.match(await knock(`config-${door}`, "GET", "/config"), new RegExp(`^${mode} 403 `));
      assert.match(await knock(`pair-${door}`, "POST", "/pairings", "{}"), new RegExp(`^${mode} 403 `));
    }
    await isPending(project, question);
  });

test("a run shows its token at any door and is that run; it is worth nothing after the run", async (t) => {
  const { project, question, doors } = await beset(t);
  const script = `echo "token $CRU_TOKEN"; ${project.attacker} plain ${doors.tcp} $CRU_TOKEN POST /locks '{"file_path":"a.cc"}'; ${project.attacker} plain ${doors.tcp} $CRU_TOKEN POST /questions/${question.id}/answer '{"answer":"yes"}'; read end`;
  assert.equal((await project.cru("run", "--id", "holder", "--detach", "--", "sh", "-c", script)).code, 0);
  const printed = await waitFor(async () => { const text = (await project.cru("logs", "holder")).stdout; return /plain 403/.test(text) && text; }, { what: "the run has tried both" });
  assert.match(printed, /plain 200 .*"locked_by":"holder"/);
  const token = /token (\S{64})/.exec(printed)[1];
  assert.doesNotMatch(readFileSync(project.path(".coven/coven.db"), "latin1"), new RegExp(token), "only its hash is stored");
  const { code } = await project.cru("kill", "holder");
  assert.equal(code, 0);
  await waitFor(async () => (await project.json("show", "holder")).status === "killed", { what: "the run has ended" });
  const late = await project.spawn(["plain", doors.tcp, token, "GET", "/health"], { argv0: project.attacker }).ended;
  assert.match(late.stdout, /^plain 401 /);
  await isPending(project, question);
});

test("a run that shows another run's token is still itself", async (t) => {
  const { project } = await beset(t);
  assert.equal((await project.cru("run", "--id", "victim", "--detach", "--", "sleep", "1000")).code, 0);
  const { pid } = await project.json("show", "victim");
  const steal = `token=$(tr '\\0' '\\n' </proc/${pid}/environ | sed -n 's/^CRU_TOKEN=//p'); echo "stole \${#token}"; CRU_TOKEN=$token ${project.cru_bin} kill victim; echo "code $?"`;
  const printed = await inRun(project, "thief", ["sh", "-c", steal]);
  assert.match(printed, /stole 64\n/);
  assert.match(printed, /code 4\n/);
  assert.equal((await project.json("show", "victim")).status, "running");
  assert.equal((await project.cru("kill", "victim")).code, 0);
});

test("a copy of a project leaves the runs of the original alone", async (t) => {
  const { project } = await beset(t);
  assert.equal((await project.cru("run", "--id", "victim", "--detach", "--", "sleep", "1000")).code, 0);
  const copy = `${project.root}-copy`;
  t.after(() => rmSync(copy, { recursive: true, force: true }));
  const here = { cwd: copy };
  assert.equal((await project.spawn(["-a", project.root, copy], { argv0: "cp" }).ended).code, 0);
  assert.notEqual((await project.cru("ps", here)).code, 0, "nobody has adopted it");
  assert.equal((await project.cru("daemon", "adopt", "--yes", here)).code, 0);
  const listed = await project.cru("ps", here);
  t.after(() => project.cru("daemon", "stop", here));
  assert.match(listed.stdout, /victim/, listed.stderr);
  assert.equal((await project.json("show", "victim")).status, "running");
  assert.equal((await project.cru("daemon", "stop", here)).code, 0);
  assert.equal((await project.cru("kill", "victim")).code, 0);
});

test("a run cannot use a code for pairing", async (t) => {
  const { project } = await beset(t);
  const { code } = await project.json("pair", "--label", "elsewhere");
  assert.match(await inRun(project, "sly2", ["sh", "-c", `echo ${code} | ${project.cru_bin} pair redeem; echo "code $?"`]), /code 4\n/);
});

test("a run without its marks is still that run", async (t) => {
  const { project, question } = await beset(t);
  const printed = await inRun(project, "bare", ["env", "-u", "CRU_RUN", "-u", "CRU_TOKEN", "-u", "CRU_TASK_ID", "sh", "-c", `${project.cru_bin} locks acquire bare.cc; ${project.cru_bin} questions answer ${question.id} yes; echo "code $?"`]);
  assert.match(printed, /code 4/);
  assert.match(printed, /bare\.cc/);
  await isPending(project, question);
});

test("a run stops itself and what it has started, and no other", async (t) => {
  const { project } = await beset(t);
  const cru = project.cru_bin;
  const printed = await inRun(project, "stopper", ["sh", "-c", `${cru} kill sly; echo "other $?"; ${cru} run --id child --detach -- sleep 600; ${cru} kill child; echo "own $?"`]);
  assert.match(printed, /other 4/);
  assert.match(printed, /own 0/);
  assert.equal((await project.json("show", "sly")).status, "running");
  await waitFor(async () => (await project.json("show", "child")).status === "killed", { what: "its own is stopped" });
});

test("what an agent program outside started may look, start and coordinate, and is told why it may not answer", async (t) => {
  const { project, question } = await beset(t);
  // A shell script of that name is a claude to whoever looks at processes.
  writeFileSync(project.path("claude"), `#!/bin/sh\n"$@"\ncode=$?\nexit $code\n`);
  chmodSync(project.path("claude"), 0o755);
  const asClaude = (...args) => project.spawn([project.cru_bin, ...args], { argv0: project.path("claude") }).ended;
  assert.equal((await asClaude("ps")).code, 0);
  assert.equal((await asClaude("run", "--id", "theirs", "--", "true")).code, 0);
  assert.equal((await asClaude("locks", "acquire", "x.cc")).code, 0);
  const refused = await asClaude("questions", "answer", question.id, "yes");
  assert.equal(refused.code, 4, refused.stderr);
  assert.match(refused.stderr, /claude \(process \d+\) started it/);
  assert.match(refused.stderr, /cru pair/);
  for (const words of [["config"], ["open"], ["pair"], ["daemon", "stop"], ["kill", "sly"]]) assert.equal((await asClaude(...words)).code, 4, words.join(" "));
  assert.doesNotMatch((await asClaude("questions", "--json")).stdout, /may I/);
  await isPending(project, question);
});

test("a caller in another namespace is nobody until that place is paired, and again when it is revoked", { skip: !has_namespaces && "user namespaces are not allowed here" }, async (t) => {
  const { project, question } = await beset(t);
  const elsewhere = (...args) => project.spawn(["-rm", project.cru_bin, ...args], { argv0: "unshare" }).ended;
  const refused = await elsewhere("questions", "answer", question.id, "yes");
  assert.equal(refused.code, 4, refused.stderr);
  assert.match(refused.stderr, /another namespace/);
  assert.equal((await elsewhere("ps")).code, 4);
  const { code, expires_at } = await project.json("pair", "--label", "container");
  assert.ok(Date.parse(expires_at) > Date.now());
  const redeem = (text) => {
    const child = project.spawn(["-rm", project.cru_bin, "pair", "redeem"], { argv0: "unshare", stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.end(`${text}\n`);
    return child.ended;
  };
  assert.equal((await redeem("0".repeat(32))).code, 3, "a wrong code");
  const redeemed = await redeem(code);
  assert.equal(redeemed.code, 0, redeemed.stderr);
  assert.equal((await elsewhere("ps")).code, 0);
  assert.equal((await redeem(code)).code, 3, "a code is for one place");
  assert.equal((await elsewhere("ps")).code, 0, "which keeps its key");
  // Another code in the same place: its earlier key is gone.
  const first = (await project.json("pair", "list")).pairings.find(({ label }) => label === "container");
  assert.equal((await redeem((await project.json("pair", "--label", "container")).code)).code, 0);
  const [place, ...stale] = (await project.json("pair", "list")).pairings.filter(({ label }) => label === "container");
  assert.deepEqual(stale, []);
  assert.notEqual(place.id, first.id);
  assert.equal((await elsewhere("ps")).code, 0);
  const unknown = await project.cru("pair", "revoke", "nope");
  assert.equal(unknown.code, 3);
  assert.match(unknown.stderr, /pairing not found: "nope"[^]*cru pair list/);
  assert.equal((await project.cru("pair", "revoke", place.id)).code, 0);
  assert.notEqual((await elsewhere("ps")).code, 0);
  await isPending(project, question);
});

test("no daemon is started from inside a sandbox, unless that is said", async (t) => {
  const project = new UserProject({});
  t.after(() => project.close());
  const inside = (...args) => project.spawn(["--no-new-privs", project.cru_bin, ...args], { argv0: "setpriv", env: { CRU_START_HERE: "" } }).ended;
  const refused = await inside("ps");
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /not started from inside a sandbox/);
  assert.match(refused.stderr, /cru daemon start --here/);
  assert.ok(!existsSync(project.path(".coven")), "and nothing is made");
  const here = await inside("daemon", "start", "--here");
  assert.equal(here.code, 0, here.stderr);
  assert.equal((await inside("daemon", "stop")).code, 0);
});
