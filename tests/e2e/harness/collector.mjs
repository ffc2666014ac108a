// A collector of OpenTelemetry on loopback: takes what is exported over HTTP in JSON, decodes it, and refuses what is not as the protocol has it.
import assert from "node:assert/strict";
import http from "node:http";
import { waitFor } from "./basics.mjs";

const value = (any) => {
  const [[kind, of]] = Object.entries(any);
  return { stringValue: () => of, intValue: () => (assert.equal(typeof of, "string", "64 bits are text"), Number(of)), doubleValue: () => of, boolValue: () => of, arrayValue: () => of.values.map(value) }[kind]();
};
const attributes = (list = []) => Object.fromEntries(list.map(({ key, value: any }) => [key, value(any)]));

/// What OpenTelemetry's conventions for generative AI, MCP, processes and errors define, as of their repository semantic-conventions-genai
/// and version 1.41 of the others. Anything else is ours, and says so.
const conventional = new Set(["error.type", "gen_ai.agent.id", "gen_ai.agent.name", "gen_ai.conversation.id", "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model",
  "gen_ai.response.finish_reasons", "gen_ai.response.model", "gen_ai.tool.call.id", "gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.usage.cache_creation.input_tokens",
  "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.workflow.name", "jsonrpc.request.id", "mcp.method.name",
  "mcp.protocol.version", "network.transport", "process.executable.name", "process.exit.code", "process.pid", "rpc.response.status_code"]);
const operations = ["chat", "execute_tool", "invoke_agent", "invoke_workflow"];

/// Attributes by their conventional names; a span that is named after its operation, and has its kind.
function checkConventions({ name, kind, failed, is }) {
  for (const key of Object.keys(is)) assert.ok(conventional.has(key) || key.startsWith("cru."), `${name}: ${key} is not of the conventions`);
  assert.equal(failed, "error.type" in is, `${name}: a failure has a type, and nothing else does`);
  if (is["mcp.method.name"]) return assert.deepEqual([kind, name], ["server", [is["mcp.method.name"], is["gen_ai.tool.name"]].filter(Boolean).join(" ")]);
  const operation = is["gen_ai.operation.name"];
  if (!operation) return assert.match(name, /^(run|await_approval) \S/);
  assert.ok(operations.includes(operation) && name.startsWith(`${operation} `), `${name}: ${operation}`);
  if (operation === "chat") assert.ok(kind === "client" && is["gen_ai.provider.name"] && is["gen_ai.request.model"], name);
}

/// A span as the tests read it, checked on the way.
function decode(span) {
  assert.match(span.traceId, /^[0-9a-f]{32}$/);
  assert.match(span.spanId, /^[0-9a-f]{16}$/);
  if (span.parentSpanId !== undefined) assert.match(span.parentSpanId, /^[0-9a-f]{16}$/);
  assert.ok([1, 2, 3].includes(span.kind), `kind ${span.kind}`);
  const [from, to] = [span.startTimeUnixNano, span.endTimeUnixNano].map((text) => (assert.equal(typeof text, "string"), BigInt(text)));
  assert.ok(from > 1_700_000_000_000_000_000n && to >= from, `${from} to ${to}`);
  const read = { name: span.name, trace: span.traceId, id: span.spanId, parent: span.parentSpanId ?? null, kind: ["", "internal", "server", "client"][span.kind], ms: Number((to - from) / 1_000_000n),
    links: (span.links ?? []).map(({ traceId, spanId }) => ({ trace: traceId, id: spanId })), failed: span.status?.code === 2, is: attributes(span.attributes) };
  checkConventions(read);
  return read;
}

export class Collector {
  spans = [];
  requests = [];
  /// Statuses to answer the next requests with.
  answers = [];

  static async start(test) {
    const collector = new Collector();
    collector.server = http.createServer((request, response) => {
      const parts = [];
      request.on("data", (part) => parts.push(part));
      request.on("end", () => {
        const status = collector.answers.shift() ?? 200;
        const text = Buffer.concat(parts).toString("utf8");
        collector.requests.push({ path: request.url, headers: request.headers, text, status });
        try {
          if (status === 200) collector.take(JSON.parse(text));
        } catch (error) {
          collector.problem ??= error;
        }
        response.writeHead(status, { "Content-Type": "application/json", "Retry-After": "0" }).end("{}");
      });
    });
    await new Promise((listening) => collector.server.listen(0, "127.0.0.1", listening));
    test.after(() => { if (collector.problem) throw collector.problem; });
    test.after(() => new Promise((closed) => { collector.server.closeAllConnections(); collector.server.close(closed); }));
    return collector;
  }
  /// Nobody listens at its address any more, until it comes back.
  leave() {
    this.port = this.server.address().port;
    return new Promise((closed) => { this.server.closeAllConnections(); this.server.close(closed); });
  }
  comeBack() { return new Promise((listening) => this.server.listen(this.port, "127.0.0.1", listening)); }
  /// For the daemon's environment: every span goes out soon.
  get env() { return { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${this.server.address().port}`, OTEL_BSP_SCHEDULE_DELAY: "50" }; }

  take({ resourceSpans }) {
    for (const { resource, scopeSpans } of resourceSpans)
      for (const { scope, spans } of scopeSpans) {
        assert.equal(scope.name, "cru");
        this.resource = attributes(resource.attributes);
        this.spans.push(...spans.map(decode));
      }
  }
  /// The first span that is so.
  span(holds, what) { return waitFor(() => { if (this.problem) throw this.problem; return this.spans.find(holds); }, { what: `the collector has ${what ?? holds}` }); }
  named(name) { return this.span((span) => span.name === name, name); }
}
