// Ways out of the jail that were once open, each by a real process of an ordinary user.
import assert from "node:assert/strict";
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { giveAway, UserProject } from "./harness/ordinary_user.mjs";
import { attempt, inside, jailed, means } from "./harness/jails.mjs";

const skip = !means.namespaces && `no namespaces here: ${means.why_not}`;
const lines = ({ said }) => said.trim().split("\n");

for (const machine of [undefined, "without_namespaces"]) {
  const where = machine ? "without namespaces" : "with namespaces";
  test(`${where}, what a confined run has verified runs in its jail`, { skip: !machine && skip }, async (t) => {
    const project = await jailed(t, { machine });
    mkdirSync(project.path("src"));
    writeFileSync(join(project.home, ".bashrc"), "# theirs\n");
    project.own();
    const verify = "echo evil >>$HOME/.bashrc; cat .coven/token && echo has the token; echo proved >src/proved";
    const script = `cd src && ${project.cru_bin} work submit --task-id evil t d --verify -- sh -c '${verify}' >/dev/null; echo "submitted $?"`;
    assert.deepEqual(lines(await inside(project, script)), ["submitted 0"]);
    // Somebody else claims it, a person even: it is still what the run may do.
    const claim = await project.json("work", "claim");
    const done = await project.json("work", "complete", "evil", "--fencing-token", String(claim.fencing_token));
    assert.equal(done.status, "completed", JSON.stringify(done));
    assert.equal(readFileSync(project.path("src/proved"), "utf8"), "proved\n", "it may do what the run may");
    assert.equal(readFileSync(join(project.home, ".bashrc"), "utf8"), "# theirs\n");
    assert.doesNotMatch(JSON.stringify(done), /has the token/);
  });
}

test("a process that leaves the jail's mounts moves nothing that is guarded", { skip }, async (t) => {
  const project = await jailed(t);
  project.own();
  const { attacker, root } = project;
  const tries = [[".git/config", "config-away"], [".claude", "claude-away"], [".coven", "coven-away"], [".git/hooks", "hooks-away"]];
  const result = await inside(project, tries.map(([from, to]) => attempt(from, `${attacker} leave_mounts ${root} ${from} ${to}`)).join("\n"));
  assert.deepEqual(lines(result), tries.map(([from]) => `${from} refused`));
  for (const [from, to] of tries) assert.ok(!existsSync(project.path(to)), `${from} was moved`);
  assert.ok(lstatSync(project.path(".git/config")).isFile());
});

test("nobody in the jail makes namespaces or mounts of its own", { skip }, async (t) => {
  const project = await jailed(t);
  const kinds = ["--user", "--mount", "--user --map-root-user --mount", "--user --pid --fork", "--user --net"];
  const result = await inside(project, [
    ...kinds.map((kind) => attempt(kind, `unshare ${kind} true`)),
    attempt("enter", "nsenter --mount=/proc/self/ns/mnt true"),
    `cat /proc/sys/user/max_user_namespaces`,
    attempt("allow more", "echo 100 >/proc/sys/user/max_user_namespaces"),
  ].join("\n"));
  assert.deepEqual(lines(result), [...kinds.map((kind) => `${kind} refused`), "enter refused", "0", "allow more refused"]);
});

