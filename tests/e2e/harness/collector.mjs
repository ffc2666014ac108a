// A collector of OpenTelemetry on loopback: takes what is exported over HTTP in JSON, decodes it, and refuses what is not as the protocol has it.
import assert from "node:assert/strict";
import http from "node:http";
import { waitFor } from "./basics.mjs";

const value = (any) => {
  const [[kind, of]] = Object.entries(any);
  return { stringValue: () => of, intValue: () => (assert.equal(typeof of, "string", "64 bits are text"), Number(of)), doubleValue: () => of, boolValue: () => of, arrayValue: () => of.values.map(value) }[kind]();
};
const attributes = (list = []) => Object.fromEntries(list.map(({ key, value: any }) => [key, value(any)]));

/// A span as the tests read it, checked on the way.
function decode(span) {
  assert.match(span.traceId, /^[0-9a-f]{32}$/);
  assert.match(span.spanId, /^[0-9a-f]{16}$/);
  if (span.parentSpanId !== undefined) assert.match(span.parentSpanId, /^[0-9a-f]{16}$/);
  assert.ok([1, 2, 3].includes(span.kind), `kind ${span.kind}`);
  const [from, to] = [span.startTimeUnixNano, span.endTimeUnixNano].map((text) => (assert.equal(typeof text, "string"), BigInt(text)));
  assert.ok(from > 1_700_000_000_000_000_000n && to >= from, `${from} to ${to}`);
  return { name: span.name, trace: span.traceId, id: span.spanId, parent: span.parentSpanId ?? null, kind: ["", "internal", "server", "client"][span.kind], ms: Number((to - from) / 1_000_000n),
    links: (span.links ?? []).map(({ traceId, spanId }) => ({ trace: traceId, id: spanId })), failed: span.status?.code === 2, is: attributes(span.attributes) };
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
        if (status === 200) collector.take(JSON.parse(text));
        response.writeHead(status, { "Content-Type": "application/json", "Retry-After": "0" }).end("{}");
      });
    });
    await new Promise((listening) => collector.server.listen(0, "127.0.0.1", listening));
    test.after(() => new Promise((closed) => { collector.server.closeAllConnections(); collector.server.close(closed); }));
    return collector;
  }
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
  span(holds, what) { return waitFor(() => this.spans.find(holds), { what: `the collector has ${what ?? holds}` }); }
  named(name) { return this.span((span) => span.name === name, name); }
}
