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
    attempt("mcp", "rmdir .mcp.json; echo '{}' >.mcp.json"),
    attempt("through a link", "ln -s $HOME/.bashrc link && echo evil >>link"),
    // Somebody swaps a file and a link to it while another writes, until it was met both ways.
    `perl -e '
      my $swapper = fork // die;
      if (!$swapper) { while (1) { symlink("$ENV{HOME}/.bashrc", "swap.new"); rename("swap.new", "swap"); open(my $f, ">", "swap.new"); close $f; rename("swap.new", "swap") } }
      my ($written, $refused) = (0, 0);
      for (1..200000) { if (open(my $file, ">>", "swap")) { print $file "evil\\n"; close $file; ++$written } else { ++$refused } last if $written > 100 && $refused > 100 }
      kill 9, $swapper;
      exit($written && $refused ? 0 : 1)'; echo "race $?"`,
  ].join("\n"));
  assert.deepEqual(said.trim().split("\n"), [
    "project done", "git done", "tmp done", "home refused", "new in home refused", "etc refused", "hook refused", "config refused",
    "commondir refused", "moved git refused", "claude refused", "crucible refused", "mcp refused", "through a link refused",
    "race 0"]);
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
  // Another project of the person's, as it is noted when its daemon starts.
  const other = join(project.home, "other");
  mkdirSync(join(other, ".coven"), { recursive: true });
  mkdirSync(join(other, ".crucible/sessions"), { recursive: true });
  for (const path of [".coven/token", ".crucible/sessions/chat.md"]) writeFileSync(join(other, path), "theirs\n");
  mkdirSync(join(project.home, ".state/cru/made"), { recursive: true, mode: 0o700 });
  writeFileSync(join(project.home, ".state/cru/made", "a".repeat(64)), `${other}\n`, { mode: 0o600 });
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
    attempt("other project", `cat ${other}/.coven/token`),
    attempt("other chats", `cat ${other}/.crucible/sessions/chat.md`),
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
    "token refused", "database refused", "socket refused", "keeper refused", "door done", "keys refused", "ssh refused", "person's key refused", "other project refused", "other chats refused", "own door refused", "daemon refused",
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

test("a confined run whose daemon has died has another one started, outside the jail", { skip }, async (t) => {
  const project = await jailed(t);
  const script = `echo ready; while [ ! -e go ]; do sleep 0.05; done; ${project.cru_bin} locks acquire made.cc >/dev/null; echo "lock $?"`;
  assert.equal((await project.cru("run", "--id", "worker", "--detach", "--confine", "--", "sh", "-c", script)).code, 0);
  await project.killDaemon();
  writeFileSync(project.path("go"), "");
  await waitFor(async () => existsSync(project.path(".coven/covend.sock")) && (await project.json("show", "worker")).status === "completed", { what: "it ends" });
  assert.match((await project.cru("logs", "worker")).stdout, /^ready\nlock 0$/m);
  assert.equal((await project.cru("run", "--id", "free", "--", "true")).code, 0, "the new daemon is not confined itself");
});