for (const machine of [undefined, "without_namespaces"]) {
  const where = machine ? "without namespaces" : "with namespaces";
  test(`${where}, folders above guarded paths stay where they are`, { skip: !machine && skip }, async (t) => {
    const project = await jailed(t, { machine });
    // A name of its own: other suites may run on this machine at the same time.
    const tree = `${basename(project.root)}-tree`;
    project.git("worktree", "add", "-q", `../${tree}`);
    t.after(() => rmSync(join(project.root, `../${tree}`), { recursive: true, force: true }));
    mkdirSync(project.path("vendor/lib"), { recursive: true });
    project.git("init", "-q", "vendor/lib");
    project.own();
    const swap = (path) => attempt(path, `mv ${path} ${path}-away && mkdir -p ${path}`);
    const paths = ["vendor", "vendor/lib", "vendor/lib/.git", ".git", ".git/worktrees", `.git/worktrees/${tree}`];
    const result = await inside(project, [
      ...paths.map(swap), attempt("the project", `mv "$PWD" "$PWD-away"`),
      attempt("exchange", `perl -e 'my ($one, $other) = ("vendor", "README"); exit(syscall(316, -100, $one, -100, $other, 2) == 0 ? 0 : 1)'`),
      attempt("commondir", `echo /tmp >.git/worktrees/${tree}/commondir`),
      attempt("work", "echo x >>README"), ...(machine ? [] : [attempt("beside", "echo x >vendor/lib/made && git -C vendor/lib add made")]),
    ].join("\n"));
    assert.deepEqual(lines(result), [...paths.map((path) => `${path} refused`), "the project refused", "exchange refused", "commondir refused", "work done", ...(machine ? [] : ["beside done"])]);
  });

  test(`${where}, guarded paths that are links are guarded with what they lead to`, { skip: !machine && skip }, async (t) => {
    const project = await jailed(t, { machine });
    for (const folder of ["dotfiles/claude", "team/hooks", "scripts"]) mkdirSync(project.path(folder), { recursive: true });
    writeFileSync(project.path("dotfiles/claude/settings.json"), "{}\n");
    writeFileSync(project.path("dotfiles/mcp.json"), "{}\n");
    writeFileSync(project.path("scripts/check.sh"), "#!/bin/sh\n", { mode: 0o755 });
    symlinkSync("dotfiles/claude", project.path(".claude"));
    symlinkSync("dotfiles/mcp.json", project.path(".mcp.json"));
    rmSync(project.path(".git/hooks"), { recursive: true, force: true });
    symlinkSync("../team/hooks", project.path(".git/hooks"));
    symlinkSync("../../scripts/check.sh", project.path("team/hooks/pre-commit"));
    project.own();
    const tries = {
      settings: "echo evil >.claude/settings.json", "by its place": "echo evil >dotfiles/claude/settings.json", "the link": "rm -f .claude && mkdir .claude",
      "over the link": "ln -s /tmp/evil new && mv -T new .claude", "its folder": "mv dotfiles dotfiles-away", mcp: "echo evil >.mcp.json", "mcp's place": "rm dotfiles/mcp.json",
      hook: "echo evil >team/hooks/post-commit", "hooks' link": "rm .git/hooks", "what a hook leads to": "echo evil >scripts/check.sh", "in its place": "mv scripts/check.sh scripts/away",
    };
    const result = await inside(project, [...Object.entries(tries).map(([what, command]) => attempt(what, command)), attempt("work", "echo x >>README")].join("\n"));
    assert.deepEqual(lines(result), [...Object.keys(tries).map((what) => `${what} refused`), "work done"]);
    assert.equal(readlinkSync(project.path(".claude")), "dotfiles/claude");
  });
}

test("an agent does not start where a guarded link leads to nothing that could be guarded", { skip }, async (t) => {
  const project = await jailed(t);
  symlinkSync("to-come.json", project.path(".mcp.json"));
  project.own();
  const { code, stderr } = await project.cru("run", "--confine", "--", "true");
  assert.notEqual(code, 0);
  assert.match(stderr, /\.mcp\.json leads to [^]*to-come\.json/);
});

/// Sends a line to a unix socket, and prints the first line of the reply.
const say = (socket, line) => `perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new($ARGV[0]) or die; print $s "$ARGV[1]\\n"; print scalar <$s>' ${socket} '${line}'`;

test("the keeper of another project, made after the run had started, does nothing for it", { skip }, async (t) => {
  const project = await jailed(t);
  const other = new UserProject({ git: true });
  t.after(() => other.close());
  mkdirSync(join(project.home, "elsewhere"));
  project.own();
  // Where the first project's run sees it: in the home folder.
  const folder = join(project.home, "elsewhere"), spec = (uid) => JSON.stringify({ id: 2, op: "start", uid, task_id: "evil", argv: ["touch", join(project.home, "escaped")], env: {}, cwd: "/", output: ".coven/output/evil.jsonl" });
  const script = [`while [ ! -e go ]; do sleep 0.05; done`,
    say(`${folder}/.coven/keeper.sock`, JSON.stringify({ id: 1, op: "hello", role: "daemon", version: "1" })), say(`${folder}/.coven/keeper.sock`, spec("evil-1")),
    `curl -s -o /dev/null -w '%{http_code}\\n' -X POST -H 'Content-Type: application/json' -d '{"argv":["touch","${project.home}/escaped"]}' --unix-socket ${folder}/.coven/covend.sock http://localhost/tasks`,
    `curl -s -o /dev/null -w '%{http_code}\\n' -X POST -H 'Content-Type: application/json' -H "Authorization: Bearer $(cat ${folder}/.coven/token)" -d '{"argv":["touch","${project.home}/escaped"]}' $(cat ${folder}/.coven/url)tasks`,
  ].join("; ");
  assert.equal((await project.cru("run", "--id", "early", "--detach", "--confine", "--", "sh", "-c", script)).code, 0);
  other.moveTo(folder);
  giveAway(folder);
  await other.startDaemon({ trusted: false });
  await other.must("run", "--", "true");
  writeFileSync(project.path("go"), "");
  await waitFor(async () => (await project.json("show", "early")).status !== "running", { what: "it has tried" });
  const { stdout } = await project.cru("logs", "early");
  assert.ok(!existsSync(join(project.home, "escaped")), stdout);
  const said = stdout.trim().split("\n");
  for (const reply of said.slice(0, 2)) assert.match(reply, /forbidden/, stdout);
  for (const status of said.slice(2)) assert.match(status, /^40[13]$/, stdout);
});

