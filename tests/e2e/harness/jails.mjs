// Projects whose agents are confined, and scripts that try to get out. Everything is an ordinary user's.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import net from "node:net";
import { waitFor } from "./basics.mjs";
import { asUser, UserProject, userProgram } from "./ordinary_user.mjs";

/// What this machine can confine with, for an ordinary user.
export const means = (() => {
  const [program, ...words] = asUser(userProgram(), "confine", "--means");
  return JSON.parse(spawnSync(program, words, { encoding: "utf8" }).stdout);
})();

/// `machine` as harness/processes.mjs has it.
export async function jailed(t, { machine, confine = "default", ...options } = {}) {
  const project = new UserProject({ user_config: `confine: ${confine}\nruns: {kill_grace: 1s}\n`, git: true, ...options });
  t.after(() => project.close());
  project.machine = machine;
  await project.startDaemon();
  return project;
}

/// A script in a jail, to its end: what is shown of it, and what it said.
export async function inside(project, script, { id = `jailed-${Math.random().toString(36).slice(2, 8)}`, flags = [] } = {}) {
  const { code, stdout, stderr } = await project.cru("run", "--id", id, "--detach", "--confine", ...flags, "--", "sh", "-c", script);
  assert.equal(code, 0, `${stdout}${stderr}`);
  await waitFor(async () => !["starting", "running"].includes((await project.json("show", id)).status), { what: `${id} ends` });
  return { ...(await project.json("show", id)), said: (await project.cru("logs", id)).stdout };
}
export const attempt = (what, command) => `(${command}) >/dev/null 2>&1 && echo "${what} done" || echo "${what} refused"`;

/// Somebody who listens on this machine: {port, met}.
export async function listener(t) {
  const met = [], server = net.createServer((socket) => { met.push(socket.remotePort); socket.on("error", () => {}); socket.end("hello\n"); });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close());
  return { port: server.address().port, met };
}
export const overTcp = (where) => `perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => "${where}", Timeout => 5) or die'`;
export const overUnix = (where) => `perl -MSocket -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new("${where}") or die'`;
/// A run without the network, beside one that has it.
export async function withoutNetwork(t, project) {
  const { port, met } = await listener(t);
  const script = [
    attempt("loopback", overTcp(`127.0.0.1:${port}`)), attempt("daemon", overTcp(`127.0.0.1:${project.tcp.port}`)), attempt("door", overUnix(".coven/door/mcp.sock")),
    attempt("abstract", overUnix("\\0any")), attempt("verb", `${project.cru_bin} locks list --json | grep -q locks`),
  ];
  const open = await inside(project, script.slice(0, 1).join("\n"));
  assert.deepEqual([open.said.trim(), met.length], ["loopback done", 1]);
  const shut = await inside(project, [...script, attempt("beyond", overTcp("192.0.2.1:80")), attempt("write", "echo x >>README")].join("\n"), { flags: ["--no-network"] });
  assert.deepEqual(shut.said.trim().split("\n"), ["loopback refused", "daemon refused", "door refused", "abstract refused", "verb refused", "beyond refused", "write done"]);
  assert.deepEqual([shut.confined, met.length], ["writes below the project, no network", 1]);
  const { code, stderr } = await project.cru("run", "--no-network", "--", "true");
  assert.notEqual(code, 0);
  assert.match(stderr, /only a confined run can be without network access/);
}
