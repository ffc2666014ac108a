// The scripted model server itself: it must speak as the real APIs do, or what is tested against it proves nothing.
import assert from "node:assert/strict";
import http from "node:http";
import https from "node:https";
import { test } from "node:test";
import { certificate, ModelServer } from "./fixtures/model_server.mjs";

const anthropic = { "x-api-key": "sk-test", "anthropic-version": "2023-06-01" };
const openai = { authorization: "Bearer sk-test" };
const hello = { model: "claude-x", max_tokens: 10, messages: [{ role: "user", content: "hi" }] };
const tools = [{ name: "look", description: "looks", input_schema: { type: "object", properties: {} } }];

/// {status, headers, text, json, events, error} and never throws: `error` is what cut it. `leave`: goes when it was asked
/// (true), with the headers, or in the middle.
function ask(server, body, { headers = anthropic, path = "/v1/messages", method = "POST", raw, agent = false, leave, more = {} } = {}) {
  return new Promise((resolve) => {
    const got = { status: null };
    const parts = [];
    const done = (error) => {
      got.text = Buffer.concat(parts).toString("utf8");
      try { got.json = JSON.parse(got.text); } catch { /* not JSON */ }
      got.events = got.text.split("\n\n").filter(Boolean).map((frame) => frame.split("\n").map((line) => line.split(/: (.*)/s)).reduce((all, [name, value]) => ({ ...all, [name]: value }), {}));
      resolve({ ...got, error });
    };
    const request = (server.tls ? https : http).request({ host: "127.0.0.1", port: server.port, path, method, agent, headers: { "content-type": "application/json", ...headers }, ...more }, (response) => {
      Object.assign(got, { status: response.statusCode, headers: response.headers });
      response.on("data", (part) => { parts.push(part); if (leave === "middle") request.destroy(new Error("left")); });
      response.on("end", () => done()).on("error", done);
      if (leave === "headers") request.destroy(new Error("left"));
    });
    if (leave === true) server.when(({ open }) => open > 0).then(() => request.destroy(new Error("left")));
    request.on("error", done);
    request.end(raw ?? (body === undefined ? undefined : JSON.stringify(body)));
  });
}
const parsed = ({ events }) => events.map(({ data }) => JSON.parse(data));

test("Anthropic: the events of a stream in their order, whatever the size of the writes", async (t) => {
  const server = await ModelServer.start({}, t);
  const input = { path: "ä/ö.md", deep: [1, { a: null }] };
  for (const manner of [{}, { chunkBytes: 1 }, { chunkBytes: 7, slowBytesMs: 1, piece: 40 }]) {
    server.script({ text: "Grüße, 世界! I look now.", tools: [{ name: "look", input }, { name: "look", input: {} }], usage: { input: 7, output: 9, cache_read: 5 }, ...manner });
    const answer = await ask(server, { ...hello, stream: true, tools });
    assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "text/event-stream; charset=utf-8"]);
    const events = parsed(answer);
    assert.deepEqual(answer.events.map(({ event }) => event), events.map(({ type }) => type), "each event is named as its data");
    assert.deepEqual(events.map(({ type }) => type).filter((type, n, all) => type !== all[n - 1]), [
      "message_start", "content_block_start", "ping", "content_block_delta", "content_block_stop", "content_block_start", "content_block_delta", "content_block_stop",
      "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"]);
    const of = (index) => events.filter((event) => event.index === index && event.delta).map(({ delta }) => delta.text ?? delta.partial_json).join("");
    assert.deepEqual([of(0), JSON.parse(of(1)), JSON.parse(of(2))], ["Grüße, 世界! I look now.", input, {}]);
    assert.deepEqual([1, 2].map((index) => events.find((event) => event.index === index && event.delta).delta.partial_json), ["", ""], "a tool's first piece is empty");
    const { message } = events[0];
    assert.deepEqual([message.content, message.stop_reason, message.usage.input_tokens, message.usage.output_tokens, message.usage.cache_read_input_tokens], [[], null, 7, 1, 5]);
    const { delta, usage } = events.at(-2);
    assert.deepEqual([delta.stop_reason, usage.output_tokens], ["tool_use", 9]);
  }
  assert.deepEqual(server.refused, []);
});

