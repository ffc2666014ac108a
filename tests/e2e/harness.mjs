// What the end-to-end tests stand on: a throw-away project with a real daemon, a client over the unix socket
// and TCP, an SSE reader with a cursor, the verbs, and waiting on conditions. Ends only what it started.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const here = dirname(fileURLToPath(import.meta.url));
export const repository = join(here, "../..");
export const cru_bin = realpathSync(process.env.CRU_BIN ?? join(repository, "build/test/cru"));
export { sleep };

/// Waits until `condition()` is truthy and gives its value back. An exception counts as not yet.
export async function waitFor(condition, { within = 30_000, every = 25, what = condition.toString() } = {}) {
  const end = Date.now() + within;
  let trouble;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value;
      trouble = undefined;
    } catch (error) {
      if (error.final) throw error;
      trouble = error;
    }
    if (Date.now() > end) throw new Error(`not within ${within} ms: ${what}${trouble ? ` (${trouble.message})` : ""}`);
    await sleep(every);
  }
}

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

/// The code of an error reply, whichever way it is wrapped.
export const codeOf = (body) => (typeof body?.error === "object" ? body.error.code : body?.code ?? body?.error);
export const messageOf = (body) => (typeof body?.error === "object" ? body.error.message : body?.message) ?? "";

/// One HTTP exchange. Never throws for a status; throws when there is no answer.
export function exchange(where, method, path, { body, headers = {}, timeout = 20_000, raw } = {}) {
  const text = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const request = http.request({
      ...where, method, path, agent: false, timeout,
      headers: { ...(text === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) }), ...headers },
    }, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        const got = Buffer.concat(parts).toString("utf8");
        let json;
        try { json = JSON.parse(got); } catch { /* not every reply is JSON */ }
        resolve({ status: response.statusCode, headers: response.headers, text: got, json });
      });
    });
    request.on("timeout", () => request.destroy(new Error(`no answer to ${method} ${path} within ${timeout} ms`)));
    request.on("error", reject);
    request.end(text);
  });
}

/// Reads GET /events for as long as it is wanted. Reconnects from the last event it saw, for ever.
/// `events` holds everything with a number, in the order of arrival; `frames` everything.
export class EventStream {
  constructor(where, { query = "", headers = {}, keep = true, each } = {}) {
    Object.assign(this, { where, query, headers, keep, each, events: [], frames: [], cursor: null, connections: 0, stopped: false });
    this.done = this.#follow();
  }

  async #follow() {
    while (!this.stopped) {
      await this.#once().catch(() => {});
      if (!this.stopped) await sleep(20);
    }
  }

  #once() {
    return new Promise((resolve) => {
      const resume = this.cursor === null ? {} : { "Last-Event-ID": String(this.cursor) };
      const request = http.request({
        ...(typeof this.where === "function" ? this.where() : this.where), path: `/events${this.query}`, agent: false,
        headers: { Accept: "text/event-stream", ...this.headers, ...resume },
      }, (response) => {
        this.status = response.statusCode;
        if (response.statusCode !== 200) {
          response.resume();
          response.on("close", resolve);
          return;
        }
        ++this.connections;
        response.setEncoding("utf8");
        let rest = "";
        response.on("data", (text) => {
          const whole = (rest + text).split("\n\n");
          rest = whole.pop();
          whole.forEach((frame) => this.#take(frame));
        });
        response.on("error", () => {});
        response.on("close", resolve);
      });
      this.request = request;
      request.on("error", resolve);
      request.end();
    });
  }

  #take(text) {
    const frame = { event: "message", id: null, data: "" };
    for (const line of text.split("\n")) {
      const at = line.indexOf(":");
      if (at === 0) continue;
      const [name, value] = [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
      if (name === "data") frame.data += value;
      else if (name in frame) frame[name] = value;
    }
    if (!frame.data) return;
    const body = JSON.parse(frame.data);
    const event = { id: frame.id === null ? null : Number(frame.id), type: frame.event, ...body };
    event.id = frame.id === null ? null : Number(frame.id);
    if (this.keep) this.frames.push(event);
    if (event.type === "state.snapshot") {
      if (this.cursor === null && event.id !== null) this.cursor = event.id;
      return;
    }
    if (event.id !== null) {
      this.cursor = event.id;
      if (event.type !== "heartbeat") {
        if (this.keep) this.events.push(event);
        this.each?.(event);
      }
    }
  }

  /// The lines of one run as the stream told them.
  lines(id) {
    return this.events.filter((event) => event.type === "agent.output" && entityOf(event) === id).flatMap((event) => event.data.lines ?? []);
  }

  async stop() {
    this.stopped = true;
    this.request?.destroy();
    await this.done;
  }
}

