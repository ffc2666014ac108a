// The processes of a project: verbs, the daemon as our own child, the keeper by its pid file. Ends only what is ours.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync, readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { cru_bin, inTime, patience, waitFor, witnesses } from "./basics.mjs";
import { Client } from "./client.mjs";

export const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    // A zombie is dead: it only waits to be reaped.
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)[0] !== "Z";
  } catch {
    return false;
  }
};

/// Processes whose environment carries this text, by pid.
export function processesWith(text) {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").some((entry) => entry === text || (text.endsWith("=") && entry.startsWith(text)));
    } catch {
      return false;
    }
  }).filter(isAlive);
}

/// Waits until no process of any run of this project is left; says which are if they stay.
export async function noneLeft(project, what = "") {
  const left = () => processesWith(`CRU_PROJECT=${project.root}`);
  const describe = (pid) => {
    try { return `${pid} ${readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 120)} ${readFileSync(`/proc/${pid}/environ`, "utf8").match(/CRU_TASK_ID=[^\0]*/)}`; } catch { return `${pid} gone`; }
  };
  await waitFor(() => left().length === 0, { what: "no process of a run is left" }).catch((error) => {
    throw new Error(`${what}: ${error.message}:\n${left().map(describe).join("\n")}`);
  });
}

/// A client that also starts and kills the daemon it talks to. `env` is the whole environment of what it starts.
export class Processes extends Client {
  constructor(root, env) {
    super(root);
    this.env = env;
    this.children = new Set();
    this.testimony = () => `${this.root}: ${this.daemon?.text.stderr ?? ""}\n${this.log()}`;
    witnesses.add(this.testimony);
  }