test("Anthropic: a whole message, its errors by status, an error within the stream", async (t) => {
  const server = await ModelServer.start({ keys: ["sk-test"] }, t);
  server.script([{ text: "hello", thinking: "hm" }, { status: 429, headers: { "retry-after": "3" } }, { status: 529 }, { error: { type: "overloaded_error", message: "Overloaded" }, text: "half" }]);
  const { json } = await ask(server, hello);
  assert.deepEqual([json.type, json.role, json.content.map(({ type }) => type), json.stop_reason], ["message", "assistant", ["thinking", "text"], "end_turn"]);
  const limited = await ask(server, hello);
  assert.deepEqual([limited.status, limited.headers["retry-after"], limited.json.type, limited.json.error.type], [429, "3", "error", "rate_limit_error"]);
  assert.deepEqual((await ask(server, hello)).json.error, { type: "overloaded_error", message: "Overloaded" });
  const events = parsed(await ask(server, { ...hello, stream: true }));
  assert.deepEqual(events.at(-1), { type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
  assert.ok(events.some(({ delta }) => delta?.text === "half"));
});

test("Anthropic: what the API refuses is refused, in its shape", async (t) => {
  const server = await ModelServer.start({ keys: ["sk-test"] }, t);
  const use = (id, name = "look") => ({ role: "assistant", content: [{ type: "tool_use", id, name, input: {} }] });
  const result = (id) => ({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "seen" }] });
  const [user] = hello.messages;
  const good = { ...hello, tools, messages: [user, use("a"), result("a")] };
  assert.equal((await ask(server, good)).text.slice(0, 5), '{"id"', server.trouble?.stack);
  const { max_tokens: _, ...endless } = hello;
  const cases = [
    [endless, /^max_tokens: Field required/], [{ ...hello, max_tokens: 0 }, /^max_tokens/], [{ ...hello, messages: [] }, /at least one message/],
    [{ ...hello, messages: [user, user] }, /roles must alternate/], [{ ...hello, messages: [use("a")] }, /first message/], [{ ...hello, temprature: 1 }, /Extra inputs/],
    [{ ...good, messages: [user, use("a")] }, /without `tool_result` blocks immediately after: a\./],
    [{ ...good, messages: [user, use("a"), user] }, /without `tool_result`/], [{ ...good, messages: [user, use("a"), result("b")] }, /without `tool_result`/],
    [{ ...good, messages: [result("a")] }, /unexpected `tool_use_id`/], [{ ...good, tools: undefined }, /must define tools/], [{ ...good, tools: [...tools, ...tools] }, /unique/],
    [{ ...good, messages: [user, use("a"), { role: "user", content: [{ type: "text", text: "x" }, ...result("a").content] }] }, /come before/],
    [{ ...hello, messages: [{ role: "user", content: "" }] }, /non-empty/], [{ ...hello, messages: [{ role: "user", content: [{ type: "text", text: "" }] }] }, /non-empty/],
    [{ ...hello, system: [{ type: "text", text: "" }] }, /^system/], [{ ...hello, tools: [{ name: "a b", input_schema: { type: "object" } }] }, /^tools\.0/],
  ];
  for (const [body, reason] of cases) {
    const { status, json } = await ask(server, body);
    assert.deepEqual([status, json.type, json.error.type], [400, "error", "invalid_request_error"], JSON.stringify(body));
    assert.match(json.error.message, reason);
  }
  assert.equal(server.refused.length, cases.length);
  assert.equal((await ask(server, hello, { raw: "{" })).status, 400);
  assert.match((await ask(server, hello, { headers: { "x-api-key": "sk-test" } })).json.error.message, /anthropic-version/);
  for (const key of [undefined, "other"]) {
    const { status, json } = await ask(server, hello, { headers: { "anthropic-version": "2023-06-01", ...(key ? { "x-api-key": key } : {}) } });
    assert.deepEqual([status, json.error.type], [401, "authentication_error"]);
  }
});

test("OpenAI: chunks with tool calls by index, the usage if asked for, [DONE]; models; refusals", async (t) => {
  const server = await ModelServer.start({ keys: ["sk-test"] }, t);
  const at = { path: "/v1/chat/completions", headers: openai };
  const body = { model: "m", messages: [{ role: "system", content: "be" }, { role: "user", content: "hi" }] };
  server.script({ text: "I look at the two.", tools: [{ name: "a", input: { x: "one and more" } }, { name: "b", input: {} }], usage: { input: 3, output: 4 } });
  const { events } = await ask(server, { ...body, stream: true, stream_options: { include_usage: true } }, at);
  assert.equal(events.at(-1).data, "[DONE]");
  const chunks = events.slice(0, -1).map(({ data }) => JSON.parse(data));
  assert.deepEqual([chunks.at(-1).choices, chunks.at(-1).usage.total_tokens, chunks.at(-2).choices[0].finish_reason, chunks[0].usage], [[], 7, "tool_calls", null]);
  const calls = [];
  for (const { index, id, function: { name, arguments: more } } of chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])) {
    if (id) calls[index] = { name, all: "" };
    calls[index].all += more;
  }
  assert.deepEqual(calls.map(({ name, all }) => [name, JSON.parse(all)]), [["a", { x: "one and more" }], ["b", {}]]);
  assert.ok(parsed({ events: (await ask(server, { ...body, stream: true }, at)).events.slice(0, -1) }).every((chunk) => !("usage" in chunk)));
  const whole = await ask(server, body, at);
  assert.deepEqual([whole.json.object, whole.json.choices[0].message.tool_calls.length, whole.json.usage.prompt_tokens], ["chat.completion", 2, 3]);
  assert.equal((await ask(server, undefined, { ...at, path: "/v1/models", method: "GET" })).json.object, "list");
  const call = { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: { name: "a", arguments: "{}" } }] };
  for (const [messages, reason] of [[[...body.messages, call], /did not have response messages: c/], [[...body.messages, { role: "tool", tool_call_id: "c", content: "x" }], /preceeding/], [[], /empty array/]]) {
    const { status, json } = await ask(server, { ...body, messages }, at);
    assert.deepEqual([status, json.error.type], [400, "invalid_request_error"]);
    assert.match(json.error.message, reason);
  }
  assert.equal((await ask(server, { ...body, messages: [...body.messages, call, { role: "tool", tool_call_id: "c", content: "x" }] }, at)).status, 200);
  assert.equal((await ask(server, body, { ...at, headers: {} })).status, 401);
});

