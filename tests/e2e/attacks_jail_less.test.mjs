// The jail on machines that can do less: no namespaces, as in many containers, so Landlock and seccomp hold the run; and
// neither, so no agent runs unless its user says so. Everything here is an ordinary user's.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { attempt, inside, jailed, means, overUnix, withoutNetwork } from "./harness/jails.mjs";

const machine = "without_namespaces";
const skip = (means.landlock === 0 || !means.seccomp) && "no Landlock or no seccomp here";

test("without namespaces it writes what is in the project and a folder of its own, and nothing else", { skip }, async (t) => {
  const project = await jailed(t, { machine });
  mkdirSync(project.path("src"));
  mkdirSync(project.path(".claude"));
  mkdirSync(project.path(".git/worktrees/other"), { recursive: true });
  writeFileSync(project.path(".git/worktrees/other/commondir"), "../..\n");
  writeFileSync(join(project.home, ".bashrc"), "# theirs\n");
  project.own();
  const { said, confined } = await inside(project, [
    attempt("project", "echo x >>README && mkdir -p src/deep/er && echo y >src/deep/er/file && mv src/deep/er/file src/file && rm -r src/deep"),
    attempt("its own folder", "echo x >$TMPDIR/a && test -s $TMPDIR/a"),
    attempt("objects", "git hash-object -w README"),
    attempt("top folder", "echo x >made"),
    attempt("home", "echo evil >>$HOME/.bashrc"),
    attempt("new in home", "echo evil >$HOME/.profile"),
    attempt("tmp", "echo evil >/tmp/evil-$$"),
    attempt("etc", "echo evil >/etc/evil"),
    attempt("hook", "mkdir -p .git/hooks && echo evil >.git/hooks/pre-commit"),
    attempt("config", "git config core.fsmonitor evil"),
    attempt("config in place", "echo evil >>.git/config"),
    attempt("commondir", "echo /tmp >.git/commondir"),
    attempt("another's commondir", "echo /tmp >.git/worktrees/other/commondir"),
    attempt("moved git", "mv .git .git-away"),
    attempt("claude", "echo '{}' >.claude/settings.json"),
    attempt("crucible", "mkdir -p .crucible/agents && echo x >.crucible/agents/evil.md"),
    attempt("mcp", "echo '{}' >.mcp.json"),
    attempt("through a link", "ln -s $HOME/.bashrc src/link && echo evil >>src/link"),
    attempt("by another name", "ln $HOME/.bashrc src/other && echo evil >>src/other"),
  ].join("\n"));
  assert.deepEqual(said.trim().split("\n"), [
    "project done", "its own folder done", "objects done", "top folder refused", "home refused", "new in home refused", "tmp refused", "etc refused",
    "hook refused", "config refused", "config in place refused", "commondir refused", "another's commondir refused", "moved git refused", "claude refused",
    "crucible refused", "mcp refused", "through a link refused", "by another name refused"]);
  assert.equal(confined, "writes below the project");
  assert.equal(readFileSync(join(project.home, ".bashrc"), "utf8"), "# theirs\n");
});

test("without namespaces the token, keys, other processes and every unix socket are out of reach", { skip }, async (t) => {
  const project = await jailed(t, { machine });
  for (const [folder, file] of [[".config/crucible/keys", "anthropic"], [".ssh", "id"], [".state/cru/keys", "key"]]) {
    mkdirSync(join(project.home, folder), { recursive: true });
    writeFileSync(join(project.home, folder, file), "secret\n");
  }
  const theirs = join(project.home, "theirs.sock"), server = net.createServer().listen(theirs);
  t.after(() => server.close());
  project.own();
  const { pid: daemon } = project.daemon;
  const { said } = await inside(project, [
    attempt("readme", "cat README"),
    attempt("token", "cat .coven/token"),
    attempt("token by another name", "ln .coven/token src-token && cat src-token"),
    attempt("database", "cat .coven/coven.db"),
    attempt("state", "echo x >.coven/made || echo x >.coven/jails/made"),
    attempt("keys", "cat $HOME/.config/crucible/keys/anthropic"),
    attempt("ssh", "cat $HOME/.ssh/id"),
    attempt("person's key", "cat $XDG_STATE_HOME/cru/keys/key"),
    attempt("people's socket", overUnix(".coven/covend.sock")),
    attempt("keeper", overUnix(".coven/keeper.sock")),
    attempt("door", overUnix(".coven/door/mcp.sock")),
    attempt("user's socket", overUnix(theirs)),
    attempt("abstract socket", overUnix("\\0any")),
    attempt("pair", "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die'"),
    attempt("internet", "perl -MSocket -e 'socket(A, AF_INET, SOCK_STREAM, 0) or die'"),
    attempt("environment", `cat /proc/${daemon}/environ`),
    attempt("descriptors", `readlink /proc/$PPID/fd/0 || readlink /proc/${daemon}/fd/0`),
    attempt("signal", `kill -0 ${daemon}`),
    attempt("namespaces", "unshare -Urm true"),
  ].join("\n"));
  const scoped = means.landlock >= 6 ? "refused" : "done";
  assert.deepEqual(said.trim().split("\n"), [
    "readme done", "token refused", "token by another name refused", "database refused", "state refused", "keys refused", "ssh refused", "person's key refused",
    "people's socket refused", "keeper refused", "door refused", "user's socket refused", "abstract socket refused", "pair done", "internet done",
    "environment refused", "descriptors refused", `signal ${scoped}`, "namespaces refused"]);
});

