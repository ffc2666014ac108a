// A fake daemon, for what a real one does not do at will: the page's own files, an empty project, and
// the socket /ws of docs/formats/websocket.md, whose words a test chooses.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { WebSocketServer } from "ws";
import { repository } from "./basics.mjs";

const policy = readFileSync(join(repository, "src/edges/http/assets.cc"), "utf8").match(/content_security_policy =\s*((?:"[^"]*"\s*)+);/)[1].replace(/"\s*"|^"|"\s*$/g, "");

/// The page as web/build.mjs makes it, by path.
function buildPage() {
  const out = mkdtempSync(join(tmpdir(), "cru-page-"));
  try {
    const { status, stderr } = spawnSync(process.execPath, [join(repository, "web/build.mjs"), out], { encoding: "utf8" });
    if (status) throw new Error(`web/build.mjs: ${stderr}`);
    const rows = readFileSync(join(out, "web_assets.cc"), "utf8").matchAll(/\{"([^"]+)", "([^"]+)", .*cru_web_(\d+), cru_web_plain_\d+\}/g);
    return new Map([...rows].map(([, path, type, i]) => [path, { type, bytes: gunzipSync(readFileSync(join(out, `asset${i}.gz`))) }]));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

const lists = {
  "/sessions": { agents: [] }, "/locks": { result: [] }, "/work": { work: [] }, "/handoffs": { handoffs: [] }, "/chats": { chats: [] }, "/subagents": { subagents: [] },
  "/definitions": { agents: [{ name: "explorer", description: "looks around" }] }, "/definitions/validate": { problems: [] }, "/minds": { minds: [{ provider: "scripted", kind: "scripted", works: true }], models: ["small"], default_model: "small" },
};

export class FakeWorld {
  clients = new Set();
  listeners = new Set();
  /// What clients asked, with `since` for each connection.
  asked = [];
  connections = [];
  agents = new Map();
  seq = 0;
  logged = 0;
  is_away = false;

  static async started(options, test) {
    const world = new FakeWorld(options);
    await new Promise((ready) => world.server.listen(0, "127.0.0.1", ready));
    world.url = `http://127.0.0.1:${world.server.address().port}`;
    test.after(() => world.close());
    return world;
  }

  constructor({ layout, answer = {} }) {
    this.layout = layout;
    this.answer = answer;
    this.page = buildPage();
    this.server = createServer((request, response) => this.serve(request, response));
    this.sockets = new WebSocketServer({ noServer: true, maxPayload: 65536 });
    this.server.on("upgrade", (request, socket, head) => {
      if (this.is_away) return socket.destroy();
      this.sockets.handleUpgrade(request, socket, head, (client) => this.connect(client, new URL(request.url, this.url)));
    });
  }

  serve(request, response) {
    if (this.is_away) return request.destroy();
    const { pathname } = new URL(request.url, this.url);
    const file = this.page.get(pathname);
    if (file) return response.writeHead(200, { "Content-Type": file.type, "Content-Security-Policy": policy }).end(file.bytes);
    if (pathname === "/events" && request.headers.accept === "text/event-stream") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      this.listeners.add(response);
      response.on("close", () => this.listeners.delete(response));
      return response.write('event: state.snapshot\nid: 1\ndata: {"type":"state.snapshot","data":{"agents":[],"questions":[]}}\n\n');
    }
    if (pathname === "/pairings/redeem") {
      request.resume();
      return response.writeHead(201, { "Content-Type": "application/json" }).end(JSON.stringify({ id: "place-1", key: "secret" }));
    }
    const body = pathname === "/crew" ? { crew: this.crew(), more: false } : pathname === "/world/say" ? { message_id: "m", recipients: [...this.agents.keys()] } : lists[pathname] ?? [];
    request.resume();
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  }

  /// The live agents as members.
  crew() {
    return [...this.agents.values()].map(({ agent_id, name, role, state, error, since }) => ({
      id: `m-${agent_id}`, name, kind: "script", badge: error ? "failed" : state, since, evidence: error, doing: role, ended_at: null, facets: { run: null, session: null, thread: null, body: agent_id },
    }));
  }

  connect(client, address) {
    const since = Number(address.searchParams.get("since") ?? 0);
    this.connections.push({ since, token: address.searchParams.get("token") });
    this.clients.add(client);
    client.on("close", () => this.clients.delete(client));
    client.on("message", (text) => this.hear(client, JSON.parse(String(text))));
    if (!since || since > this.seq) this.snapshot(client);
    else for (const message of this.told.filter(({ seq }) => seq > since)) client.send(JSON.stringify(message));
  }

  told = [];

  snapshot(client) {
    const agents = [...this.agents.values()];
    const pages = Math.max(1, Math.ceil(agents.length / 2));
    for (let page = 1; page <= pages; ++page) {
      const first = page === 1 ? { layout: this.layout, seats: [], users: [] } : {};
      client.send(JSON.stringify({ type: "world_snapshot", seq: this.seq, page, pages, space_id: "office", now: new Date().toISOString(), now_ms: Date.now(), ...first, agents: agents.slice(2 * page - 2, 2 * page) }));
    }
  }

  hear(client, message) {
    this.asked.push(message);
    if (message.type === "ping") return client.send(JSON.stringify({ type: "pong", now: new Date().toISOString(), now_ms: Date.now() }));
    const reply = this.answer[message.type]?.(message, this) ?? { type: "error", code: "invalid_argument", field: "type", message: "unknown" };
    client.send(JSON.stringify({ ...reply, ...(message.request_id && { request_id: message.request_id }) }));
  }

  /// Tells all clients of an event, on the socket and in the log.
  tell(message) {
    const numbered = { ...message, seq: ++this.seq };
    this.told.push(numbered);
    if (message.type === "agent_state_update") Object.assign(this.agents.get(message.agent_id), { state: message.state, error: message.error });
    for (const client of this.clients) client.send(JSON.stringify(numbered));
    const id = 1 + ++this.logged;
    for (const listener of this.listeners) listener.write(`event: live.${message.type}\nid: ${id}\ndata: ${JSON.stringify({ type: `live.${message.type}`, entity_id: message.agent_id ?? "", timestamp: new Date().toISOString(), data: message })}\n\n`);
  }

  join(agent) {
    const whole = { role: "", state: "idle", since: new Date().toISOString(), direction: "down", walk: null, current_task: null, task_id: null, mind: "scripted", error: null, last_message: null, received: 0, lag: 0, thoughts: 0, ...agent };
    this.agents.set(agent.agent_id, whole);
    this.tell({ type: "agent_joined", agent: whole });
    return whole;
  }

  /// All connections end, and no new ones are taken until `back`.
  away() {
    this.is_away = true;
    for (const client of this.clients) client.terminate();
    for (const listener of this.listeners) listener.destroy();
  }
  back() {
    this.is_away = false;
  }

  close() {
    this.away();
    this.server.closeAllConnections();
    return new Promise((done) => this.server.close(done));
  }
}
