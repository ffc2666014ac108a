// The stand-ins for claude, codex and gemini themselves: what is tested with them is worth what they are worth.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { waitFor } from "./harness/basics.mjs";

const fixtures = join(dirname(fileURLToPath(import.meta.url)), "fixtures");
const echo = { command: process.execPath, args: [join(fixtures, "mcp_echo.mjs")], env: { MARK: "here" } };

/// A home of its own; `run(program, argv, {input, env})` gives {code, signal, lines, stdout, stderr}.
function home(t, scenario) {
  const folder = mkdtempSync(join(tmpdir(), "cru-standin-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  if (scenario) writeFileSync(join(folder, "standin.json"), JSON.stringify({ log: join(folder, "log"), ...scenario }));
  const begin = (program, argv, env = {}) => {
    const child = spawn(join(fixtures, "bin", program), argv, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...env } });
    const got = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => { got[name] += text; });
    child.stdin.on("error", () => {});
    const ended = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal, ...got, lines: got.stdout.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line)) })));
    return { child, got, ended };
  };
  const run = (program, argv, { input = "", env } = {}) => {
    const { child, ended } = begin(program, argv, env);
    child.stdin.end(input);
    return ended;
  };
  return { folder, run, begin, log: () => readFileSync(join(folder, "log"), "utf8").trim().split("\n").map((line) => JSON.parse(line)) };
}
const claude = ["-p", "--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
const turn = (content) => `${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`;
const types = (lines) => lines.map(({ type, subtype }) => (type === "system" ? `${type}/${subtype}` : type));
const texts = (lines) => lines.filter(({ type }) => type === "assistant").flatMap(({ message }) => message.content).filter(({ type }) => type === "text").map(({ text }) => text);

test("claude calls a tool of --mcp-config and says what came of it; only the allowed ones", async (t) => {
  const { run, log, folder } = home(t, {});
  const mcp = JSON.stringify({ mcpServers: { cru: echo } });
  writeFileSync(join(folder, "mcp.json"), mcp);
  const task = '<<CALL echo {"text":"q"}>> <<SAY got {{result}}>> <<CALL fail>> <<CALL where>> <<SAY and {{result}}>> <<CALL nothing>>';
  const { code, lines, stderr } = await run("claude", [...claude, "--strict-mcp-config", "--mcp-config", join(folder, "mcp.json"), "--allowedTools", "mcp__cru", "--disallowedTools", "Task,Bash", "--model", "haiku"], { input: turn(task) });
  assert.equal(code, 0, stderr);
  assert.deepEqual(types(lines), ["system/init", "assistant", "user", "assistant", "assistant", "user", "assistant", "user", "assistant", "assistant", "user", "result"]);
  assert.deepEqual([lines[0].mcp_servers, lines[0].model], [[{ name: "cru", status: "connected", source: "dynamic" }], "claude-haiku-4-5"]);
  assert.ok(lines[0].tools.includes("mcp__cru__echo") && !lines[0].tools.includes("Task") && !lines[0].tools.includes("Bash"));
  assert.deepEqual(texts(lines), ["got echo:q", "and mark here"]);
  const results = lines.filter(({ type }) => type === "user").map(({ message }) => message.content[0]);
  assert.deepEqual(results.map(({ is_error }) => is_error ?? false), [false, true, false, true]);
  const last = lines.at(-1);
  assert.deepEqual([last.subtype, last.is_error, Object.keys(last.modelUsage), last.result], ["success", false, ["claude-haiku-4-5"], "and mark here"]);
  assert.ok(last.total_cost_usd > 0 && last.usage.input_tokens > 0);
  assert.deepEqual([log()[0].program, log()[0].flags["--model"], log()[0].argv.length], ["claude", "haiku", 15]);
  const denied = await run("claude", [...claude, "--mcp-config", mcp], { input: turn('<<CALL echo {"text":"q"}>>') });
  assert.match(texts(denied.lines)[0], /haven't granted it/);
  assert.equal(denied.lines.at(-1).permission_denials[0].tool_name, "mcp__cru__echo");
  const none = await run("claude", [...claude, "--tools", "", "--permission-mode", "bypassPermissions"], { input: turn('<<TOOL Bash {"command":"touch no"}>>') });
  assert.match(texts(none.lines)[0], /No such tool available: Bash/);
});

test("claude by a scenario: pieces, rate limits, retries, bills, errors; several turns; its own arguments only", async (t) => {
  const { run } = home(t, { replies: [
    { when: "one", steps: [{ think: "hm" }, { say: "Hello, 世界, from {{model}}" }, { limit: { utilization: 0.5 } }, { retry: { attempt: 2 } }], usage: { input: 100, output: 10 }, cost_usd: 0.25, model_usage: { "claude-haiku-4-5": { inputTokens: 7, costUSD: 0.5 } } },
    { when: "two", steps: [{ error: "API Error: overloaded" }] },
    { when: "three", steps: [{ say: "before" }, { fail: { exit: 1, stderr: "Segmentation fault" } }] },
    { when: "never", program: "codex", steps: [{ say: "not mine" }] },
  ] });
  const { code, lines } = await run("claude", [...claude, "--include-partial-messages"], { input: turn("one") + turn("two") });
  assert.equal(code, 1, "the last turn was an error");
  const events = lines.filter(({ type }) => type === "stream_event").map(({ event }) => event);
  assert.match(events.filter(({ delta }) => delta?.type === "text_delta").map(({ delta }) => delta.text).join(""), /^Hello, 世界, from claude-opus-5-5/);
  assert.ok(types(lines).includes("rate_limit_event") && types(lines).includes("system/api_retry"));
  const [first, second] = lines.filter(({ type }) => type === "result");
  assert.deepEqual([first.total_cost_usd, first.modelUsage["claude-haiku-4-5"].inputTokens, first.usage.input_tokens], [0.75, 7, 100]);
  assert.deepEqual([second.is_error, second.result, second.modelUsage["claude-haiku-4-5"].inputTokens], [true, "API Error: overloaded", 7]);
  const broken = await run("claude", claude, { input: turn("three") });
  assert.deepEqual([broken.code, broken.stderr, types(broken.lines)], [1, "Segmentation fault\n", ["system/init", "assistant"]]);
  for (const [argv, reason] of [[[...claude, "--modle", "x"], /unknown option '--modle'/], [["-p", "--output-format", "stream-json", "x"], /requires --verbose/], [[...claude, "--session-id", "x"], /valid UUID/], [[...claude, "--resume", "x"], /No conversation found/]]) {
    const refused = await run("claude", argv);
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(refused.stderr, reason);
  }
});

test("claude resumes what it knows, is interrupted, ends at TERM with 143, asks for permission on stdin", async (t) => {
  const { run, begin } = home(t);
  const id = "11111111-2222-4333-8444-000000000001";
  assert.equal((await run("claude", [...claude, "--session-id", id], { input: turn("remember me") })).lines[0].session_id, id);
  const again = await run("claude", [...claude, "--resume", id], { input: turn("<<SAY you said: {{before}}>>") });
  assert.deepEqual([again.lines[0].session_id, texts(again.lines)], [id, ["you said: remember me"]]);
  const until = ({ got, child }, text) => waitFor(() => got.stdout.includes(text), { every: 10, what: `${text} is said` }).catch((error) => {
    child.kill("SIGKILL");
    throw new Error(`${error.message}: ${got.stdout}`);
  });
  const slow = begin("claude", claude);
  slow.child.stdin.write(turn("<<HANG>>"));
  await until(slow, "init");
  slow.child.stdin.write('{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}\n');
  await until(slow, '"result"');
  slow.child.stdin.end(turn("<<SAY on>>"));
  const { lines, code } = await slow.ended;
  assert.deepEqual([code, lines.find(({ type }) => type === "result").subtype, lines.at(-1).result], [0, "error_during_execution", "on"]);
  const killed = begin("claude", claude);
  killed.child.stdin.write(turn("<<HANG>>"));
  await until(killed, "init");
  killed.child.kill("SIGTERM");
  assert.equal((await killed.ended).code, 143);
  const asking = begin("claude", [...claude, "--permission-prompt-tool", "stdio"]);
  asking.child.stdin.write(turn('<<TOOL Bash {"command":"echo done $((1+1))"}>>'));
  await until(asking, "can_use_tool");
  const { request_id } = asking.got.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)).find(({ type }) => type === "control_request");
  asking.child.stdin.end(`${JSON.stringify({ type: "control_response", response: { subtype: "success", request_id, response: { behavior: "allow" } } })}\n`);
  assert.deepEqual(texts((await asking.ended).lines), ["TOOL-RESULT: done 2\n"]);
});

