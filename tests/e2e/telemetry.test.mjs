// What is told to others of what was done: spans to a collector, metrics to Prometheus, and trace contexts that are taken and passed on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, cru_bin, exchange, Project, waitFor } from "./harness.mjs";
import { cast, report, spawning } from "./harness/cast.mjs";
import { Collector } from "./harness/collector.mjs";
import { Crew } from "./harness/crew.mjs";
import { httpClient } from "./harness/mcp.mjs";

const caller = { trace: "4bf92f3577b34da6a3ce929d0e0e4736", id: "00f067aa0ba902b7" };
const traceparent = `00-${caller.trace}-${caller.id}-01`;

test("spans of a chat, its subagent, replies and tools reach the collector, as the conventions have them and without what was said", async (t) => {
  const collector = await Collector.start(t);
  const { crew, server } = await cast(t, {
    assistant: [{ text: "SECRET plan.", tools: [spawning("explorer", "SECRET task")], usage: { input: 1000, output: 100 } }, { text: "SECRET answer.", usage: { input: 10, output: 1 } }],
    explorer: { text: report("SECRET result."), usage: { input: 500, output: 50 } },
  }, { env: { ...collector.env, OTEL_SERVICE_NAME: "my-crew", OTEL_EXPORTER_OTLP_HEADERS: "x-key=se%20cret" } });
  const chat = await crew.chat({ message: "SECRET question" });
  await chat.end();
  const turn = await collector.named("invoke_agent assistant");
  const agent = await collector.named("invoke_agent explorer");
  const tool = await collector.named("execute_tool spawn_agent");
  const replies = await waitFor(() => { const all = collector.spans.filter(({ name }) => name === "chat model-1"); return all.length >= 3 && all; }, { what: "three replies" });
  assert.equal(collector.resource["service.name"], "my-crew");
  assert.deepEqual([collector.requests[0].path, collector.requests[0].headers["x-key"]], ["/v1/traces", "se cret"]);

  const view = await crew.must(200, crew.get(`/chats/${chat.id}/trace`));
  assert.equal(turn.trace, view.trace_id, "the id that the chat has everywhere");
  assert.equal(agent.trace, view.spans[1].trace_id, "and the spawn has one of its own");
  assert.deepEqual(agent.links, [{ trace: tool.trace, id: tool.id }], "linked to the tool use that spawned it");
  assert.deepEqual([tool.trace, tool.parent], [turn.trace, turn.id]);
  for (const reply of replies) assert.ok([turn, agent].some(({ trace, id }) => reply.trace === trace && reply.parent === id), reply.parent);
  assert.deepEqual([turn.is["gen_ai.operation.name"], turn.is["gen_ai.agent.name"], turn.is["gen_ai.conversation.id"]], ["invoke_agent", "assistant", chat.id]);
  assert.deepEqual([turn.is["gen_ai.usage.input_tokens"], turn.is["gen_ai.usage.output_tokens"]], [1010, 101]);
  assert.deepEqual([agent.is["gen_ai.agent.id"], agent.is["gen_ai.conversation.id"], agent.is["gen_ai.usage.input_tokens"]], [view.spans[1].id, chat.id, 500]);
  const [reply] = replies;
  assert.deepEqual([reply.kind, reply.is["gen_ai.operation.name"], reply.is["gen_ai.provider.name"], reply.is["gen_ai.request.model"], reply.is["gen_ai.usage.input_tokens"]], ["client", "chat", "anthropic", "model-1", 1000]);
  assert.deepEqual([tool.is["gen_ai.operation.name"], tool.is["gen_ai.tool.name"], typeof tool.is["gen_ai.tool.call.id"]], ["execute_tool", "spawn_agent", "string"]);
  for (const { text } of collector.requests) assert.ok(!text.includes("SECRET"), text);
  const contexts = server.requests.filter(({ body }) => body).map(({ headers }) => headers.traceparent);
  assert.deepEqual(contexts.sort(), replies.map(({ trace, id }) => `00-${trace}-${id}-01`).sort(), "the model's server is told which span asks it");
});

