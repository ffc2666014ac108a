// What the end-to-end tests stand on: a throw-away project with a real daemon. Its parts are in harness/: the client
// (client.mjs), the reader of events (sse.mjs), the processes (processes.mjs), waiting (basics.mjs).
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep, witnesses } from "./harness/basics.mjs";
import { Processes, processesWith } from "./harness/processes.mjs";
import { EventStream } from "./harness/sse.mjs";

export { age, Agent, changeDatabase, holdDatabase, moveAway, stateOf } from "./harness/agents.mjs";
export * from "./harness/basics.mjs";
export { bytesOf, codeOf, exchange, messageOf } from "./harness/client.mjs";
export { isAlive, noneLeft, processesWith } from "./harness/processes.mjs";
export { entityOf, EventStream } from "./harness/sse.mjs";

/// A port that stays the same over restarts, so that an open page finds its daemon again. Not one of those that the system
/// gives to whoever asks: while the daemon is away nobody takes it.
export async function fixedPort() {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000);
    const server = net.createServer();
    const is_free = await new Promise((done) => server.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true)));
    if (!is_free) continue;
    await new Promise((closed) => server.close(closed));
    return port;
  }
}

export class Project extends Processes {
  /// A new folder with a daemon's configuration; nothing runs yet. `config` is the project's own, `user_config` the person's.
  constructor({ config = "", user_config = "", git = false, bin = [] } = {}) {
    const root = mkdtempSync(join(realpathSync(tmpdir()), "cru-e2e-"));
    const home = `${root}-home`;
    super(root, {
      PATH: [...bin, process.env.PATH].join(":"), HOME: home, XDG_CONFIG_HOME: join(home, ".config"), XDG_STATE_HOME: join(home, ".state"),
      LANG: "C.UTF-8", TERM: "dumb", NO_COLOR: "1", TMPDIR: tmpdir(),
      // Without the stacks of allocations a process starts a quarter faster; an error still tells where it was.
      ASAN_OPTIONS: "detect_leaks=0:abort_on_error=1:malloc_context_size=0", UBSAN_OPTIONS: "print_stacktrace=1",
    });
    this.home = home;
    this.streams = [];
    this.guests = new Set();
    mkdirSync(join(root, ".crucible"));
    mkdirSync(join(home, ".config/crucible"), { recursive: true });
    if (config) this.configure(config);
    // Whether agents can be confined is the machine's: only tests about that are confined.
    writeFileSync(join(home, ".config/crucible/config.yaml"), /^confine:/m.test(user_config) ? user_config : `confine: off\n${user_config}`);
    if (git) {
      writeFileSync(join(root, "README"), "a project\n");
      this.git("init", "-q", "-b", "trunk");
      this.git("add", "README");
      this.git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "first");
    }
  }

  /// As a person who has looked at it: trusts all that the project brings, exactly as it is now.
  async trust() {
    const { waiting } = (await this.get("/trust")).json;
    const items = Object.fromEntries(waiting.filter(({ state }) => state !== "refused").map(({ path, sha256 }) => [path, sha256]));
    if (!Object.keys(items).length) return;
    const { status, text } = await this.post("/trust", { items });
    if (status !== 200) throw new Error(`trust: ${status} ${text}`);
  }

  /// A daemon of a project that is trusted, unless `trusted` is false.
  async startDaemon({ trusted = true, ...options } = {}) {
    const daemon = await super.startDaemon(options);
    if (trusted && options.wait !== false) await this.trust();
    return daemon;
  }

  static async started(options, test) {
    const project = new Project(options);
    test?.after(() => project.close());
    await project.startDaemon();
    return project;
  }

  configure(yaml) {
    writeFileSync(join(this.root, ".crucible/config.yaml"), yaml);
  }

  git(...argv) {
    const { status, stdout, stderr } = spawnSync("git", argv, { cwd: this.root, env: { ...this.env, GIT_CONFIG_NOSYSTEM: "1" }, encoding: "utf8" });
    if (status) throw new Error(`git ${argv.join(" ")}: ${stderr}`);
    return stdout;
  }

  stream(options) {
    const stream = new EventStream(this.unix, options);
    this.streams.push(stream);
    return stream;
  }

  async close() {
    await Promise.all(this.streams.map((stream) => stream.stop()));
    // Those who say good-bye, while there is somebody to say it to: `cru mcp` waits a second for an answer.
    await Promise.all([...this.guests].map((guest) => guest.close().catch(() => {})));
    for (const child of this.children) if (child !== this.daemon) child.kill("SIGKILL");
    await this.killDaemon();
    // The keeper first, and its runs with it: a verb waiting inside a run would have the daemon started again.
    await this.endKeeper();
    for (const pid of processesWith(`CRU_PROJECT=${this.root}`)) {
      try { process.kill(pid, "SIGKILL"); } catch { /* gone */ }
    }
    await this.killDaemon("SIGTERM");
    // One that a verb has started just now may still wait for the lock of the one that was killed.
    for (const pid of this.daemons()) {
      try { process.kill(pid, "SIGKILL"); } catch { /* gone */ }
    }
    witnesses.delete(this.testimony);
    // A verb that is just ending, or a daemon that it started, may still write there.
    rmSync(this.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    for (let left = 5; left > 0; --left) {
      try {
        if (!process.env.CRU_E2E_KEEP) rmSync(this.root, { recursive: true, force: true });
        return;
      } catch {
        await sleep(100);
      }
    }
  }
}
