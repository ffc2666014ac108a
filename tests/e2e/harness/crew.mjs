// A project with agents, minds and chats: what is configured for it, chats by HTTP with their events, the folders they leave.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Project } from "../harness.mjs";
import { here, waitFor } from "./basics.mjs";
import { toMarkdown, toYaml } from "./frontmatter.mjs";
import { checkSessionFolder } from "./session_folder.mjs";

export { parseMarkdown, toMarkdown, toYaml } from "./frontmatter.mjs";
export { checkSessionFolder, linksIn, problemsOf, readSessionFolder } from "./session_folder.mjs";

export const key = "sk-test-0123456789";
const asText = (value) => (typeof value === "string" ? value : toYaml(value));

/// Where models come from when `server` (a ModelServer) serves both APIs.
const servedBy = (server) => (server ? { anthropic: { base_url: server.url }, openai: { base_url: server.url } } : {});

/// "primary" stands for the scripted model of .crucible/scripts/primary.yaml.
const asModel = (model) => (typeof model === "string" ? { provider: "scripted", script: `.crucible/scripts/${model}.yaml` } : model);

export class Crew extends Project {
  /// `models`: {sonnet: "SCRIPT" | {provider, id, script, prices}} and `settings` (an object): the project's configuration.
  /// `server`, `providers`, `user_settings`: the person's. `scripts`: {NAME: script}. `agents`, `user_agents`: {NAME: text, or
  /// {description, permissions, model, …, prompt}}. `keys`: {provider: key}, each a 0600 file; of `server` if left out.
  /// `notes`: {path: text}. `standin`: a scenario of fixtures/standin.mjs; {} for the stand-ins alone. `env`: of the daemon.
  constructor({ models = {}, settings = {}, server, providers = {}, user_settings = {}, scripts = {}, agents = {}, user_agents = {}, keys = server ? { anthropic: key, openai: key } : {}, notes = {}, standin, env = {}, bin = [], git } = {}) {
    const known = Object.fromEntries(Object.entries(models).map(([name, model]) => [name, asModel(model)]));
    const config = { ...settings, ...(Object.keys(known).length ? { models: known } : {}) };
    const all = servedBy(server);
    for (const [name, more] of Object.entries(providers)) all[name] = { ...all[name], ...more };
    const person = { ...user_settings, ...(Object.keys(all).length ? { providers: all } : {}) };
    const written = (value) => (Object.keys(value).length ? toYaml(value) : "");
    super({ config: written(config), user_config: written(person), git, bin: standin ? [join(here, "fixtures/bin"), ...bin] : bin });
    Object.assign(this.env, env);
    for (const [name, script] of Object.entries(scripts)) this.write(`.crucible/scripts/${name}.yaml`, asText(script));
    for (const [name, agent] of Object.entries(agents)) this.define(name, agent);
    for (const [name, agent] of Object.entries(user_agents)) this.define(name, agent, this.config_home);
    for (const [name, secret] of Object.entries(keys)) this.giveKey(name, secret);
    for (const [path, text] of Object.entries(notes)) this.write(path, text);
    if (standin) this.follow(standin);
  }

  static async started(options, test) {
    const crew = new Crew(options);
    test?.after(() => crew.close());
    await crew.startDaemon();
    return crew;
  }

  get config_home() { return join(this.env.XDG_CONFIG_HOME, "crucible"); }

  write(path, text) {
    const file = this.path(path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  /// A definition, in the project's .crucible or in the person's folder; its file.
  define(name, agent, home = this.path(".crucible")) {
    const file = join(home, "agents", `${name}.md`);
    mkdirSync(dirname(file), { recursive: true });
    const { prompt = `You are ${name}.`, ...front } = typeof agent === "string" ? {} : agent;
    writeFileSync(file, typeof agent === "string" ? agent : toMarkdown({ name, description: `The ${name} of the tests`, permissions: ["FilesystemRead", "SemanticSearch"], ...front }, prompt));
    return file;
  }

  giveKey(provider, secret, mode = 0o600) {
    const file = join(this.config_home, "keys", provider);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, `${secret}\n`, { mode });
    chmodSync(file, mode);
    return file;
  }

  /// What the stand-ins do from now on; `starts` tells how they were started.
  follow(standin) {
    writeFileSync(join(this.home, "standin.json"), JSON.stringify({ log: join(this.home, "standin.log"), ...standin }));
  }
  starts(program) {
    const file = join(this.home, "standin.log");
    const all = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line)) : [];
    return all.filter((start) => !program || start.program === program);
  }

  /// A reply that must be this status.
  async must(status, reply) {
    const got = await reply;
    if (got.status !== status) throw new Error(`${got.status} instead of ${status}: ${got.text}`);
    return got.json;
  }

  chat(options, more) { return Chat.begin(this, options, more); }
  async chats(query = "") { return (await this.must(200, this.get(`/chats${query}`))).chats; }

  /// spawn_agent by HTTP: {agent, task, permissions?, model?, wait_seconds?}; never throws for a refusal.
  spawnAgent(input, options) { return this.post("/subagents", { wait_seconds: 0, ...input }, options); }
  subagentOver(task_id) {
    return waitFor(async () => {
      const subagent = await this.must(200, this.get(`/subagents/${task_id}?wait_seconds=1`));
      return ["completed", "failed", "cancelled"].includes(subagent.status) && subagent;
    }, { what: `the subagent ${task_id} is done` });
  }

  /// Where a chat's files are, from its record.
  folderOf({ id, folder = id }) { return this.path(".crucible/sessions", basename(folder)); }
}

