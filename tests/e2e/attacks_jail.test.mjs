// The jail: what a confined run may do is what the kernel lets it do. Real processes try to get out. Everything here is an
// ordinary user's, also where the tests are root's.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isAlive, waitFor } from "./harness.mjs";
import { asUser, giveAway } from "./harness/ordinary_user.mjs";
import { attempt, inside, jailed, means, overUnix, withoutNetwork } from "./harness/jails.mjs";

const skip = !means.namespaces && `no namespaces here: ${means.why_not}`;

test("it writes below the project and in a /tmp of its own, and nowhere else", { skip }, async (t) => {
  const project = await jailed(t);
  writeFileSync(join(project.home, ".bashrc"), "# theirs\n");
  project.own();
  const { said, confined } = await inside(project, [
    attempt("project", "echo x >made && mkdir -p deep/er && echo y >deep/er/file"),
    attempt("git", "git -c user.name=a -c user.email=a@b commit --allow-empty -qm inside"),
    attempt("tmp", "echo x >/tmp/inside-only && test -s /tmp/inside-only"),
    attempt("home", "echo evil >>$HOME/.bashrc"),
    attempt("new in home", "echo evil >$HOME/.profile"),
    attempt("etc", "echo evil >/etc/evil"),
    attempt("hook", "mkdir -p .git/hooks && echo evil >.git/hooks/pre-commit"),
    attempt("config", "git config core.fsmonitor evil"),
    attempt("commondir", "echo /tmp >.git/commondir"),
    attempt("moved git", "mv .git .git-away"),
    attempt("claude", "mkdir -p .claude && echo '{}' >.claude/settings.json"),
    attempt("crucible", "mkdir -p .crucible/agents && echo x >.crucible/agents/evil.md"),
    attempt("through a link", "ln -s $HOME/.bashrc link && echo evil >>link"),
  ].join("\n"));
  assert.deepEqual(said.trim().split("\n"), [
    "project done", "git done", "tmp done", "home refused", "new in home refused", "etc refused", "hook refused", "config refused",
    "commondir refused", "moved git refused", "claude refused", "crucible refused", "through a link refused"]);
  assert.equal(confined, "writes below the project");
  assert.equal(readFileSync(join(project.home, ".bashrc"), "utf8"), "# theirs\n");
  assert.ok(existsSync(project.path("made")) && !existsSync("/tmp/inside-only"));
  await waitFor(() => !existsSync(project.path(".claude")), { what: "what held the place of missing paths is gone" });
  assert.ok(!existsSync(project.path(".git/commondir")) && !existsSync(project.path(".coven/jails")) || readdirSync(project.path(".coven/jails")).length === 0);
});

test("the people's socket, the token, keys and other processes are not there", { skip }, async (t) => {
  const project = await jailed(t);
  mkdirSync(join(project.home, ".config/crucible/keys"), { recursive: true });
  writeFileSync(join(project.home, ".config/crucible/keys/anthropic"), "sk-secret\n");
  mkdirSync(join(project.home, ".ssh"), { recursive: true });
  writeFileSync(join(project.home, ".ssh/id"), "private\n");
  mkdirSync(join(project.home, ".state/cru/keys"), { recursive: true });
  writeFileSync(join(project.home, ".state/cru/keys/key"), "a person's\n");
  project.own();
  const port = project.tcp.port, { pid: daemon } = project.daemon;
  const { said } = await inside(project, [
    attempt("token", "cat .coven/token"),
    attempt("database", "cat .coven/coven.db"),
    attempt("socket", "test -S .coven/covend.sock"),
    attempt("keeper", "test -S .coven/keeper.sock"),
    attempt("door", "test -S .coven/door/mcp.sock"),
    attempt("keys", "cat $HOME/.config/crucible/keys/anthropic"),
    attempt("ssh", "cat $HOME/.ssh/id"),
    attempt("person's key", "cat $XDG_STATE_HOME/cru/keys/key"),
    attempt("own door", "mv .coven/door/mcp.sock .coven/door/away || touch .coven/door/new"),
    attempt("daemon", `test -e /proc/${daemon}/status && grep -q cru /proc/${daemon}/comm`),
    attempt("signal", `kill -0 ${daemon}`),
    attempt("first", "ls /proc/1/fd/ && cat /proc/1/environ"),
    attempt("first's folder", "ls /proc/1/root/"),
    attempt("tracing", "gdb -p 1 -batch"),
    `echo "processes $(ls /proc | grep -c '^[0-9]*$' | awk '{print ($1 < 20)}')"`,
    attempt("mount", "mount -t tmpfs none /mnt"),
    attempt("unmount", "umount .coven"),
    attempt("unmount in a namespace", "unshare -Urm umount .coven"),
    attempt("writable in a namespace", "unshare -Urm mount -o remount,rw / && echo x >/etc/evil"),
    `echo "tcp $(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:${port}/questions)"`,
  ].join("\n"));
  assert.deepEqual(said.trim().split("\n"), [
    "token refused", "database refused", "socket refused", "keeper refused", "door done", "keys refused", "ssh refused", "person's key refused", "own door refused", "daemon refused",
    "signal refused", "first refused", "first's folder refused", "tracing refused", "processes 1", "mount refused", "unmount refused", "unmount in a namespace refused",
    "writable in a namespace refused", "tcp 401"]);
});