export const entityOf = (event) => event.entity_id ?? event.data?.task_id;

export class Project {
  /// A new folder with a daemon's configuration; nothing runs yet.
  constructor({ config = "", git = false, bin = [] } = {}) {
    this.root = mkdtempSync(join(realpathSync(tmpdir()), "cru-e2e-"));
    this.home = join(this.root, "..", `${this.root.split("/").at(-1)}-home`);
    mkdirSync(join(this.root, ".crucible"));
    mkdirSync(this.home);
    if (config) this.configure(config);
    this.env = {
      PATH: [...bin, process.env.PATH].join(":"), HOME: this.home, XDG_CONFIG_HOME: join(this.home, ".config"), XDG_STATE_HOME: join(this.home, ".state"),
      LANG: "C.UTF-8", TERM: "dumb", NO_COLOR: "1", TMPDIR: tmpdir(),
      ASAN_OPTIONS: "detect_leaks=0:abort_on_error=1", UBSAN_OPTIONS: "print_stacktrace=1",
    };
    this.socket = join(this.root, ".coven/covend.sock");
    this.streams = [];
    this.children = new Set();
    if (git) {
      const run = (...argv) => {
        const { status, stderr } = spawnSync("git", argv, { cwd: this.root, env: { ...this.env, GIT_CONFIG_NOSYSTEM: "1" }, encoding: "utf8" });
        if (status) throw new Error(stderr);
      };
      writeFileSync(join(this.root, "README"), "a project\n");
      run("init", "-q", "-b", "trunk");
      run("add", "README");
      run("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "first");
    }
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

  path(...parts) {
    return join(this.root, ...parts);
  }

  // ---- processes
  /// What a person sees: the verb on a terminal of its own.
  async onTerminal(...args) {
    const words = [cru_bin, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const child = this.spawn(["-qec", words, "/dev/null"], { argv0: "script", env: { TERM: "xterm-256color", NO_COLOR: "" } });
    return child.ended;
  }

  spawn(args, { env = {}, cwd = this.root, stdio = ["ignore", "pipe", "pipe"], argv0 = cru_bin } = {}) {
    const child = spawn(argv0, args, { cwd, env: { ...this.env, ...env }, stdio });
    child.text = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name]?.setEncoding("utf8").on("data", (text) => { child.text[name] += text; });
    child.ended = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal, ...child.text })));
    child.on("error", () => {});
    this.children.add(child);
    child.ended.then(() => this.children.delete(child));
    return child;
  }

  /// Runs a verb to its end: {code, stdout, stderr}.
  async cru(...args) {
    const options = typeof args.at(-1) === "object" ? args.pop() : {};
    const child = this.spawn(args, { ...options, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.on("error", () => {});
    child.stdin.end(options.input ?? "");
    const timer = setTimeout(() => child.kill("SIGKILL"), options.within ?? 60_000);
    const result = await child.ended;
    clearTimeout(timer);
    if (result.signal === "SIGKILL") throw new Error(`cru ${args.join(" ")} did not end:\n${result.stdout}${result.stderr}`);
    return result;
  }

  /// A daemon as our own child, so that it can be killed by its exact pid. Waits until it answers.
  async startDaemon({ wait = true, env = {} } = {}) {
    this.daemon = this.spawn(["daemon", "run"], { env });
    if (wait) await this.ready();
    return this.daemon;
  }

  async ready() {
    const daemon = this.daemon;
    await waitFor(async () => {
      // A verb that waits on a killed daemon starts it again, and may have been quicker than we were.
      if (daemon?.exitCode === 1 && /running already/.test(daemon.text.stderr)) this.daemon = null;
      else if (daemon && daemon.exitCode !== null) throw Object.assign(new Error(`the daemon ended (${daemon.exitCode}): ${daemon.text.stderr}`), { final: true });
      return (await this.get("/health", { timeout: 2000 })).status === 200;
    }, { what: "the daemon answers" }).catch((error) => {
      throw new Error(`${error.message}\n${daemon?.text.stderr ?? ""}\n${this.log()}`);
    });
  }

  /// kill -9, and gone before it returns.
  async killDaemon(signal = "SIGKILL") {
    const daemon = this.daemon;
    this.daemon = null;
    if (daemon) {
      daemon.kill(signal);
      return daemon.ended;
    }
    const pid = this.daemonPid;
    if (!pid || !this.#isOurs(pid)) return;
    process.kill(pid, signal);
    await waitFor(() => !isAlive(pid), { within: 5000 });
  }

  async restartDaemon() {
    await this.killDaemon();
    await this.startDaemon();
  }

  log() {
    const folder = this.path(".coven");
    if (!existsSync(folder)) return "";
    return readdirSync(folder).filter((name) => /log/.test(name)).map((name) => {
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

  // ---- the API
  get unix() { return { socketPath: this.socket }; }
  get tcp() {
    const url = new URL(readFileSync(this.path(".coven/url"), "utf8").trim());
    return { host: url.hostname, port: Number(url.port) };
  }
  get url() { return new URL(readFileSync(this.path(".coven/url"), "utf8").trim()).origin; }
  get token() { return readFileSync(this.path(".coven/token"), "utf8").trim(); }

  get(path, options) { return exchange(this.unix, "GET", path, options); }
  post(path, body = {}, options = {}) { return exchange(this.unix, "POST", path, { body, ...options }); }

  async start(id, argv, more = {}) {
    const reply = await this.post(`/tasks/${id}/start`, { argv, ...more });
    if (reply.status !== 201) throw new Error(`start ${id}: ${reply.status} ${reply.text}`);
    return reply.json;
  }
  sh(id, script, more) { return this.start(id, ["sh", "-c", script], more); }

  async run(id) {
    const reply = await this.get(`/agents/${id}`);
    if (reply.status !== 200) throw new Error(`run ${id}: ${reply.status} ${reply.text}`);
    return reply.json;
  }
  ended(id, within = 30_000) {
    return waitFor(async () => {
      const run = await this.run(id);
      return ["completed", "failed", "killed"].includes(run.status) && run;
    }, { within, what: `run ${id} ends` });
  }
  /// All output through the API, page after page.
  async output(id, { since = 0, limit = 1000 } = {}) {
    const lines = [];
    for (;;) {
      const { status, json, text } = await this.get(`/agents/${id}/output?since=${since}&limit=${limit}`);
      if (status !== 200) throw new Error(`output of ${id}: ${status} ${text}`);
      lines.push(...json.lines);
      if (!json.lines.length || !json.more) return lines;
      since = json.last_seq;
    }
  }
  outputWith(id, text) {
    return waitFor(async () => (await this.output(id)).some(({ data }) => data.includes(text)), { what: `run ${id} prints ${text}` });
  }
  file(id) { return this.path(".coven/output", `${id}.jsonl`); }
  fileLines(id) {
    return readFileSync(this.file(id), "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }
  async questions(query = "") {
    return (await this.get(`/questions${query}`)).json.questions;
  }
  pendingQuestion(id) {
    return waitFor(async () => (await this.questions(`?task_id=${id}&pending=true`))[0], { what: `run ${id} asks` });
  }
  async events(query = "") {
    const { status, json, text } = await this.get(`/events${query}`);
    if (status !== 200) throw new Error(`events: ${status} ${text}`);
    return Array.isArray(json) ? json : json.events;
  }
  stream(options) {
    const stream = new EventStream(this.unix, options);
    this.streams.push(stream);
    return stream;
  }

  // ---- the end
  async close() {
    await Promise.all(this.streams.map((stream) => stream.stop()));
    for (const child of this.children) if (child !== this.daemon) child.kill("SIGKILL");
    await this.killDaemon();
    // The keeper first, and its runs with it: a verb waiting inside a run would have the daemon started again.
    // By the pid in this project's own files, and only if it is cru.
    await this.#end(this.keeperPid, 3000);
    for (const pid of processesWith(`CRU_PROJECT=${this.root}`)) {
      try { process.kill(pid, "SIGKILL"); } catch { /* gone */ }
    }
    await this.#end(this.daemonPid, 5000);
    rmSync(this.home, { recursive: true, force: true });
    for (let left = 5; left > 0; --left) {
      try {
        rmSync(this.root, { recursive: true, force: true });
        return;
      } catch {
        await sleep(100);
      }
    }
  }

  async #end(pid, within) {
    if (!pid || !this.#isOurs(pid)) return;
    const gone = () => !isAlive(pid);
    try {
      process.kill(pid, "SIGTERM");
      await waitFor(gone, { within }).catch(() => process.kill(pid, "SIGKILL"));
      await waitFor(gone, { within: 5000 });
    } catch { /* gone between two looks */ }
  }

  #isOurs(pid) {
    try {
      return readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, "") === cru_bin;
    } catch {
      return false;
    }
  }
}

/// The bytes of one stream of an output log, as docs/formats/output.md gives them back.
export function bytesOf(lines, stream) {
  return Buffer.concat(lines.filter((line) => line.stream === stream).flatMap((line) => [
    line.raw === undefined ? Buffer.from(line.data, "utf8") : Buffer.from(line.raw, "base64"),
    line.eol === false ? Buffer.alloc(0) : Buffer.from("\n"),
  ]));
}

/// A small seeded generator: the same seed, the same kill times.
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
