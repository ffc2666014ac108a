// `cru mcp` hands the streams of its host to the daemon (docs/decisions/0028): nothing is lost, done twice, cut or mixed up
// by that, whatever kind of stream it is, whoever dies, and whatever descriptors a hostile client sends.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { test } from "node:test";
import { Agent, Project, sleep, waitFor } from "./harness.mjs";
import { cru_bin } from "./harness/basics.mjs";
import { Wire } from "./harness/mcp.mjs";

/// `cru mcp` between two pipes. Node itself gives a child sockets.
class PipedWire extends Wire {
  constructor(project, { env = {} } = {}) {
    const shell = (args, options) => project.spawn(["-c", `cat | "$0" mcp | cat`, cru_bin], { ...options, argv0: "sh" });
    super({ spawn: shell }, { env });
  }
}
const kinds = [["a socket", Wire], ["a pipe", PipedWire]];

const openFiles = (pid) => {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => { try { return readlinkSync(`/proc/${pid}/fd/${fd}`); } catch { return ""; } });
  } catch { return []; }
};
/// The `cru mcp` below a process, itself included.
function serverOf(pid) {
  const { stdout } = spawnSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" });
  const rows = stdout.trim().split("\n").map((line) => line.trim().match(/^(\d+)\s+(\d+)\s+(.*)$/)).map(([, own, parent, args]) => ({ own: Number(own), parent: Number(parent), args }));
  return rows.find(({ own, parent, args }) => (own === pid || parent === pid) && args === `${cru_bin} mcp`)?.own;
}
const standardInput = (wire) => readlinkSync(`/proc/${serverOf(wire.child.pid)}/fd/0`);
const daemonFiles = (project) => project.daemons().flatMap(openFiles);
const isHanded = (project, wire) => daemonFiles(project).includes(standardInput(wire));

/// How many answers there are to each id.
const answers = (wire) => wire.messages.reduce((counts, { id }) => counts.set(id, (counts.get(id) ?? 0) + 1), new Map());

for (const [kind, Kind] of kinds) {
  test(`the daemon serves a host on ${kind} itself, and lets go of it as soon as cru mcp is gone`, async (t) => {
    const project = await Project.started({}, t);
    const wire = new Kind(project, { env: { AGENT_ID: "ada" } });
    await wire.initialize();
    await waitFor(async () => (await wire.use("check_locks")) && isHanded(project, wire), { what: "it is handed over" });
    const name = standardInput(wire);
    process.kill(serverOf(wire.child.pid), "SIGKILL");
    await waitFor(() => !daemonFiles(project).includes(name), { what: "the daemon has closed it" });
    wire.child.stdin.end();
    await wire.child.ended;
    const other = new Kind(project, { env: { AGENT_ID: "bob" } });
    await other.initialize();
    await other.use("acquire_lock", { file_path: "a" });
    await waitFor(async () => (await other.use("check_locks")) && isHanded(project, other), { what: "it is handed over" });
    await other.end();
    const third = new Agent(project, "third");
    await waitFor(async () => (await third.ask("check_locks")).result.length === 0, { what: "its session has ended" });
  });

  test(`the daemon is killed again and again while it serves a host on ${kind}: every call is done and answered exactly once`, async (t) => {
    const project = await Project.started({}, t);
    const wire = new Kind(project, { env: { AGENT_ID: "ada" } });
    await wire.initialize();
    await wire.use("register_session");
    const [rounds, calls] = [12, 60];
    const ids = [];
    let handed = 0;
    for (let round = 0; round < rounds; ++round) {
      await waitFor(async () => (await wire.use("check_locks")) && isHanded(project, wire), { what: "it is handed over" });
      ++handed;
      const begun = wire.messages.length;
      for (let n = 0; n < calls; ++n) {
        ids.push(`${round}-${n}`);
        wire.send({ jsonrpc: "2.0", id: ids.at(-1), method: "tools/call", params: { name: "submit_work", arguments: { task_type: "many", description: ids.at(-1) } } });
        if (n % 7 === 0) await sleep(1);
      }
      // At another moment each time: before the first answer, and after some of them.
      await waitFor(() => wire.messages.length - begun >= round * 4, { every: 1, what: "some answers" });
      await project.killDaemon();
    }
    for (const id of ids) await wire.answer(id);
    await wire.use("check_locks");
    const counts = answers(wire);
    assert.deepEqual(ids.filter((id) => counts.get(id) !== 1), [], "each is answered once");
    const { work } = await new Agent(project, "other").ask("list_work", { task_type: "many", limit: 1000 });
    assert.deepEqual(work.map(({ description }) => description).sort(), [...ids].sort(), "each is done once");
    assert.equal(handed, rounds);
    assert.equal((await wire.end()).code, 0);
  });

  test(`large answers among small ones are whole lines in their order on ${kind}, though the host does not read for a while`, async (t) => {
    const project = await Project.started({}, t);
    const wire = new Kind(project, { env: { AGENT_ID: "ada" } });
    await wire.initialize();
    await waitFor(async () => (await wire.use("check_locks")) && isHanded(project, wire), { what: "it is handed over" });
    wire.child.stdout.pause();
    const ids = Array.from({ length: 300 }, (_, n) => `m${n}`);
    for (const [n, id] of ids.entries()) wire.send({ jsonrpc: "2.0", id, method: n % 10 === 5 ? "tools/list" : "ping" });
    await sleep(200);
    wire.child.stdout.resume();
    await wire.answer(ids.at(-1));
    for (const id of ids) await wire.answer(id);
    const counts = answers(wire);
    assert.deepEqual(ids.filter((id) => counts.get(id) !== 1), []);
    const pings = wire.messages.map(({ id }) => id).filter((id) => ids.includes(id) && Number(id.slice(1)) % 10 !== 5);
    assert.deepEqual(pings, ids.filter((id) => Number(id.slice(1)) % 10 !== 5), "what is answered at once is answered in order");
    assert.equal((await wire.end()).code, 0);
  });
}

