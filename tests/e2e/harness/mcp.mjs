// MCP clients: the official SDK's over stdio and over HTTP, and one by hand that sees every line.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { cru_bin, patience, waitFor } from "./basics.mjs";

const clientInfo = { name: "e2e", version: "1" };

/// `cru mcp` in the project, spoken to by the official client; initialized, and its tools listed so that every reply
/// is checked against its schema.
/// With `elicit` the client shows forms: a function from the request's parameters to {action, content}.
export async function stdioClient(project, t, { env = {}, cwd = project.root, list = true, elicit } = {}) {
  const transport = new StdioClientTransport({ command: cru_bin, args: ["mcp"], cwd, env: { ...project.env, ...env }, stderr: "pipe" });
  const client = clientThat(elicit);
  project.guests.add(client);
  return connected(client, transport, t, list);
}

export async function httpClient(project, t, { headers = {}, list = true, elicit } = {}) {
  const transport = new StreamableHTTPClientTransport(new URL(`${project.url}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${project.token}`, ...headers } },
  });
  return connected(clientThat(elicit), transport, t, list);
}

function clientThat(elicit) {
  if (!elicit) return new Client(clientInfo);
  const client = new Client(clientInfo, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }, extra) => elicit(params, extra));
  return client;
}

async function connected(client, transport, t, list) {
  const request = client.request.bind(client);
  client.request = (what, schema, options) => request(what, schema, { timeout: patience, ...options });
  client.trouble = [];
  client.onerror = (error) => client.trouble.push(error.message);
  t?.after(() => client.close().catch(() => {}));
  await client.connect(transport);
  if (list) await client.listTools();
  return client;
}

/// A tool's reply as an object, whether it is a result or an error.
export function replyOf(result) {
  if (result.structuredContent) return result.structuredContent;
  try { return JSON.parse(result.content[0].text); } catch { return { text: result.content?.[0]?.text }; }
}

/// Calls a tool that must succeed. A daemon that does not greet `cru mcp` in its time is given up until the next call: on a
/// busy machine that may happen to a good one, and nothing was done.
export async function use(client, name, args = {}, options) {
  const result = await waitFor(async () => {
    const answer = await client.callTool({ name, arguments: args }, undefined, options).catch((error) => { throw Object.assign(error, { final: true }); });
    return /the daemon does not respond \(waited/.test(JSON.stringify(answer)) ? null : answer;
  }, { every: 500, what: `${name} is answered by the daemon` });
  const reply = replyOf(result);
  if (result.isError || reply.success === false) throw new Error(`${name}: ${JSON.stringify(result)}`);
  return reply;
}

/// Calls a tool that may be refused: {isError, ...reply}.
export async function attempt(client, name, args = {}, options) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  return { isError: result.isError ?? false, ...replyOf(result) };
}

/// Steps of progress as a client may rely on them: always more, of a total, with a word for the person.
export function growing(steps) {
  for (const [n, { progress, total, message }] of steps.entries()) {
    if (n > 0 && !(progress > steps[n - 1].progress)) throw new Error(`it does not grow: ${JSON.stringify(steps)}`);
    if (!(total >= progress) || !/: waiting, \d+ of \d+ s$/.test(message)) throw new Error(`not a step: ${JSON.stringify(steps[n])}`);
  }
}

/// `cru mcp` by hand: `lines` is everything it ever wrote to stdout.
export class Wire {
  constructor(project, { env = {} } = {}) {
    this.child = project.spawn(["mcp"], { env, stdio: ["pipe", "pipe", "pipe"] });
    this.child.stdin.on("error", () => {});
    this.next_id = 1;
  }
  get lines() { return this.child.text.stdout.split("\n").filter(Boolean); }
  get messages() { return this.lines.map((line) => JSON.parse(line)); }
  send(message) { this.child.stdin.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`); }
  answer(id) {
    return waitFor(() => this.messages.find((message) => message.id === id && !message.method), { every: 3, what: `an answer to ${id}` });
  }
  request(method, params, id = this.next_id++) {
    this.send({ jsonrpc: "2.0", id, method, ...(params ? { params } : {}) });
    return this.answer(id);
  }
  async initialize(protocolVersion = "2025-11-25") {
    const answer = await this.request("initialize", { protocolVersion, capabilities: {}, clientInfo }, "init");
    this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return answer;
  }
  async use(name, args = {}) {
    const { result, error } = await this.request("tools/call", { name, arguments: args });
    if (error || result.isError) throw new Error(`${name}: ${JSON.stringify(error ?? result)}`);
    return result.structuredContent;
  }
  end() {
    this.child.stdin.end();
    return this.child.ended;
  }
  signal(name) {
    this.child.kill(name);
    return this.child.ended;
  }
}
