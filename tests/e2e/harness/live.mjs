// Live agents: a WebSocket as a client holds it, a project whose agents live fast, and minds that decide what a test says.
import { spawnSync } from "node:child_process";
import WebSocket from "ws";
import { ModelServer } from "../fixtures/model_server.mjs";
import { inTime } from "./basics.mjs";
import { Crew } from "./crew.mjs";

/// No message may be longer: Godot 3 takes no more.
export const longest_message = 60_000;

const told = (message) => JSON.stringify(message)?.slice(0, 200);

/// A connection to /ws. `messages` holds all that came, in order, each with `at` (when it came); `bytes` their lengths.
export class LiveSocket {
  messages = [];
  bytes = [];
  closed = null;
  #waiting = new Set();
  #asked = 0;

  /// Connects; `query` beside the token, `headers` as they are. Rejects with `status` where there is no 101.
  static open(project, { query = {}, token = project.key ?? project.token, headers = {}, path = "/ws" } = {}) {
    const { host, port } = project.tcp;
    const words = new URLSearchParams({ ...(token === null ? {} : { token }), ...query });
    const socket = new LiveSocket(new WebSocket(`ws://${host}:${port}${path}?${words}`, { headers, perMessageDeflate: false }));
    return new Promise((resolve, reject) => {
      socket.ws.once("open", () => resolve(socket)).once("error", reject);
      socket.ws.once("unexpected-response", (request, response) => {
        response.resume();
        reject(Object.assign(new Error(`no 101 but ${response.statusCode}`), { status: response.statusCode, headers: response.headers }));
        request.destroy();
      });
    });
  }

  constructor(ws) {
    this.ws = ws;
    ws.on("error", () => {});
    ws.on("message", (data, is_binary) => {
      this.bytes.push(data.length);
      this.messages.push({ ...JSON.parse(data.toString("utf8")), at: Date.now(), ...(is_binary ? { is_binary } : {}) });
      this.#wake();
    });
    ws.on("close", (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.#wake();
    });
  }

  #wake() {
    const all = [...this.#waiting];
    all.forEach((look) => look());
  }

  /// Where the messages are now: for `from`.
  get mark() { return this.messages.length; }

  /// The first message that fits, of those that came already (from `from` on) or will. Fits: a predicate, or its type.
  waitFor(fits, { from = 0 } = {}) {
    const is = typeof fits === "string" ? ({ type }) => type === fits : fits;
    let next = from;
    return this.until(() => {
      while (next < this.messages.length) {
        const message = this.messages[next++];
        if (is(message)) return message;
      }
      return undefined;
    }, { what: String(fits) });
  }

  /// Waits until `condition()` is truthy, looked at whenever a message comes; gives its value.
  until(condition, { what = String(condition) } = {}) {
    const now = condition();
    if (now) return Promise.resolve(now);
    const lately = () => `the last of ${this.messages.length}:\n${this.messages.slice(-12).map(told).join("\n")}`;
    let look;
    const seen = new Promise((resolve, reject) => {
      look = () => {
        const value = condition();
        if (value) resolve(value);
        else if (this.closed) reject(new Error(`closed (${this.closed.code} ${this.closed.reason}): ${what}\n${lately()}`));
      };
      this.#waiting.add(look);
    });
    return inTime(seen, what, lately).finally(() => this.#waiting.delete(look));
  }

  send(message) { this.ws.send(typeof message === "string" || Buffer.isBuffer(message) ? message : JSON.stringify(message)); }

  /// Sends a request and gives its answer, the message with its request_id; an error is an answer.
  ask(message) {
    const request_id = `q${++this.#asked}`;
    const from = this.mark;
    this.send({ ...message, request_id });
    return this.waitFor((answer) => answer.request_id === request_id, { from });
  }

  /// Asks, and the answer must be of this type.
  async must(type, message) {
    const answer = await this.ask(message);
    if (answer.type !== type) throw new Error(`${told(answer)} instead of ${type} to ${told(message)}`);
    return answer;
  }

  of(type, fits = () => true) { return this.messages.filter((message) => message.type === type && fits(message)); }

  /// Messages that tell of an event, in the order they came.
  get deltas() { return this.messages.filter(({ type, seq }) => seq !== undefined && !["world_snapshot", "heartbeat", "log_truncated"].includes(type)); }
  get cursor() { return Math.max(...this.messages.map(({ seq }) => seq ?? -1)); }

  /// What is wrong with what came: numbers that do not rise, messages that are too long.
  problems() {
    const { deltas } = this;
    const wrong = deltas.slice(1).flatMap(({ seq, type }, n) => (seq > deltas[n].seq ? [] : [`${type} ${seq} after ${deltas[n].type} ${deltas[n].seq}`]));
    return [...wrong, ...this.bytes.filter((size) => size > longest_message).map((size) => `a message of ${size} bytes`)];
  }

  /// The first snapshot that came from `from` on, its pages put together.
  async snapshot({ from = 0 } = {}) {
    const first = await this.waitFor(({ type, page }) => type === "world_snapshot" && page === 1, { from });
    const start = this.messages.indexOf(first);
    await this.waitFor(({ type, page, pages }) => type === "world_snapshot" && page === pages, { from: start });
    const pages = this.messages.slice(start).filter(({ type }) => type === "world_snapshot").slice(0, first.pages);
    return { ...first, agents: pages.flatMap(({ agents }) => agents), all_pages: pages };
  }

  /// The state updates of an agent from `from` on, as a list of states.
  states(agent_id, from = 0) {
    return this.messages.slice(from).filter((message) => message.type === "agent_state_update" && message.agent_id === agent_id).map(({ state }) => state);
  }
  state(agent_id, state, options) {
    return this.waitFor((message) => message.type === "agent_state_update" && message.agent_id === agent_id && message.state === state, options);
  }

  async close() {
    if (this.closed) return;
    this.ws.resume();
    this.ws.close();
    const timer = setTimeout(() => this.ws.terminate(), 2000);
    await this.until(() => this.closed).catch(() => {});
    clearTimeout(timer);
  }
}

/// How agents of the tests live: everything is quick, and nobody thinks by himself for an hour unless `idle` says so.
export const quick = { idle_time: "1h", listening_time: "50ms", min_speech_time: "100ms", speech_per_character: "1ms", scripted_delay: "20ms" };

/// Minds that decide what a test says, behind a real model server: a queue by the agent's name, and `wait` when it is empty.
/// A decision is an object, the words themselves, or a function of the request (which may wait).
export class Minds {
  #next = new Map();