test("what cannot be handed over is passed on: a file, a device, a line that is longer than the shared memory", async (t) => {
  const project = await Project.started({}, t);
  const say = (id, method, params = {}) => JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const initialize = say(0, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "e2e", version: "1" } });
  const script = `printf '%s\\n' '${initialize}' '${say(1, "ping")}' '${say(2, "ping")}' > in.txt; "$0" mcp < in.txt > out.txt; echo "code $?"; cat out.txt`;
  const child = project.spawn(["-c", script, cru_bin], { argv0: "sh" });
  await child.ended;
  assert.match(child.text.stdout, /^code 0$/m);
  assert.match(child.text.stdout, /"id":2,"result":\{\}/);

  const wire = new Wire(project, { env: { AGENT_ID: "ada" } });
  await wire.initialize();
  await waitFor(async () => (await wire.use("check_locks")) && isHanded(project, wire), { what: "it is handed over" });
  const long = "x".repeat(700_000);
  const answered = await wire.request("tools/call", { name: "check_guardrails", arguments: { command_text: long } });
  assert.ok(answered.result ?? answered.error);
  wire.child.stdin.write(`{"jsonrpc":"2.0","id":"half","meth`);
  await sleep(20);
  wire.child.stdin.write(`od":"ping"}\n`);
  assert.deepEqual((await wire.answer("half")).result, {});
  assert.equal((await wire.end()).code, 0);
});