  /// What a person sees: the verb on a terminal of its own.
  async onTerminal(...args) {
    const words = [cru_bin, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const child = this.spawn(["-qec", words, "/dev/null"], { argv0: "script", env: { TERM: "xterm-256color", NO_COLOR: "" } });
    return child.ended;
  }

  spawn(args, { env = {}, cwd = this.root, stdio = ["ignore", "pipe", "pipe"], argv0 = cru_bin } = {}) {
    const child = spawn(argv0, args, { cwd, env: { CRU_HOST_TOP: String(process.pid), CRU_START_HERE: "1", ...this.env, ...env }, stdio });
    child.text = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name]?.setEncoding("utf8").on("data", (text) => { child.text[name] += text; });
    const over = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal, ...child.text })));
    // Asked for, it is waited for; a child that nobody waits for may stay.
    Object.defineProperty(child, "ended", { get: () => inTime(over, `${argv0} ${args.join(" ")} ends`, () => `${child.text.stdout.slice(-2000)}${child.text.stderr.slice(-2000)}`) });
    child.on("error", () => {});
    this.children.add(child);
    over.then(() => this.children.delete(child));
    return child;
  }

  /// Runs a verb to its end: {code, stdout, stderr}.
  async cru(...args) {
    const options = typeof args.at(-1) === "object" ? args.pop() : {};
    const child = this.spawn(args, { ...options, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.on("error", () => {});
    child.stdin.end(options.input ?? "");
    return child.ended;
  }

  /// A daemon as our own child, so that it can be killed by its exact pid. Waits until it answers.
  /// `machine` is one that confines less: without_namespaces or without_confinement (fixtures/attacker.cc).
  startDaemon({ wait = true, env = {} } = {}) {
    const own = this.cru_bin ?? cru_bin, attacker = this.attacker ?? join(dirname(own), "attacker");
    const launch = this.machine ? () => this.spawn([this.machine, own, "daemon", "run"], { env, argv0: attacker }) : () => this.spawn(["daemon", "run"], { env });
    return this.launched(launch, { wait });
  }

  /// The daemon that `launch` starts, and starts again in the same way when it was refused.
  async launched(launch, { wait = true } = {}) {
    this.launch = launch;
    this.daemon = launch();
    if (wait) await this.ready();
    return this.daemon;
  }

  async ready() {
    let daemon = this.daemon, refused_at = 0;
    await waitFor(async () => {
      // Its last words may come after its exit code.
      if (daemon && daemon.exitCode !== null) await daemon.ended;
      // A verb that waits on a killed daemon starts it again, and may have been quicker than we were.
      if (daemon?.exitCode === 1 && /already running/.test(daemon.text.stderr)) {
        daemon = this.daemon = null;
        refused_at = Date.now();
      } else if (daemon && daemon.exitCode !== null) {
        throw Object.assign(new Error(`the daemon ended (${daemon.exitCode}): ${daemon.text.stderr}`), { final: true });
      } else if (["SIGABRT", "SIGSEGV"].includes(daemon?.signalCode)) {
        await daemon.ended;
        throw Object.assign(new Error(`the daemon died of ${daemon.signalCode}: ${daemon.text.stderr}`), { final: true });
      }
      // Whoever held the lock was dying, and nobody came after it: as a person would, we try again.
      if (refused_at && Date.now() - refused_at > 3000) {
        daemon = this.daemon = this.launch();
        refused_at = 0;
      }
      return (await this.get("/health", { timeout: patience / 4 })).status === 200;
    }, { what: "the daemon answers" }).catch((error) => {
      throw new Error(`${error.message}\n${daemon?.text.stderr ?? ""}\n${this.whoIsHere()}`);
    });
  }

  /// For a failure: the processes of this project, and what each waits for.
  whoIsHere() {
    const read = (pid, name) => { try { return readFileSync(`/proc/${pid}/${name}`, "utf8").replaceAll("\0", " ").trim(); } catch { return ""; } };
    const lines = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((pid) => [pid, read(pid, "cmdline")])
      .filter(([, words]) => words.includes(this.root))
      .map(([pid, words]) => `${pid} ${read(pid, "status").match(/State:\s*(.*)/)?.[1]} ${read(pid, "wchan")}: ${words.slice(0, 120)}`);
    return `covend.pid says ${this.daemonPid}; here are:\n${lines.join("\n")}`;
  }

  /// kill -9, and gone before it returns: our own child, and whoever serves the project if that was started by a
  /// verb. Tells how many died of it.
  async killDaemon(signal = "SIGKILL") {
    const child = this.daemon, pid = this.daemonPid;  // as they are now: a verb that waits may start the next one at once
    this.daemon = null;
    let died = 0;
    if (child) {
      child.kill(signal);
      const ended = await child.ended;
      died += ended.signal === signal || (signal !== "SIGKILL" && ended.code === 0) ? 1 : 0;
    }
    if (!pid || pid === child?.pid || !this.#isDaemon(pid)) return died;
    try { process.kill(pid, signal); } catch { return died; }
    await waitFor(() => !isAlive(pid), { every: 5, what: `daemon ${pid} is gone` });
    return died + 1;
  }

  /// The daemons of this project that there are, by whomever they were started.
  daemons() {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => this.#isDaemon(pid));
  }

  async restartDaemon() {
    await this.killDaemon();
    await this.startDaemon();
  }

  log() {
    const folder = this.path(".coven/log");
    if (!existsSync(folder)) return "";
    return readdirSync(folder).map((name) => {
      try { return readFileSync(join(folder, name), "utf8").slice(-4000); } catch { return ""; }
    }).join("\n");
  }

  pidIn(name) {
    try {
      return Number.parseInt(readFileSync(this.path(".coven", name), "utf8"), 10) || null;
    } catch {
      return null;
    }
  }
  get keeperPid() { return this.pidIn("keeper.pid"); }
  get daemonPid() { return this.pidIn("covend.pid"); }

  /// kill -9 to the keeper, and gone before it returns.
  async killKeeper() {
    const pid = this.keeperPid;
    if (!pid || !this.#isKeeper(pid)) throw new Error(`there is no keeper (${pid})`);
    process.kill(pid, "SIGKILL");
    await waitFor(() => !isAlive(pid), { every: 2, what: `keeper ${pid} is gone` });
  }

  /// The keeper of this project, if it lives: TERM, then KILL.
  async endKeeper() {
    const pid = this.keeperPid;
    if (!pid || !this.#isKeeper(pid)) return;
    const gone = () => !isAlive(pid);
    try {
      process.kill(pid, "SIGTERM");
      await waitFor(gone, { within: 3000 }).catch(() => process.kill(pid, "SIGKILL"));
      await waitFor(gone);
    } catch { /* gone between two looks */ }
  }

  // A pid file may be older than its process, and the number somebody else's by now: look before a signal.
  #isDaemon(pid) { return this.#isCru(pid, (words, folder) => words[1] === "daemon" && (folder === this.root || words.includes(this.root))); }
  #isKeeper(pid) { return this.#isCru(pid, (words) => words[1] === "keeper" && words.includes(this.root)); }
  #isCru(pid, matches) {
    try {
      if (readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, "") !== (this.cru_bin ?? cru_bin) || !isAlive(pid)) return false;
      return matches(readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0"), readlinkSync(`/proc/${pid}/cwd`));
    } catch {
      return false;
    }
  }
}