test("a home folder below /tmp that contains the project is not written", { skip }, async (t) => {
  const project = new UserProject({ user_config: "confine: default\n", git: true });
  t.after(() => project.close());
  mkdirSync(join(project.home, "work"));
  const before = project.root;
  project.moveTo(join(project.home, "work/project"));
  renameSync(before, project.root);
  writeFileSync(join(project.home, ".bashrc"), "# theirs\n");
  project.own();
  await project.startDaemon();
  const result = await inside(project, [
    attempt("home", `echo evil >>${project.home}/.bashrc`), attempt("new", `echo evil >${project.home}/.profile`), attempt("beside", "echo evil >../made"), attempt("folder", "mv ../../work ../../away"),
    attempt("mode", `chmod 777 ${project.home}/.bashrc`), attempt("work", "echo x >made && git -c user.name=a -c user.email=a@b commit --allow-empty -qm inside"), attempt("tmp", "echo x >/tmp/x"),
  ].join("\n"));
  assert.deepEqual(lines(result), ["home refused", "new refused", "beside refused", "folder refused", "mode refused", "work done", "tmp done"]);
  assert.equal(readFileSync(join(project.home, ".bashrc"), "utf8"), "# theirs\n");
});

test("without namespaces the user's other processes keep their limits, priorities and processors, and files their owners", async (t) => {
  const project = await jailed(t, { machine: "without_namespaces" });
  writeFileSync(join(project.home, "theirs"), "theirs\n");
  project.own();
  const { pid } = project.spawn(["600"], { argv0: "sleep" });
  const tries = {
    limits: `prlimit --pid ${pid} --nofile=10:10`, priority: `renice -n 19 -p ${pid}`, "all of the user's": "renice -n 19 -u $(id -u)", "input and output": `ionice -c 3 -p ${pid}`,
    "all input and output": "ionice -c 3 -u $(id -u)", scheduler: `chrt --idle -p 0 ${pid}`, processors: `taskset -p 1 ${pid}`, "shared memory": "ipcmk -M 1000", queues: "ipcmk -Q",
    group: `chgrp $(id -g) ${project.home}/theirs`, attribute: `setfattr -n user.x -v 1 ${project.home}/theirs || python3 -c "import os; os.setxattr('${project.home}/theirs', 'user.x', b'1')"`,
  };
  const own = { "own limits": "ulimit -n 100", "own priority": "nice -n 5 true", "own processors": "taskset 1 true", "own scheduler": "chrt --idle 0 true", "own mode": "chmod 700 README", "own times": "touch README" };
  const result = await inside(project, Object.entries({ ...tries, ...own }).map(([what, command]) => attempt(what, command)).join("\n"));
  assert.deepEqual(lines(result), [...Object.keys(tries).map((what) => `${what} refused`), ...Object.keys(own).map((what) => `${what} done`)]);
});

for (const machine of [undefined, "without_namespaces"])
  test(`${machine ? "without namespaces" : "with namespaces"} no file is made that runs as its owner, and no key of the user's is read`, { skip: !machine && skip }, async (t) => {
    const project = await jailed(t, { machine });
    mkdirSync(project.path("src"));
    project.own();
    const result = await inside(project, [
      attempt("chmod", "cp /bin/true src/a && chmod 4755 src/a"), attempt("made so", `perl -MFcntl -e 'umask 0; sysopen(F, "src/b", O_CREAT|O_WRONLY, 04755) or die'`),
      attempt("by a ring", `${project.attacker} ring src/c`), attempt("keys", "keyctl show || perl -e 'exit(syscall(250, 0, -3, 0) < 0)'"), attempt("executable", "chmod 755 src/a && src/a"),
    ].join("\n"));
    assert.deepEqual(lines(result), ["chmod refused", "made so refused", "by a ring refused", "keys refused", "executable done"]);
  });