// What a client sends that is not ours: each entry gives the descriptors after "take_host".
const hostile = String.raw`
import fcntl, json, mmap, os, socket, sys
path, token = sys.argv[1], sys.argv[2]
SEALS, SHRINK, GROW = 1033, 2, 4
def memory(size=None, seals=SHRINK | GROW):
    fd = os.memfd_create("x", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size or SIZE)
    if seals: fcntl.fcntl(fd, SEALS, seals)
    return fd
SIZE = int(sys.argv[3])
def pipe(): return os.pipe()
def attempt(name, make):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.chdir(os.path.dirname(path)); s.connect(os.path.basename(path))
    s.settimeout(60)
    f = s.makefile("r")
    s.sendall((json.dumps({"cru_mcp": 1, "instance": "hostile", "token": token}) + "\n").encode())
    assert "welcome" in f.readline()
    fds = make()
    socket.send_fds(s, [b'{"cru_mcp":"take_host","first":5,"wrote":0}\n'], fds)
    line = f.readline()
    print(name, "refused" if "refused" in line else "left" if not line else line.strip(), flush=True)
    s.close()
r, w = pipe(); a, b = pipe(); null = os.open("/dev/null", os.O_RDWR); full = os.open("/dev/full", os.O_RDWR)
zero = os.open("/dev/zero", os.O_RDWR); this = os.open(sys.executable, os.O_RDONLY); tcp = socket.socket().fileno()
dgram = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
attempt("none", lambda: [])
attempt("few", lambda: [r, w])
attempt("devices", lambda: [zero, full, memory(), a, b])
attempt("file", lambda: [this, w, memory(), a, b])
attempt("swapped", lambda: [w, r, memory(), a, b])
attempt("datagrams", lambda: [dgram[0].fileno(), dgram[1].fileno(), memory(), a, b])
attempt("tcp", lambda: [tcp, tcp, memory(), a, b])
attempt("shrinking", lambda: [r, w, memory(seals=0), a, b])
attempt("small", lambda: [r, w, memory(size=4096), a, b])
attempt("no memory", lambda: [r, w, null, a, b])
attempt("no stage", lambda: [r, w, memory(), null, null])
# Good descriptors, and then everything is done to them.
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); s.connect(os.path.basename(path)); s.settimeout(60); f = s.makefile("r")
s.sendall((json.dumps({"cru_mcp": 1, "instance": "hostile", "token": token}) + "\n").encode()); f.readline()
r, w = pipe(); r2, w2 = pipe(); a, b = pipe(); m = memory()
view = mmap.mmap(m, SIZE)
socket.send_fds(s, [b'{"cru_mcp":"take_host","first":5,"wrote":0}\n'], [r, w2, m, a, b])
for fd in (r, w2, a, b): fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_NONBLOCK)
os.write(w, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
assert b'"id":1' in os.read(r2, 4096)
# Its own copy of the output blocks again and is full.
fcntl.fcntl(w2, fcntl.F_SETFL, fcntl.fcntl(w2, fcntl.F_GETFL) | os.O_NONBLOCK)
try:
    while True: os.write(w2, b"z" * 4096)
except BlockingIOError: fcntl.fcntl(w2, fcntl.F_SETFL, fcntl.fcntl(w2, fcntl.F_GETFL) & ~os.O_NONBLOCK)
for n in range(200):
    view[0:SIZE] = bytes([n + 1]) * SIZE
    os.write(b, b"junk in the stage")
    os.write(w, b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
`;

test("whatever descriptors a client sends, the daemon refuses what it cannot use and serves others on", async (t) => {
  const python = spawnSync("python3", ["-c", "import socket; socket.send_fds"]);
  if (python.status !== 0) return t.skip("python3 with socket.send_fds is not installed");
  const project = await Project.started({}, t);
  const wire = new Wire(project, { env: { AGENT_ID: "ada" } });
  await wire.initialize();
  await waitFor(async () => (await wire.use("check_locks")) && isHanded(project, wire), { what: "it is handed over" });
  const size = Number(spawnSync("stat", ["-Lc", "%s", ...readdirSync(`/proc/${wire.child.pid}/fd`).map((fd) => `/proc/${wire.child.pid}/fd/${fd}`).filter((path) => readlinkSync(path).startsWith("/memfd:"))], { encoding: "utf8" }).stdout);
  const before = daemonFiles(project).length;
  const child = spawn("python3", ["-c", hostile, project.path(".coven/door/mcp.sock"), project.token, String(size)], { cwd: project.root, stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.on("data", (part) => (out += part));
  child.stderr.on("data", (part) => (err += part));
  const code = await new Promise((done) => child.on("close", done));
  const lines = out.trim().split("\n");
  assert.deepEqual([code, lines.length, lines.filter((line) => !line.endsWith(" refused"))], [0, 11, []], out + err);
  assert.equal((await wire.use("check_locks")).success ?? true, true, "another client is served on");
  await waitFor(() => daemonFiles(project).length <= before, { what: "nothing is left open" });
  assert.equal((await wire.end()).code, 0);
});
