// What the benchmarks stand on: a throw-away project with a real daemon and keeper, peers, medians, rows.
// Ends only processes whose pids it was told by its own project.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync } from "node:fs";
import http from "node:http";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export { sleep };
export const repository = realpathSync(join(dirname(fileURLToPath(import.meta.url)), ".."));
export const cru_bin = realpathSync(process.env.CRU_BIN ?? join(repository, "build/cru"));
export const bench_bin = realpathSync(process.env.BENCH_BIN ?? join(dirname(cru_bin), "bench"));
export const quick = Boolean(process.env.BENCH_QUICK);
export const now = () => Number(process.hrtime.bigint()) / 1e6;

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/// A row of the result. `better` says which way is good; `aim` is a number in the unit of `ours`, or of the
/// ratio when `aim_of` is "ratio". `spread` is the lowest and highest round.
export function row(what, unit, ours, { peer = null, peer_name = "", aim = null, aim_of = "ours", better = "more", note = "", rounds = [] } = {}) {
  const ratio = peer === null ? null : ours / peer;
  const measured = aim_of === "ratio" ? ratio : ours;
  const met = aim === null ? null : better === "more" ? measured >= aim : measured <= aim;
  const spread = rounds.length > 1 ? [Math.min(...rounds), Math.max(...rounds)] : null;
  return { what, unit, ours, peer, peer_name, ratio, aim, aim_of, better, met, spread, note };
}

/// On the disk of the working tree, not in /tmp, which may be memory: syncs must cost what they cost.
export function temporaryFolder() {
  const parent = join(repository, "build");
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, "bench-tmp-"));
}

export async function waitFor(condition, { within = 30_000, every = 5, what = condition.toString() } = {}) {
  for (const end = now() + within; now() < end; await sleep(every)) {
    const value = await condition();
    if (value) return value;
  }
  throw new Error(`not within ${within} ms: ${what}`);
}

const isAlive = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)[0] !== "Z";
  } catch {
    return false;
  }
};

/// A bench program's JSON; `options` are its folder and environment.
export function measureIn(options, program, ...args) {
  return JSON.parse(execFileSync(join(bench_bin, program), args.map(String), { ...options, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], timeout: 300_000 }));
}
export const measure = (program, ...args) => measureIn({}, program, ...args);

/// kB of one line of /proc/PID/smaps_rollup.
export function memory(pid) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const field = (name) => Number(text.match(new RegExp(`^${name}:\\s+(\\d+)`, "m"))[1]);
  return { rss: field("Rss"), pss: field("Pss"), anonymous: field("Anonymous") };
}

/// Times that threads of a process went to sleep and were woken, and ticks of CPU they used.
export function activity(pid) {
  let wakeups = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`))
    wakeups += Number(readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8").match(/^voluntary_ctxt_switches:\s+(\d+)/m)[1]);
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
  return { wakeups, ticks: Number(stat[11]) + Number(stat[12]) };
}

const open = new Set();
/// Every project that is still open, ended: for the way out through an error or a signal.
export async function closeAll() {
  for (const project of [...open]) await project.close();
}

export class Project {
  constructor() {
    this.root = temporaryFolder();
    this.home = `${this.root}-home`; // not below the project: what is trusted is recorded outside of it
    mkdirSync(join(this.root, ".crucible"));
    mkdirSync(this.home);
    // Named, for in a worktree of git the project would be that of the repository.
    this.env = { PATH: process.env.PATH, HOME: this.home, CRU_PROJECT: this.root, LANG: "C.UTF-8", TERM: "dumb", NO_COLOR: "1" };
    this.socket = this.socketNamed("covend.sock");
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
    open.add(this);
  }

  /// The shorter of its two names: a socket's address has 108 bytes.
  socketNamed(name) {
    const socket = join(this.root, ".coven", name);
    return [socket, relative(process.cwd(), socket)].sort((a, b) => a.length - b.length)[0];
  }
  pidIn(name) {
    try {
      return Number.parseInt(readFileSync(join(this.root, ".coven", name), "utf8"), 10) || null;
    } catch {
      return null;
    }
  }
  get daemonPid() { return this.pidIn("covend.pid"); }
  get keeperPid() { return this.pidIn("keeper.pid"); }
  get token() { return readFileSync(join(this.root, ".coven/token"), "utf8").trim(); }
  get url() { return readFileSync(join(this.root, ".coven/url"), "utf8").trim(); }

  cru(...args) {
    const done = spawnSync(cru_bin, args, { cwd: this.root, env: this.env, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`cru ${args.join(" ")}: ${done.stderr}`);
    return done.stdout;
  }

  /// The daemon in the background; it is not awaited.
  spawnDaemon() {
    this.daemon = spawn(cru_bin, ["daemon", "run"], { cwd: this.root, env: this.env, stdio: "ignore", detached: true });
    this.daemon.unref();
  }
  async startDaemon() {
    this.spawnDaemon();
    await waitFor(() => this.get("/health").catch(() => null), { what: "the daemon answers" });
  }
  /// kill -9, and back when the process is gone.
  async killDaemon() {
    const pid = this.daemonPid;
    process.kill(pid, "SIGKILL");
    await waitFor(() => !isAlive(pid), { every: 1 });
    this.agent.destroy();
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  }

  async request(method, path, body, more = {}) {
    return JSON.parse(await this.text(method, path, body, more));
  }
  /// The reply as it is.
  text(method, path, body, more = {}) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = text === undefined ? more : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text), ...more };
    return new Promise((resolve, reject) => {
      const request = http.request({ socketPath: this.socket, method, path, headers, agent: this.agent }, (response) => {
        const parts = [];
        response.on("data", (part) => parts.push(part));
        response.on("error", reject);
        response.on("end", () => {
          const got = Buffer.concat(parts).toString("utf8");
          if (response.statusCode >= 300) reject(new Error(`${method} ${path}: ${response.statusCode} ${got}`));
          else resolve(got);
        });
      });
      request.on("error", reject);
      request.end(text);
    });
  }
  get(path) { return this.request("GET", path); }

  /// Starts `count` runs that sleep, 64 requests at a time.
  async startSleepers(count, prefix = "s") {
    let next = 0;
    const work = async () => {
      while (next < count) await this.request("POST", `/tasks/${prefix}${next++}/start`, { argv: ["sleep", "600"], stdin: false });
    };
    await Promise.all(Array.from({ length: 64 }, work));
  }

  /// The daemon first, then the keeper, which ends its runs; then the folder.
  async close() {
    if (!open.delete(this)) return;
    for (const pid of [this.daemonPid, this.keeperPid]) {
      if (!pid || !isAlive(pid) || !this.#isOurs(pid)) continue;
      process.kill(pid, "SIGTERM");
      await waitFor(() => !isAlive(pid), { within: 20_000, what: `process ${pid} ends` }).catch((error) => {
        process.kill(pid, "SIGKILL");
        console.error(error.message);
      });
    }
    this.agent.destroy();
    for (const folder of [this.root, this.home]) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
  /// A pid file may be older than the process that now has its pid.
  #isOurs(pid) {
    try {
      return realpathSync(`/proc/${pid}/exe`) === cru_bin && realpathSync(`/proc/${pid}/cwd`) === this.root;
    } catch {
      return false;
    }
  }
}

/// Where a program is, or null. A peer may have been unpacked by scripts/setup rather than installed.
export function findProgram(name) {
  const unpacked = ["bin", "sbin"].map((folder) => join(repository, "build/peers/usr", folder));
  const folders = [...process.env.PATH.split(":"), "/usr/sbin", ...unpacked];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}