/// A chat and what is told of it. Events are kept from before its beginning, each with `seen`, when it arrived.
export class Chat {
  constructor(crew, stream) {
    Object.assign(this, { crew, stream, mark: 0 });
  }

  static async #listening(crew, query = "") {
    const stream = crew.stream({ query, each: (event) => { event.seen = Date.now(); } });
    await waitFor(() => stream.cursor !== null, { every: 5, what: "the events are heard" });
    return new Chat(crew, stream);
  }

  /// POST /chats {agent?, model?, message?, title?}; with a message, and unless `wait` is false, until the turn is over.
  static async begin(crew, options = {}, { wait = true, headers = {} } = {}) {
    const chat = await Chat.#listening(crew);
    chat.started = await crew.must(201, crew.post("/chats", options, { headers }));
    chat.id = chat.started.id;
    if (options.message && wait) await chat.idle();
    return chat;
  }

  /// One that exists already, as another client sees it.
  static async joined(crew, id) {
    return Object.assign(await Chat.#listening(crew), { id });
  }

  get path() { return `/chats/${encodeURIComponent(this.id)}`; }

  /// Says something; its reply is what POST answered, unless `wait` is false after the turn.
  async say(text, { wait = true } = {}) {
    this.mark = this.stream.events.length;
    const reply = await this.crew.must(202, this.crew.post(`${this.path}/messages`, { text }));
    if (wait) await this.idle();
    return reply;
  }

  /// Events of this chat and its subagents, in order; of these types, if any are named.
  events(...types) {
    return this.stream.events.filter(({ type, data, entity_id }) => (data?.chat_id ?? entity_id) === this.id && (!types.length || types.includes(type)));
  }
  heard(type, fits = () => true) {
    return waitFor(() => this.events(type).find(({ data }) => fits(data)), { every: 5, what: `${type} of ${this.id}: ${fits}` });
  }

  /// Waits until the turn that was begun last is over: the data of its chat.turn, with `error` if it failed.
  async idle() {
    const told = () => this.stream.events.slice(this.mark).findLast(({ type, data }) => type === "chat.turn" && data.chat_id === this.id);
    const last = await waitFor(() => { const event = told(); return event?.data.turn === "idle" && event; }, { every: 5, what: `the turn of ${this.id} is over` })
      .catch((error) => { throw new Error(`${error.message}\n${this.events().slice(-10).map(({ type, data }) => `${type} ${JSON.stringify(data).slice(0, 300)}`).join("\n")}`); });
    return last.data;
  }

  /// The pieces of entry `n` as they were streamed, since it last began again.
  streamed(n, task_id = null) {
    let text = "";
    for (const { type, data } of this.events("chat.text", "chat.restarted")) {
      if ((data.n ?? n) !== n || (data.task_id ?? null) !== task_id) continue;
      text = type === "chat.restarted" ? "" : text + data.text;
    }
    return text;
  }

  record(query = "") { return this.crew.must(200, this.crew.get(`${this.path}${query}`)); }
  /// Every entry, page after page.
  async entries() {
    const all = [];
    for (;;) {
      const { entries, more } = await this.record(`?after=${all.at(-1)?.n ?? 0}`);
      all.push(...entries);
      if (!more || !entries.length) return all;
    }
  }
  /// What the primary agent said last.
  async answer() { return (await this.entries()).findLast(({ role }) => role === "assistant")?.text; }

  cancel() { return this.crew.must(200, this.crew.post(`${this.path}/cancel`)); }
  end() { return this.crew.must(200, this.crew.post(`${this.path}/end`)); }
  get folder() { return this.crew.folderOf({ id: this.id, folder: this.started?.folder }); }
  /// Its folder, checked.
  files(options) { return checkSessionFolder(this.folder, options); }
}