test("the wait for an approval is a span, and so is a failure", async (t) => {
  const collector = await Collector.start(t);
  const { crew } = await cast(t, {
    careful: ({ turn }) => (turn === 0 ? { text: "I do it.", tools: [{ name: "write_file", input: { path: "made.txt", content: "made\n" } }] } : { status: 400, error: { type: "invalid_request_error", message: "SECRET" } }),
  }, { env: collector.env, agents: { careful: { permissions: ["FilesystemRead", "FilesystemWrite", "SemanticSearch"], requires_approval: ["FilesystemWrite"] } } });
  const chat = await crew.chat({ agent: "careful", message: "please" }, { wait: false });
  const { id } = await waitFor(async () => (await crew.must(200, crew.get("/approvals?pending=true"))).approvals[0], { what: "an approval waits" });
  const shown = await crew.cru("sessions", "trace", chat.id);
  assert.match(shown.stdout, new RegExp(`⏸ \\S+ waiting: approval ${id}, still open`));
  assert.equal((await crew.cru("approvals", "approve", id)).code, 0);
  await chat.idle();
  const wait = await collector.named("await_approval write_file");
  const tool = await collector.named("execute_tool write_file");
  const turn = await collector.named("invoke_agent careful");
  assert.deepEqual([wait.is["cru.approval.id"], wait.is["cru.approval.outcome"], wait.parent, tool.parent], [id, "approved", turn.id, turn.id]);
  assert.deepEqual([turn.failed, turn.is["error.type"]], [true, "invalid_request"]);
  for (const { text } of collector.requests) assert.ok(!text.includes("SECRET"));
  assert.match((await crew.cru("sessions", "trace", chat.id)).stdout, new RegExp(`✗ careful[^]*⏸ \\S+ waiting: approval ${id}, approved`));
});

test("a trace that a caller says is joined: by a run over HTTP, by TRACEPARENT at the command line, by _meta in MCP", async (t) => {
  const collector = await Collector.start(t);
  const project = new Project();
  t.after(() => project.close());
  Object.assign(project.env, collector.env);
  await project.startDaemon();
  await project.post("/tasks/by-http/start", { argv: ["sh", "-c", "echo $TRACEPARENT; exit 3"] }, { headers: { traceparent } });
  const run = await project.ended("by-http");
  assert.equal(run.trace_id, caller.trace);
  const span = await collector.named("run sh");
  assert.deepEqual([span.trace, span.parent, span.is["process.exit.code"], span.is["cru.run.id"], span.failed], [caller.trace, caller.id, 3, "by-http", true]);
  assert.equal((await project.output("by-http"))[0].data, `00-${caller.trace}-${span.id}-01`, "its processes go on with its span");

  await project.cru("run", "--id", "by-verb", "--", "true", { env: { TRACEPARENT: traceparent } });
  assert.equal((await project.ended("by-verb")).trace_id, caller.trace);
  await project.post("/tasks/broken/start", { argv: ["true"] }, { headers: { traceparent: "00-ZZZZ2f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" } });
  assert.match((await project.ended("broken")).trace_id, /^[0-9a-f]{32}$/);

  await project.post("/tasks/asks/start", { argv: ["sh", "-c", `${cru_bin} ask 'Which?'`] }, { headers: { traceparent } });
  const question = await waitFor(async () => (await project.get("/questions?pending=true")).json.questions[0], { what: "a question waits" });
  assert.equal(question.trace_id, caller.trace, "a question has the trace of the run that asks");
  await project.post(`/questions/${question.id}/answer`, { answer: "this" });
  await project.ended("asks");

  const client = await httpClient(project, t, { headers: { "Cru-Agent-Id": "ada" } });
  await client.callTool({ name: "heartbeat", arguments: {}, _meta: { traceparent } });
  const called = await collector.named("tools/call heartbeat");
  assert.deepEqual([called.trace, called.parent, called.kind, called.is["mcp.method.name"], called.is["gen_ai.tool.name"]], [caller.trace, caller.id, "server", "tools/call", "heartbeat"]);
  const events = (await project.events("?since=0")).filter(({ entity_id, type }) => entity_id === "by-http" && type !== "agent.output");
  assert.ok(events.length >= 3);
  events.push(...(await project.events("?since=0")).filter(({ type }) => /question/.test(type)));
  assert.ok(events.some(({ type }) => type === "agent.question") && events.some(({ type }) => type === "question.answered"));
  for (const { type, data } of events) assert.equal(data.trace_id, caller.trace, type);
});