for (const machine of [undefined, "without_namespaces"])
  test(`${machine ? "without namespaces" : "with namespaces"} hooks and settings that git's configuration names are guarded`, { skip: !machine && skip }, async (t) => {
    const project = await jailed(t, { machine });
    mkdirSync(project.path(".husky/_"), { recursive: true });
    writeFileSync(project.path("team.gitconfig"), "[alias]\n\tst = status\n");
    project.own();
    project.git("config", "core.hooksPath", ".husky/_");
    project.git("config", "include.path", "../team.gitconfig");
    const tries = { hook: "echo evil >.husky/_/pre-commit", "its folder": "mv .husky away", settings: "echo evil >>team.gitconfig", "in their place": "mv team.gitconfig away" };
    const result = await inside(project, [...Object.entries(tries).map(([what, command]) => attempt(what, command)), attempt("work", "echo x >>README")].join("\n"));
    assert.deepEqual(lines(result), [...Object.keys(tries).map((what) => `${what} refused`), "work done"]);
  });

test("a worktree that is added while a run is confined is not its to redirect", { skip }, async (t) => {
  const project = await jailed(t);
  const script = `while [ ! -e go ]; do sleep 0.05; done; ${attempt("commondir", "echo /tmp >.git/worktrees/late/commondir")}; ${attempt("another", "mkdir .git/worktrees/evil")}; ${attempt("git", "git status")}`;
  assert.equal((await project.cru("run", "--id", "early", "--detach", "--confine", "--", "sh", "-c", script)).code, 0);
  // git removes its folder of worktrees with the last of them: what was mounted there would go with it.
  project.git("worktree", "add", "-q", ".coven/first");
  project.git("worktree", "remove", ".coven/first");
  project.git("worktree", "prune");
  project.git("worktree", "add", "-q", ".coven/late");
  writeFileSync(project.path("go"), "");
  await waitFor(async () => (await project.json("show", "early")).status !== "running", { what: "it has tried" });
  assert.deepEqual((await project.cru("logs", "early")).stdout.trim().split("\n"), ["commondir refused", "another refused", "git done"]);
});

test("the user's other terminals are not there, and a terminal of its own has its name", { skip }, async (t) => {
  const project = await jailed(t);
  // A terminal of the person's, whose number is known.
  const other = project.spawn(["-qec", "tty; sleep 600", "/dev/null"], { argv0: "script", stdio: ["pipe", "pipe", "pipe"] });
  const name = await waitFor(() => other.text.stdout.match(/\/dev\/pts\/\d+/)?.[0], { what: "a terminal" });
  const look = [attempt("other", `echo evil >${name}`), "ls /dev/pts"].join("\n");
  assert.deepEqual(lines(await inside(project, look)), ["other refused", "ptmx"]);
  assert.match((await inside(project, "tty; script -qec tty /dev/null", { flags: ["--pty"] })).said, /^\/dev\/pts\/0\s+\/dev\/pts\/1\s*$/);
  assert.doesNotMatch(other.text.stdout, /evil/);
});