test("faults: cut, garbage, hanging and slow answers; a client that goes is seen", async (t) => {
  const server = await ModelServer.start({}, t);
  const stream = { ...hello, stream: true };
  server.script({ text: "a long enough text to be cut in", cutAfterBytes: 300 });
  const cut = await ask(server, stream);
  assert.deepEqual([cut.status, cut.text.length, Boolean(cut.error)], [200, 300, true]);
  server.script({ garbage: true });
  assert.ok((await ask(server, stream)).text.length > 1000);
  server.script({ garbage: "event: message_start\ndata: {\n\n" });
  assert.equal((await ask(server, stream)).text, "event: message_start\ndata: {\n\n");
  for (const [hang, status] of [[true, null], ["headers", 200], ["middle", 200]]) {
    server.script({ text: "never whole", hang });
    const answer = await ask(server, stream, { leave: hang });
    assert.deepEqual([answer.status, Boolean(answer.error), answer.text.includes("message_stop")], [status, true, false], String(hang));
  }
  await server.when(({ open }) => open === 0);
  assert.deepEqual(server.requests.map(({ outcome }) => outcome), ["cut", "answered", "answered", "client_gone", "client_gone", "client_gone"]);
  server.script({ text: "slow", delayMs: 60 });
  const began = Date.now();
  assert.equal((await ask(server, hello)).status, 200);
  assert.ok(Date.now() - began >= 55);
});

test("it counts connections and how many are asked at once, and tells a script what it wants to know", async (t) => {
  const server = await ModelServer.start({}, t);
  const agent = new http.Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  await ask(server, hello, { agent });
  await ask(server, hello, { agent });
  assert.deepEqual([server.connections, server.max_open], [1, 1]);
  const release = new Promise((resolve) => server.when(({ open }) => open === 3).then(resolve));
  server.script(async () => { await release; return { text: "together" }; });
  await Promise.all([ask(server, hello), ask(server, hello), ask(server, hello)]);
  assert.deepEqual([server.connections, server.max_open, server.requests.length], [4, 3, 5]);
  let seen;
  server.script((request) => { seen = request; return {}; });
  await ask(server, { ...hello, system: [{ type: "text", text: "be brief" }], tools, messages: [{ role: "user", content: "the task" }, { role: "assistant", content: [{ type: "tool_use", id: "u", name: "look", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "u", content: [{ type: "text", text: "seen" }], is_error: true }, { type: "text", text: "go on" }] }] });
  assert.deepEqual([seen.system, seen.task, seen.text, seen.turn, seen.tools, seen.results], ["be brief", "the task", "go on", 1, ["look"], [{ id: "u", text: "seen", is_error: true }]]);
});

test("as a proxy it forwards to loopback only, asks for a name, and keeps who went where", async (t) => {
  const target = await ModelServer.start({}, t);
  const proxy = await ModelServer.start({ proxy_auth: "me:secret" }, t);
  const credentials = { "proxy-authorization": `Basic ${Buffer.from("me:secret").toString("base64")}` };
  const through = (path, headers) => ask(proxy, hello, { path, headers: { ...anthropic, ...headers } });
  assert.equal((await through(`${target.url}/v1/messages`, {})).status, 407);
  assert.equal((await through(`${target.url}/v1/messages`, credentials)).json.content[0].text, "Hello.");
  assert.equal((await through("http://example.com/v1/messages", credentials)).status, 403);
  assert.deepEqual([proxy.requests.length, target.requests.length, "proxy-authorization" in target.requests[0].headers], [0, 1, false]);
  assert.deepEqual(proxy.proxied.map(({ how, status }) => [how, status]), [["absolute", 407], ["absolute", 200], ["absolute", 403]]);
});

test("CONNECT leads through to a server with TLS, by its name", async (t) => {
  const tls = certificate(["api.test"], t);
  const target = await ModelServer.start({ tls }, t);
  const proxy = await ModelServer.start({ hosts: { "api.test:443": target.port } }, t);
  const socket = await new Promise((resolve, reject) => {
    http.request({ host: "127.0.0.1", port: proxy.port, method: "CONNECT", path: "api.test:443" }).on("connect", (_, got) => resolve(got)).on("error", reject).end();
  });
  const answer = await ask(target, hello, { more: { servername: "api.test", ca: tls.cert, agent: new https.Agent({ socket }) } });
  socket.destroy();
  assert.equal(answer.json?.content[0].text, "Hello.", String(answer.error));
  assert.deepEqual([proxy.proxied.length, proxy.proxied[0].how, proxy.proxied[0].target, target.requests.length], [1, "connect", "api.test:443", 1]);
});