test("without namespaces a run in a worktree writes what is in it; git's own files there stay", { skip }, async (t) => {
  const project = await jailed(t, { machine });
  const { said } = await inside(project, [
    attempt("its own", "echo x >>README && grep -q x README"),
    attempt("whose git it is", "echo 'gitdir: /tmp' >.git"),
    attempt("its commondir", "echo /tmp >$(git rev-parse --git-dir)/commondir"),
    attempt("configuration", "git config core.fsmonitor evil"),
    attempt("hook", "echo evil >$(git rev-parse --git-common-dir)/hooks/pre-commit"),
    attempt("the token beside it", "cat ../../token"),
    attempt("beside it", "echo x >../made"),
  ].join("\n"), { id: "in-worktree", flags: ["--worktree"] });
  assert.deepEqual(said.trim().split("\n"), [
    "its own done", "whose git it is refused", "its commondir refused", "configuration refused", "hook refused", "the token beside it refused", "beside it refused"]);
});

test("without namespaces its verbs reach the daemon over TCP, as the run that it is, and what it starts is confined too", { skip }, async (t) => {
  const project = await jailed(t, { machine });
  assert.equal((await project.cru("run", "--id", "asker", "--detach", "--", "sh", "-c", "read answer")).code, 0);
  const { said } = await inside(project, [
    `${project.cru_bin} locks acquire made.cc >/dev/null; echo "lock $?"; echo "its own $(${project.cru_bin} locks list --json | grep -c worker)"`,
    `${project.cru_bin} kill asker 2>/dev/null; echo "kill $?"`,
    `${project.cru_bin} run --id child --detach -- sh -c 'echo evil >$HOME/.profile; echo "child wrote $?"' >/dev/null; ${project.cru_bin} wait child >/dev/null; echo "started $?"`,
    `echo "without a token $(curl -s -o /dev/null -w '%{http_code}' $CRU_URL/questions)"`,
  ].join("\n"), { id: "worker" });
  assert.deepEqual(said.trim().split("\n"), ["lock 0", "its own 1", "kill 4", "started 0", "without a token 401"]);
  assert.match((await project.cru("logs", "child")).stdout, /child wrote [^0]/);
  assert.ok(!existsSync(join(project.home, ".profile")));
});

test("without namespaces and without the network nothing is reached, not even on this machine", { skip }, async (t) => {
  await withoutNetwork(t, await jailed(t, { machine }));
});

test("without namespaces what would need a unix socket cannot be permitted; `confine: require` refuses the run", { skip }, async (t) => {
  const project = await jailed(t, { machine });
  const { code, stderr } = await project.cru("run", "--confine", "--permit", "ssh-agent", "--", "true");
  assert.notEqual(code, 0);
  assert.match(stderr, /ssh-agent cannot be permitted here: without namespaces/);
  const strict = await jailed(t, { machine, confine: "require" });
  const refused = await strict.cru("run", "--id", "strict", "--confine", "--", "true");
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /this machine cannot confine an agent: namespaces are not permitted[^]*`confine: off`/);
});

test("with neither, a confined run is refused; with `confine: off` too, and a plain one says that it is not confined", async (t) => {
  const project = await jailed(t, { machine: "without_confinement" });
  const refused = await project.cru("run", "--id", "held", "--confine", "--", "touch", "made");
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /this machine cannot confine an agent: [^]*it lacks Landlock or seccomp[^]*cru doctor[^]*`confine: off`/);
  assert.ok(!existsSync(project.path("made")));
  assert.equal((await project.json("show", "held")).status, "failed");

  const open = await jailed(t, { machine: "without_confinement", confine: "off" });
  const not_confined = await open.cru("run", "--id", "open", "--confine", "--", "touch", "made");
  assert.notEqual(not_confined.code, 0);
  assert.match(not_confined.stderr, /nothing can be confined while `confine: off` is set/);
  assert.ok(!existsSync(open.path("made")));
  await open.cru("run", "--id", "plain", "--", "true");
  assert.equal((await open.json("show", "plain")).confined, "no");
});