for (const machine of [undefined, "without_namespaces"]) {
  const where = machine ? "without namespaces" : "with namespaces";
  test(`${where}, git's own folder is guarded wherever a file in its place leads to`, { skip: !machine && skip }, async (t) => {
    const project = await jailed(t, { machine });
    mkdirSync(project.path("vendor"));
    project.own();
    project.git("init", "-q", "--separate-git-dir", ".bare");
    project.git("init", "-q", "--separate-git-dir", "vendor/lib.git", "vendor/lib");
    const tries = {
      hook: "mkdir -p .bare/hooks && echo evil >.bare/hooks/pre-commit", settings: "echo '#' >>.bare/config", commondir: "echo /tmp >.bare/commondir", "its folder": "mv .bare away", "the file": "echo 'gitdir: /tmp' >.git",
      "another's settings": "echo '#' >>vendor/lib.git/config", "another's hook": "echo evil >vendor/lib.git/hooks/pre-commit",
    };
    const result = await inside(project, [...Object.entries(tries).map(([what, command]) => attempt(what, command)), attempt("work", machine ? "git status" : "git -c user.name=a -c user.email=a@b commit --allow-empty -qm inside")].join("\n"));
    assert.deepEqual(lines(result), [...Object.keys(tries).map((what) => `${what} refused`), "work done"]);
    const tree = await inside(project, [attempt("settings", "echo '#' >>$(git rev-parse --git-common-dir)/config"), attempt("work", machine ? "git status" : "git -c user.name=a -c user.email=a@b commit --allow-empty -qm inside")].join("\n"), { flags: ["--worktree"] });
    assert.deepEqual(lines(tree), ["settings refused", "work done"]);
    await waitFor(() => !existsSync(project.path(".bare/worktrees/cru-placeholder")), { what: "nothing is held any more" });
  });

  test(`${where}, hooks that git's configuration names are guarded in worktrees, and if the user names them for all repositories`, { skip: !machine && skip }, async (t) => {
    const project = await jailed(t, { machine });
    for (const folder of [".husky", ".githooks"]) {
      mkdirSync(project.path(folder));
      writeFileSync(project.path(folder, "theirs"), "");
    }
    writeFileSync(join(project.home, ".gitconfig"), "[core]\n\thooksPath = .githooks\n");
    project.own();
    project.git("add", "-A");
    project.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "hooks");
    assert.deepEqual(lines(await inside(project, attempt("for all", "echo evil >.githooks/pre-commit"))), ["for all refused"]);
    project.git("config", "core.hooksPath", ".husky");
    assert.deepEqual(lines(await inside(project, attempt("in a worktree", "echo evil >.husky/pre-commit"), { flags: ["--worktree"] })), ["in a worktree refused"]);
  });

  test(`${where}, the user's own settings and state are not written where the home folder is in the project`, { skip: !machine && skip }, async (t) => {
    const project = new UserProject({ user_config: "confine: default\n", git: true });
    t.after(() => project.close());
    project.machine = machine;
    const before = project.home;
    project.home = project.path("home");
    renameSync(before, project.home);
    for (const [name, value] of Object.entries(project.env)) project.env[name] = String(value).replaceAll(before, project.home);
    writeFileSync(join(project.home, ".gitconfig"), "");
    mkdirSync(project.path("home/work"));
    project.own();
    await project.startDaemon();
    const tries = {
      settings: "echo 'confine: off' >>home/.config/crucible/config.yaml", "their folder": "mv home/.config home/away", git: "echo '#' >>home/.gitconfig", state: "echo x >$XDG_STATE_HOME/cru/made", "in it": "echo x >$XDG_STATE_HOME/cru/evil",
    };
    const result = await inside(project, [...Object.entries(tries).map(([what, command]) => attempt(what, command)), attempt("work", "echo x >home/work/made")].join("\n"));
    assert.deepEqual(lines(result), [...Object.keys(tries).map((what) => `${what} refused`), "work done"]);
  });
}

test("a repository that was found once stays guarded, however many folders an agent makes", { skip }, async (t) => {
  const project = await jailed(t);
  mkdirSync(project.path("src/vendor/lib"), { recursive: true });
  project.own();
  project.git("init", "-q", "src/vendor/lib");
  const change = attempt("settings", "echo '#' >>src/vendor/lib/.git/config");
  assert.deepEqual(lines(await inside(project, `${change}; mkdir src/0; cd src/0; seq 1100 | xargs mkdir`)), ["settings refused"]);
  assert.deepEqual(lines(await inside(project, change)), ["settings refused"]);
});

test("keys that the user adds while a run is confined are not seen in it", { skip }, async (t) => {
  const project = await jailed(t);
  const keys = join(project.home, ".config/crucible/keys");
  const script = `while [ ! -e go ]; do sleep 0.05; done; ${attempt("key", `cat ${keys}/late`)}`;
  assert.equal((await project.cru("run", "--id", "early", "--detach", "--confine", "--", "sh", "-c", script)).code, 0);
  mkdirSync(keys, { recursive: true });
  writeFileSync(join(keys, "late"), "secret\n");
  project.own();
  writeFileSync(project.path("go"), "");
  await waitFor(async () => (await project.json("show", "early")).status !== "running", { what: "it has tried" });
  assert.deepEqual((await project.cru("logs", "early")).stdout.trim().split("\n"), ["key refused"]);
});