test("codex: threads, MCP servers by -c, failures, resume", async (t) => {
  const { run, log } = home(t, {});
  const servers = ["-c", `mcp_servers.cru.command=${JSON.stringify(echo.command)}`, "-c", `mcp_servers.cru.args=${JSON.stringify(echo.args)}`, "-c", 'mcp_servers.cru.env={ MARK = "toml", "B" = \'x\' }'];
  const { code, lines, stderr } = await run("codex", ["exec", "--json", "-m", "gpt-x", "--sandbox", "read-only", ...servers, '<<CALL where {}>> <<SAY {{model}} {{result}}>>']);
  assert.equal(code, 0, stderr);
  assert.deepEqual(lines.map(({ type, item }) => (item ? `${type} ${item.type}` : type)), ["thread.started", "turn.started", "item.started mcp_tool_call", "item.completed mcp_tool_call", "item.completed agent_message", "turn.completed"]);
  assert.deepEqual([lines[4].item.text, lines[3].item.result.content[0].text, lines[3].item.status], ["gpt-x mark toml", "mark toml", "completed"]);
  assert.equal(log()[0].config.mcp_servers.cru.env.B, "x");
  const { thread_id } = lines[0];
  const again = await run("codex", ["exec", "--json", "resume", thread_id, "<<SAY again {{before}}>>"]);
  assert.match(again.lines.find(({ item }) => item)?.item.text ?? "", /^again <<CALL where/);
  assert.equal(again.lines[0].thread_id, thread_id);
  assert.match((await run("codex", ["exec", "--json", "resume", "none", "x"])).stderr, /no rollout found/);
  const failed = await run("codex", ["exec", "--json", "<<ERROR stream disconnected>>"]);
  assert.deepEqual([failed.code, failed.lines.at(-1)], [1, { type: "turn.failed", error: { message: "stream disconnected" } }]);
  const broken = await run("codex", ["exec", "--json", "<<FAIL 3 no disk>>"]);
  assert.deepEqual([broken.code, broken.stderr], [3, "no disk\n"]);
});