  static async start(test) {
    const minds = new Minds();
    minds.server = await ModelServer.start({}, test);
    minds.server.script((request) => minds.#reply(request));
    return minds;
  }

  decide(name, ...decisions) {
    this.#next.set(name, [...(this.#next.get(name) ?? []), ...decisions]);
    return this;
  }

  /// What was asked for this agent: the requests, oldest first.
  thoughts(name) { return this.server.requests.filter(({ system }) => system?.includes(JSON.stringify(name))); }
  thought(name, n = 1) { return this.server.when(() => this.thoughts(name).length >= n).then(() => this.thoughts(name)[n - 1]); }

  async #reply(request) {
    const [, queue] = [...this.#next].find(([name]) => request.system.includes(JSON.stringify(name))) ?? [];
    let decision = queue?.length ? queue.shift() : { action: "wait", reason: "nothing to do" };
    if (typeof decision === "function") decision = (await decision(request)) ?? { action: "wait" };
    return { text: typeof decision === "string" ? decision : JSON.stringify(decision) };
  }
}

/// Plays a scene that must be over before one of the program's own times is, with longer and longer ones: `scene(time)` says
/// whether it was. What is asserted in it holds whatever the machine; only how long it takes does not.
export async function inMoreTime(times, scene) {
  for (const time of times) if (await scene(time)) return;
  throw new Error(`not even ${times.at(-1)} was long enough`);
}

/// A gate that a mind can wait at.
export function gate() {
  let open;
  const wait = new Promise((resolve) => { open = resolve; });
  return { wait, open };
}

export class Live extends Crew {
  sockets = [];

  /// `live`: keys of the section, over `quick`; null: the program's own. `minds`: of Minds, as the model "test-model".
  constructor({ live = {}, minds, settings = {}, user_settings = {}, models = {}, ...more } = {}) {
    super({
      ...more,
      user_settings: { ...user_settings, ...(live === null ? {} : { live: { paid_idle_time: "100ms", ...user_settings.live } }) },
      settings: { ...settings, ...(live === null ? {} : { live: { ...quick, ...live } }) },
      models: { ...models, ...(minds ? { "test-model": { provider: "openai", id: "model-1" } } : {}) },
      ...(minds ? { server: minds.server } : {}),
    });
    this.mind = minds ? { cli_backend: "test-model" } : {};
  }

  static async started(options, test) {
    const live = new Live(options);
    test?.after(() => live.close());
    await live.startDaemon();
    return live;
  }

  async connect(options) {
    const socket = await LiveSocket.open(this, options);
    this.sockets.push(socket);
    return socket;
  }

  /// An agent by the socket: its id. Without a cli_backend it thinks with the tests' minds, if there are any.
  async bring(socket, config = {}) {
    const { agent_id } = await socket.must("agent_spawned", { type: "agent_spawn_request", agent_config: { ...this.mind, ...config } });
    return agent_id;
  }

  async agent(id) { return this.must(200, this.get(`/live/${id}`)); }
  async conversation(id) { return (await this.must(200, this.get(`/live/${id}/conversation?limit=500`))).messages.reverse(); }
  async tasks(id) { return (await this.must(200, this.get(`/live/${id}/tasks`))).tasks; }
  async states(id) { return (await this.must(200, this.get(`/live/${id}/states?limit=500`))).states.reverse(); }

  /// All that the daemon has logged, wherever it does.
  async logged() { return `${(await this.cru("daemon", "logs")).stdout}\n${this.daemon?.text.stderr ?? ""}`; }

  /// Rows of the database, read without a change to it.
  sql(text) {
    const { status, stdout, stderr } = spawnSync("sqlite3", ["-readonly", "-json", "-cmd", ".timeout 240000", this.path(".coven/coven.db"), text], { encoding: "utf8" });
    if (status) throw new Error(`sqlite3: ${stderr}`);
    return stdout.trim() ? JSON.parse(stdout) : [];
  }

  async close() {
    await Promise.all(this.sockets.map((socket) => socket.close()));
    await super.close();
  }
}