test("it reaches the daemon by the agents' door, as the run that it is; what it starts is confined too", { skip }, async (t) => {
  const project = await jailed(t);
  assert.equal((await project.cru("run", "--id", "asker", "--detach", "--", "sh", "-c", "echo '::cru-ask may I?'; read answer")).code, 0);
  const question = await waitFor(async () => (await project.json("questions")).questions[0], { what: "a question" });
  const { said } = await inside(project, [
    `${project.cru_bin} locks acquire made.cc >/dev/null; echo "lock $?"`,
    `${project.cru_bin} kill asker 2>/dev/null; echo "kill $?"`,
    `${project.cru_bin} questions answer ${question.id} yes 2>/dev/null; echo "answer $?"`,
    `${project.cru_bin} run --id child --detach -- sh -c 'echo evil >$HOME/.profile; echo "child wrote $?"' >/dev/null; ${project.cru_bin} wait child >/dev/null; echo "started $?"`,
  ].join("\n"), { id: "worker" });
  assert.deepEqual(said.trim().split("\n"), ["lock 0", "kill 4", "answer 4", "started 0"]);
  assert.match((await project.cru("logs", "child")).stdout, /child wrote [^0]/);
  assert.equal((await project.json("show", "child")).confined, "writes below the project");
  assert.ok(!existsSync(join(project.home, ".profile")));
  assert.equal((await project.json("questions")).questions[0].status, "pending");
});

test("exit codes and signals are exact, through the daemon's death; nothing of it is left", { skip }, async (t) => {
  const project = await jailed(t);
  assert.equal((await inside(project, "exit 37")).exit_code, 37);
  assert.equal((await inside(project, "kill -SEGV $$")).signal, 11);
  const word = `jail-${process.pid}`;
  const living = () => readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try { return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word); } catch { return false; }
  });
  const script = `(env -i setsid perl -e '$SIG{TERM} = "IGNORE"; sleep 100' ${word} &) ; while [ ! -e go ]; do sleep 0.05; done; exit 5`;
  assert.equal((await project.cru("run", "--id", "long", "--detach", "--confine", "--", "sh", "-c", script)).code, 0);
  await waitFor(() => living().length > 0, { what: "the process that stays" });
  const { pid } = await project.json("show", "long");
  assert.ok(isAlive(pid) && /\0-c\0/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8")), "the recorded pid is the program's, as seen here");
  await project.killDaemon();
  writeFileSync(project.path("go"), "");
  await waitFor(() => !isAlive(pid), { what: "the program ends" });
  await project.startDaemon();
  await waitFor(async () => (await project.json("show", "long")).status === "failed", { what: "its end is recorded" });
  assert.deepEqual([(await project.json("show", "long")).exit_code, living()], [5, []]);
});

test("a terminal works in the jail: attach's size and keys, Ctrl-C", { skip }, async (t) => {
  const project = await jailed(t);
  const { said } = await inside(project, "tty; stty size; kill -INT 0; sleep 60; echo not reached", { flags: ["--pty"] });
  assert.match(said, /\/dev\/pts\/\d+\s+24 80/);
  assert.doesNotMatch(said, /not reached/);
});

/// A terminal of the person's: `type` into it, and what its `screen` shows.
function terminal(t, project) {
  // Not in the home folder, which is gone before the server is told to go.
  const folder = mkdtempSync(join(tmpdir(), "cru-tmux-"));
  giveAway(folder);
  const tmux = (...argv) => {
    const [program, ...words] = asUser("tmux", "-S", join(folder, "socket"), "-f", "/dev/null", ...argv);
    const { status, stdout, stderr } = spawnSync(program, words, { encoding: "utf8", env: { ...project.env, TERM: "xterm-256color", SHELL: "/bin/sh" }, cwd: "/" });
    if (status) throw new Error(`tmux ${argv[0]}: ${stderr}`);
    return stdout;
  };
  t.after(() => {
    try { tmux("kill-server"); } catch { /* gone with its last window */ }
    rmSync(folder, { recursive: true, force: true });
  });
  const screen = () => tmux("capture-pane", "-p", "-t", "a");
  return {
    tmux, screen, open: (...words) => tmux("new-session", "-d", "-c", project.root, "-x", "100", "-y", "30", "-s", "a", `${words.join(" ")}; echo left with $?; sleep 600`),
    type: (...keys) => tmux("send-keys", "-t", "a", ...keys),
    shows: (what) => waitFor(() => what.test(screen()), { what: `${what} is shown` }).catch((error) => { throw new Error(`${error.message}\n${screen()}`); }),
  };
}