test("gemini: its six kinds of line, MCP servers of its settings, resume", async (t) => {
  const { run, folder } = home(t);
  writeFileSync(join(folder, "settings.json"), JSON.stringify({ mcpServers: { cru: echo } }));
  const env = { GEMINI_CLI_SYSTEM_SETTINGS_PATH: join(folder, "settings.json") };
  const { code, lines, stderr } = await run("gemini", ["--output-format", "stream-json", "-m", "g", "--approval-mode", "yolo", "--prompt", '<<LIMIT>> <<CALL echo {"text":"a"}>> <<SAY it says {{result}}, a line longer than a piece>>'], { env });
  assert.equal(code, 0, stderr);
  assert.deepEqual([...new Set(lines.map(({ type }) => type))], ["init", "message", "error", "tool_use", "tool_result", "result"]);
  assert.equal(lines.filter(({ role }) => role === "assistant").map(({ content }) => content).join(""), "it says echo:a, a line longer than a piece");
  assert.deepEqual([lines.at(-1).status, lines.at(-1).stats.tool_calls], ["success", 1]);
  const again = await run("gemini", ["--output-format", "stream-json", "--resume", lines[0].session_id, "--prompt", "again"]);
  assert.match(again.lines.filter(({ role }) => role === "assistant").map(({ content }) => content).join(""), /^before: <<LIMIT/);
  assert.equal((await run("gemini", ["--output-format", "stream-json", "--resume", "none", "--prompt", "x"])).code, 42);
  assert.equal((await run("gemini", ["--approval-mode", "never", "--prompt", "x"])).code, 1);
});