test("a program that is a mind goes on with the trace: its process, its tools, and the agent that it spawns", async (t) => {
  const collector = await Collector.start(t);
  const replies = [{ when: "plan it", steps: [{ call: "spawn_agent", input: { agent: "worker", task: "part one" } }, { say: "Woven: {{result}}" }] }, { when: "part one", steps: [{ say: report("Done.") }] }];
  const crew = await Crew.started({ env: collector.env, standin: { replies }, models: { sonnet: { provider: "claude", id: "model-1" } }, agents: { worker: {} } }, t);
  const chat = await crew.chat({ message: "plan it" });
  const turn = await collector.named("invoke_agent assistant");
  const worker = await collector.named("invoke_agent worker");
  const reply = await collector.span(({ name, trace }) => name === "invoke_agent claude" && trace === turn.trace, "the primary's reply");
  const run = await collector.span(({ name, trace }) => name === "run claude" && trace === turn.trace, "its run");
  const tool = await collector.named("tools/call spawn_agent");
  assert.deepEqual([reply.parent, run.parent, tool.trace, tool.parent], [turn.id, reply.id, turn.trace, run.id]);
  assert.deepEqual(worker.links, [{ trace: tool.trace, id: tool.id }]);
  const started = crew.starts("claude").map(({ env }) => env.TRACEPARENT);
  assert.ok(started.includes(`00-${run.trace}-${run.id}-01`), JSON.stringify(started));
  assert.ok(started.some((context) => context.startsWith(`00-${worker.trace}-`)), "the subagent's program has the subagent's trace");
  assert.equal((await crew.must(200, crew.get(`/traces/${run.is["cru.run.id"]}`))).session_id, chat.id, "the id of the run leads to the chat");
});

test("`cru sessions trace` tells of runs and of work items", async (t) => {
  const project = await Project.started({}, t);
  await project.sh("outer", `${cru_bin} run --id inner -- sh -c 'exit 4'`);
  await project.ended("inner");
  await project.ended("outer");
  const shown = await project.cru("sessions", "trace", "outer");
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /^trace [0-9a-f]{32} .*\nuser\n└─ \S sh outer .*\n[^]*└─ ✗ #1 sh inner .*\n +run_failed: exited with code 4/);
  assert.equal((await project.cru("sessions", "trace", "oute")).stdout, shown.stdout, "the beginning of an id is enough");
  const trace = (await project.get("/traces/inner")).json;
  assert.deepEqual([trace.kind, trace.spans.map(({ id, parent, status }) => [id, parent, status])], ["run", [["outer", null, trace.spans[0].status], ["inner", "outer", "failed"]]]);

  const ada = new Agent(project, "ada");
  await ada.ask("submit_work", { task_id: "w1", task_type: "review", description: "look at it", backoff_seconds: 0, verify: ["sh", "-c", "test -e ok"] });
  const claim = await ada.ask("get_work");
  await ada.call("complete_work", { task_id: "w1", success: true, fencing_token: claim.fencing_token });
  const work = await project.cru("sessions", "trace", "w1");
  assert.equal(work.code, 0, work.stderr);
  await ada.ask("submit_work", { task_id: "w2-other", task_type: "review", description: "and at that" });
  assert.match((await project.cru("sessions", "trace", "w2")).stdout, /└─ · review/);
  const several = await project.cru("sessions", "trace", "w");
  assert.deepEqual([several.code, /matches several: w1, w2-other/.test(several.stderr)], [1, true], several.stderr);
  assert.match(work.stdout, /└─ · review .*\n +└─ ✗ #1 ada .*\n[^]*attempt_failed: [^]*└─ ✗ #2 (sh|test) /);
  const { spans } = (await project.get("/traces/w1")).json;
  assert.deepEqual(spans.map(({ kind }) => kind), ["work", "attempt", "run"]);
  assert.equal(spans[2].trace_id, spans[0].trace_id, "the verification goes on with the item's trace");
});

test("a collector that is away costs nothing but its spans: they are dropped, counted, and told by doctor", async (t) => {
  const collector = await Collector.start(t);
  const project = new Project();
  t.after(() => project.close());
  Object.assign(project.env, collector.env);
  await collector.leave();
  await project.startDaemon();
  await project.sh("r1", "true");
  await project.ended("r1");
  const trouble = await waitFor(async () => (await project.get("/version")).json.traces?.dropped > 0, { what: "a span is dropped" });
  assert.ok(trouble);
  const doctor = await project.cru("doctor");
  assert.match(doctor.stdout, /warn +traces +exported to http:\/\/127\.0\.0\.1:\d+: \d+ spans, [1-9]\d* dropped/);
  await collector.comeBack();
  await project.sh("r2", "true");
  await collector.span(({ is }) => is["cru.run.id"] === "r2", "the next one");
});

/// A reader of Prometheus' text format, as strict as promtool where it matters.
function readMetrics(text) {
  assert.ok(text.endsWith("\n"));
  const types = new Map(), helped = new Set(), samples = [], seen = new Set();
  let family;
  for (const line of text.slice(0, -1).split("\n")) {
    let match;
    if ((match = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (\S.*)$/.exec(line))) {
      assert.ok(!helped.has(match[1]), `${match[1]} is described twice`);
      helped.add(match[1]);
    } else if ((match = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)$/.exec(line))) {
      assert.ok(!types.has(match[1]) && helped.has(match[1]), line);
      types.set(family = match[1], match[2]);
      if (match[2] === "counter") assert.match(family, /_total$/);
    } else {
      match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (NaN|[+-]Inf|[-+0-9.eE]+)$/.exec(line);
      assert.ok(match, `not a sample: ${line}`);
      const [, name, labels = "", number] = match;
      assert.ok(types.get(family) === "histogram" ? [`${family}_bucket`, `${family}_sum`, `${family}_count`].includes(name) : name === family, `${name} among ${family}`);
      assert.ok(!seen.has(name + labels), `twice: ${line}`);
      seen.add(name + labels);
      samples.push({ name, labels: Object.fromEntries([...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, key, value]) => [key, value])), value: Number(number.replace("Inf", "Infinity")) });
    }
  }
  for (const { name, labels, value } of samples.filter(({ name }) => name.endsWith("_count"))) {
    const base = name.slice(0, -6), same = (other) => Object.entries(labels).every(([key, of]) => other[key] === of);
    const buckets = samples.filter((one) => one.name === `${base}_bucket` && same(one.labels));
    assert.equal(buckets.at(-1).labels.le, "+Inf");
    assert.equal(buckets.at(-1).value, value);
    for (let at = 1; at < buckets.length; ++at) assert.ok(buckets[at].value >= buckets[at - 1].value, "buckets add up");
  }
  return (name, labels = {}) => samples.find((one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value))?.value;
}