test("a confined agent does not choose where the jail of what it starts looks for the person's folders", { skip }, async (t) => {
  const project = await jailed(t);
  mkdirSync(join(project.home, ".ssh"), { recursive: true });
  writeFileSync(join(project.home, ".ssh/id"), "key-of-ann\n");
  mkdirSync(join(project.home, ".config/crucible/keys"), { recursive: true });
  writeFileSync(join(project.home, ".config/crucible/keys/anthropic"), "sk-secret\n");
  project.own();
  const { home, cru_bin } = project;
  const tries = [
    attempt("ssh", `cat ${home}/.ssh/id`), attempt("keys", `cat ${home}/.config/crucible/keys/anthropic`),
    attempt("home", `echo evil >>${home}/.bashrc`), attempt("copied", `cat ${home}/.ssh/id "$CLAUDE_CONFIG_DIR/id" $HOME/.claude/id || grep -rqs 'key-of-[a]nn' /tmp $HOME`),
    attempt("people's door", overUnix(project.path(".coven/covend.sock"))),
  ].join("\n");
  writeFileSync(project.path("claude"), `#!/bin/sh\n${tries}\n`, { mode: 0o755 });
  project.own();
  const start = (id, variables, ...flags) => `env ${variables} ${cru_bin} run --id ${id} --detach ${flags.join(" ")} ${variables.split(" ").map((each) => `--env ${each.split("=")[0]}`).join(" ")} -- ./claude >/dev/null; ${cru_bin} wait ${id} >/dev/null; echo "${id} $?"`;
  const { said } = await inside(project, [
    start("by-cache", `HOME=/nonexistent XDG_CACHE_HOME=${home}`),
    start("by-config", `HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent XDG_STATE_HOME=/nonexistent`),
    start("by-program", `CLAUDE_CONFIG_DIR=${home}/.ssh`),
    start("by-home", `HOME=${home}/.ssh`),
  ].join("\n"));
  const ids = ["by-cache", "by-config", "by-program", "by-home"];
  assert.deepEqual(said.trim().split("\n"), ids.map((id) => `${id} 0`));
  for (const id of ids)
    assert.deepEqual((await project.cru("logs", id)).stdout.trim().split("\n"), ["ssh refused", "keys refused", "home refused", "copied refused", "people's door refused"], id);
  assert.ok(!existsSync(join(home, ".bashrc")));
  const permitted = await inside(project, start("by-socket", `SSH_AUTH_SOCK=${project.path(".coven/covend.sock")}`, "--permit", "ssh-agent"), { flags: ["--permit", "ssh-agent"] });
  assert.equal(permitted.said.trim(), "by-socket 0");
  assert.match((await project.cru("logs", "by-socket")).stdout, /^people's door refused$/m);
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

test("one confined run that ended while there was no daemon does not open the guarded paths to another", { skip }, async (t) => {
  const project = await jailed(t);
  const guarded = [".git/hooks/pre-commit", ".git/commondir", ".git/config.worktree", ".claude/settings.json", ".crucible/config.yaml", ".mcp.json"];
  const tries = guarded.map((path) => attempt(path, `mkdir -p $(dirname ${path}) && echo evil >${path}`)).join("; ");
  const detached = (id, script) => project.cru("run", "--id", id, "--detach", "--confine", "--", "sh", "-c", script);
  await detached("first", "while [ ! -e go ]; do sleep 0.05; done");
  await detached("second", `while [ ! -e later ]; do sleep 0.05; done; ${tries}`);
  const { pid } = await project.json("show", "first");
  await project.killDaemon("SIGKILL");
  writeFileSync(project.path("go"), "");
  await waitFor(() => !isAlive(pid), { what: "one ends while there is no daemon" });
  await project.startDaemon();
  await waitFor(async () => (await project.json("show", "first")).status === "completed", { what: "its end is recorded" });
  // What the end removes is removed by now: the folder of its jail goes first.
  await waitFor(() => readdirSync(project.path(".coven/jails")).length === 1, { what: "its jail is gone" });
  writeFileSync(project.path("later"), "");
  await waitFor(async () => (await project.json("show", "second")).status !== "running", { what: "the other ends" });
  assert.deepEqual((await project.cru("logs", "second")).stdout.trim().split("\n"), guarded.map((path) => `${path} refused`));
  await waitFor(() => !existsSync(project.path(".claude")), { what: "what held the places is gone with the last" });
  for (const path of guarded) assert.ok(!existsSync(project.path(path)), path);
});

test("in a worktree of its own the guarded paths are held too", { skip }, async (t) => {
  const project = await jailed(t);
  const { said } = await inside(project, [
    attempt("work", "echo x >made"), attempt("claude", "mkdir -p .claude && echo '{}' >.claude/settings.json"), attempt("mcp", "rmdir .mcp.json; echo '{}' >.mcp.json"),
    attempt("git", "echo 'gitdir: /tmp' >.git"), attempt("commit", "git add -A && git -c user.name=a -c user.email=a@b commit -qm inside && test \"$(git show --name-only --format= HEAD)\" = made"),
  ].join("\n"), { id: "tree", flags: ["--worktree"] });
  assert.deepEqual(said.trim().split("\n"), ["work done", "claude refused", "mcp refused", "git refused", "commit done"]);
});

test("the person's cache is read by nobody confined and written by none; the project has one of its own", { skip }, async (t) => {
  const project = await jailed(t);
  mkdirSync(join(project.home, ".cache/tool"), { recursive: true });
  writeFileSync(join(project.home, ".cache/tool/run.sh"), "echo theirs\n");
  project.own();
  const script = [attempt("theirs", "echo evil >>$HOME/.cache/tool/run.sh"), attempt("own", "mkdir -p $HOME/.cache/mine && echo x >>$HOME/.cache/mine/x"), "wc -l <$HOME/.cache/mine/x"].join("\n");
  assert.deepEqual((await inside(project, script)).said.trim().split("\n"), ["theirs refused", "own done", "1"]);
  assert.deepEqual((await inside(project, script)).said.trim().split("\n"), ["theirs refused", "own done", "2"]);
  assert.equal(readFileSync(join(project.home, ".cache/tool/run.sh"), "utf8"), "echo theirs\n");
  assert.ok(!existsSync(join(project.home, ".cache/mine")));
});

test("an agent that was recorded without a jail is started again in one", { skip }, async (t) => {
  const project = await jailed(t, { confine: "off" });
  writeFileSync(join(project.home, ".config/crucible/config.yaml"), `confine: off\nbackends: {own: {argv: [sh, -c, "echo evil >$HOME/made-$$; echo wrote $?"]}}\n`);
  project.own();
  await project.killDaemon();
  await project.startDaemon();
  assert.equal((await project.cru("run", "--id", "agent", "--detach", "--backend", "own")).code, 0);
  await waitFor(async () => (await project.json("show", "agent")).status !== "running", { what: "it ends" });
  assert.equal((await project.json("show", "agent")).confined, "no");
  await project.killDaemon();
  const config = join(project.home, ".config/crucible/config.yaml");
  writeFileSync(config, readFileSync(config, "utf8").replace("confine: off", "confine: default"));
  await project.startDaemon();
  assert.equal((await project.cru("restart", "agent")).code, 0);
  await waitFor(async () => (await project.json("show", "agent")).status !== "running", { what: "it ends again" });
  assert.equal((await project.json("show", "agent")).confined, "writes below the project");
  assert.match((await project.cru("logs", "agent")).stdout, /wrote 0\n[^]*wrote [1-9]/);
});

test("a repository within the project keeps its settings, and can be committed to", { skip }, async (t) => {
  const project = await jailed(t);
  const nested = project.path("vendor/lib");
  mkdirSync(nested, { recursive: true });
  assert.equal(spawnSync("git", ["init", "-q", nested]).status, 0);
  project.own();
  const { said } = await inside(project, [
    "cd vendor/lib",
    attempt("config", "git config core.fsmonitor evil"), attempt("hook", "mkdir -p .git/hooks && echo evil >.git/hooks/pre-commit"), attempt("commondir", "rm -f .git/commondir; echo /tmp >.git/commondir"),
    attempt("commit", "echo x >made && git add made && git -c user.name=a -c user.email=a@b commit -qm inside"),
  ].join("\n"));
  assert.deepEqual(said.trim().split("\n"), ["config refused", "hook refused", "commondir refused", "commit done"]);
  await waitFor(() => !existsSync(join(nested, ".git/commondir")), { what: "what held its place is gone" });
});

test("a confined run whose record was lost with the database says so, and opens nothing by it", { skip }, async (t) => {
  const project = await jailed(t);
  const script = `while [ ! -e go ]; do sleep 0.05; done; ${attempt("hook", "mkdir -p .git/hooks && echo evil >.git/hooks/pre-commit")}; ${project.cru_bin} run --id child --detach -- sh -c 'echo evil >made' >/dev/null 2>&1; echo over`;
  assert.equal((await project.cru("run", "--id", "lost", "--detach", "--confine", "--", "sh", "-c", script)).code, 0);
  await project.killDaemon("SIGKILL");
  for (const name of readdirSync(project.path(".coven")).filter((each) => each.startsWith("coven.db"))) rmSync(project.path(".coven", name));
  await project.startDaemon();
  assert.equal((await project.json("show", "lost")).confined, "unknown: its record was lost");
  writeFileSync(project.path("go"), "");
  await waitFor(async () => /over/.test((await project.cru("logs", "lost")).stdout), { what: "it has tried" });
  assert.match((await project.cru("logs", "lost")).stdout, /^hook refused$/m);
  assert.ok(!existsSync(project.path("made")), "what it starts may do nothing");
});