test("attach, resize and kill reach a confined run, also one whose daemon has died since; its end is exact", { skip }, async (t) => {
  const project = await jailed(t);
  const detached = (id, script, ...flags) => project.cru("run", "--id", id, "--detach", "--confine", ...flags, "--", "sh", "-c", script);
  await detached("term", "echo ready; while read -r line; do case $line in size) stty size;; leave) exit 41;; *) echo \"you said $line\";; esac; done", "--pty");
  await detached("stubborn", "trap '' TERM; echo ready; while :; do sleep 0.1; done");
  await detached("orderly", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done");
  await detached("crash", "echo ready; while [ ! -e go ]; do sleep 0.05; done; kill -SEGV $$");
  for (const id of ["term", "stubborn", "orderly", "crash"]) await waitFor(async () => /ready/.test((await project.cru("logs", id)).stdout), { what: `${id} runs` });
  const before = terminal(t, project);
  before.open(project.cru_bin, "attach", "term");
  await before.shows(/ready/);
  before.type("hello", "Enter");
  await before.shows(/you said hello/);
  before.type("size", "Enter");
  await before.shows(/^30 100$/m);
  before.tmux("resize-window", "-t", "a", "-x", "90", "-y", "25");
  await waitFor(() => { before.type("size", "Enter"); return /^25 90$/m.test(before.screen()); }, { what: "the new size arrives" });
  const { pid } = await project.json("show", "crash");
  before.tmux("kill-server");
  await project.killDaemon("SIGKILL");
  writeFileSync(project.path("go"), "");
  await waitFor(() => !isAlive(pid), { what: "it crashes while there is no daemon" });
  await project.startDaemon();
  const after = terminal(t, project);
  after.open(project.cru_bin, "attach", "term");
  await after.shows(/you said hello/);
  after.type("size", "Enter");
  await after.shows(/^30 100$/m);
  after.type("leave", "Enter");
  for (const id of ["stubborn", "orderly"]) assert.equal((await project.cru("kill", id)).code, 0);
  const ends = {};
  for (const id of ["term", "stubborn", "orderly", "crash"]) {
    await waitFor(async () => (await project.json("show", id)).status !== "running", { what: `${id} ends` }).catch((error) => { throw new Error(`${error.message}\n${after.screen()}`); });
    const { status, exit_code, signal } = await project.json("show", id);
    ends[id] = [status, exit_code ?? null, signal ?? null];
  }
  assert.deepEqual(ends, { term: ["failed", 41, null], stubborn: ["killed", null, 9], orderly: ["killed", 7, null], crash: ["failed", null, 11] });
});

test("without the network nothing is reached, not even on this machine", { skip }, async (t) => {
  await withoutNetwork(t, await jailed(t));
});

test("the sockets of the user's other programs are out of reach; ssh's agent is there if it is permitted", { skip }, async (t) => {
  const project = await jailed(t);
  // In the home folder, as an editor's or a terminal's; and where ssh's agent listens, in everybody's /tmp.
  const folder = `${project.root}-agent`, agent = join(folder, "agent.1"), editor = join(project.home, "editor.sock");
  mkdirSync(folder);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const path of [agent, editor]) {
    const server = net.createServer((socket) => { socket.on("error", () => {}); socket.end("hello\n"); });
    await new Promise((done) => server.listen(path, done));
    t.after(() => server.close());
  }
  giveAway(folder);
  project.own();
  project.env.SSH_AUTH_SOCK = agent;
  const script = [`echo "[$SSH_AUTH_SOCK]"`, attempt("agent", overUnix(agent)), attempt("editor", overUnix(editor))].join("\n");
  assert.deepEqual((await inside(project, script)).said.trim().split("\n"), ["[]", "agent refused", "editor refused"]);
  const { said, confined } = await inside(project, script, { flags: ["--permit", "ssh-agent"] });
  assert.deepEqual(said.trim().split("\n"), [`[${agent}]`, "agent done", "editor refused"]);
  assert.equal(confined, "writes below the project, ssh-agent");
});

test("a folder that people have made stays, though it is empty and a confined run is over", { skip }, async (t) => {
  const project = await jailed(t);
  for (const name of [".claude", ".gemini"]) mkdirSync(project.path(name));
  project.own();
  await inside(project, "test -d .codex");
  await waitFor(() => !existsSync(project.path(".codex")), { what: "what held the place of a missing path is gone" });
  await project.killDaemon();
  await project.startDaemon();
  for (const name of [".claude", ".gemini", ".crucible"]) assert.ok(existsSync(project.path(name)), name);
});