test("/metrics is what Prometheus reads, for people only, and counts what was done", async (t) => {
  const { crew } = await cast(t, { assistant: { text: "Yes.", usage: { input: 1000, output: 100 } } });
  const chat = await crew.chat({ message: "Is it?" });
  await chat.end();
  await crew.sh("fails", "exit 1");
  await crew.ended("fails");
  const client = await httpClient(crew, t, { headers: { "Cru-Agent-Id": "ada" } });
  await client.callTool({ name: "list_work", arguments: {} });
  const reply = await crew.get("/metrics");
  assert.equal(reply.status, 200);
  assert.match(reply.headers["content-type"], /^text\/plain; version=0\.0\.4/);
  const metric = readMetrics(reply.text);
  assert.equal(metric("cru_runs", { status: "failed" }), 1);
  assert.equal(metric("cru_tokens_total", { model: "sonnet", type: "input" }), 1000);
  assert.ok(Math.abs(metric("cru_cost_usd_total", { model: "sonnet" }) - 0.0045) < 1e-9);
  assert.equal(metric("cru_approvals_waiting"), 0);
  assert.ok(metric("cru_event_log_events") > 5);
  assert.ok(metric("cru_http_request_duration_seconds_count", { operation: "start_chat", status: "201" }) >= 1, reply.text);
  assert.ok(metric("cru_model_call_duration_seconds_count", { model: "sonnet", outcome: "ok" }) >= 1);
  assert.ok(metric("cru_mcp_request_duration_seconds_count", { method: "tools/call", tool: "list_work", outcome: "ok" }) >= 1);
  assert.equal(metric("cru_spans_dropped_total"), 0);

  const bearer = { headers: { Authorization: `Bearer ${crew.token}` } };
  assert.equal((await exchange(crew.tcp, "GET", "/metrics")).status, 401, "not without the token");
  assert.equal((await exchange(crew.tcp, "GET", "/metrics", bearer)).status, 200);
  assert.equal((await exchange(crew.tcp, "GET", "/metrics", { headers: { ...bearer.headers, Origin: "http://evil.example" } })).status, 403, "nor from other pages");
  await crew.sh("agent", `curl -s -o /dev/null -w 'status %{http_code}\\n' --unix-socket .coven/covend.sock http://x/metrics`);
  await crew.ended("agent");
  assert.match((await crew.output("agent")).map(({ data }) => data).join("\n"), /status 403/, "nor by an agent");
});
