// The API as a client sees it: over the unix socket or TCP, with the calls the tests make again and again.
import { readFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { patience, waitFor } from "./basics.mjs";

/// The code of an error reply, whichever way it is wrapped.
export const codeOf = (body) => (typeof body?.error === "object" ? body.error.code : body?.code ?? body?.error);
export const messageOf = (body) => (typeof body?.error === "object" ? body.error.message : body?.message) ?? "";

/// One HTTP exchange, with the key of a paired place if `where` has one. Never throws for a status; throws when there is no answer.
export function exchange(where, method, path, { body, headers = {}, timeout = patience, raw } = {}) {
  const text = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const { key, ...at } = where;
    const request = http.request({
      ...at, method, path, agent: false, timeout,
      headers: { ...(key && { Authorization: `Bearer ${key}` }), ...(text === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) }), ...headers },
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

/// The bytes of one stream of an output log, as docs/formats/output.md gives them back.
export function bytesOf(lines, stream) {
  return Buffer.concat(lines.filter((line) => line.stream === stream).flatMap((line) => [
    line.raw === undefined ? Buffer.from(line.data, "utf8") : Buffer.from(line.raw, "base64"),
    line.eol === false ? Buffer.alloc(0) : Buffer.from("\n"),
  ]));
}

/// Talks to the daemon of the project in `root`, whoever has started it.
export class Client {
  constructor(root) {
    this.moveTo(root);
  }
  /// Where the project is from now on.
  moveTo(root) {
    this.root = root;
    this.socket = join(root, ".coven/covend.sock");
  }

  path(...parts) {
    return join(this.root, ...parts);
  }

  get unix() { return { socketPath: this.socket, key: this.key }; }
  get tcp() {
    const url = new URL(readFileSync(this.path(".coven/url"), "utf8").trim());
    return { host: url.hostname, port: Number(url.port) };
  }
  get url() { return new URL(readFileSync(this.path(".coven/url"), "utf8").trim()).origin; }
  get token() { return readFileSync(this.path(".coven/token"), "utf8").trim(); }
  /// A link that opens the web page, as `cru open` prints it.
  async link() {
    const reply = await this.post("/pairings", { label: "web page", reusable: true });
    if (reply.status !== 201) throw new Error(`no link: ${reply.status} ${reply.text}`);
    return reply.json.url;
  }

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
  ended(id) {
    return waitFor(async () => {
      const run = await this.run(id);
      return ["completed", "failed", "killed"].includes(run.status) && run;
    }, { what: `run ${id} ends` });
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
  /// Answers a question: the reply. The daemon waits a moment for the delivery; where it takes longer the record tells.
  async answer(id, answer) {
    const reply = await this.post(`/questions/${id}/answer`, { answer });
    if (reply.status !== 200 || reply.json.delivered === true || reply.json.delivery_error) return reply;
    const { delivered, delivery_error } = await waitFor(async () => {
      const { json } = await this.get(`/questions/${id}`);
      return (json.delivered || json.delivery_error) && json;
    }, { what: `the answer to ${id} is delivered` });
    return { ...reply, json: { ...reply.json, delivered, delivery_error } };
  }
  async events(query = "") {
    const { status, json, text } = await this.get(`/events${query}`);
    if (status !== 200) throw new Error(`events: ${status} ${text}`);
    return json.events;
  }
}
