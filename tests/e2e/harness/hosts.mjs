// Claude Code and Codex as processes (fixtures/hosts): their hooks and MCP servers are started as the real ones start
// them, and say what the real ones say, so the daemon has to find out who is who by itself.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, changeDatabase } from "./agents.mjs";
import { here, inTime, patience, waitFor } from "./basics.mjs";
import { Project } from "../harness.mjs";
import { with_cru } from "./standin.mjs";

/// A project with the hooks of both installed, which have the patience of their test.
export async function hostedProject(t, options = {}) {
  const project = await Project.started({ git: true, ...with_cru, ...options }, t);
  project.env.CRU_HOOK_LIMIT_MS = String(patience);
  for (const words of [["hooks", "install"], ["hooks", "install", "--codex"]]) {
    const { code, stdout, stderr } = await project.cru(...words);
    assert.equal(code, 0, stdout + stderr);
  }
  project.witness = new Agent(project, "witness");
  return project;
}

/// A folder for PATH with a `claude` that says this of its version.
export function claudeThatSays(t, version) {
  const folder = mkdtempSync(join(tmpdir(), "cru-e2e-claude-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "claude"), `#!/bin/sh\necho '${version} (Claude Code)'\n`, { mode: 0o755 });
  return folder;
}

/// Whom others see: the sessions that are there.
export const agentsOf = async (project) => (await project.witness.ask("discover_agents")).agents;
export const locksOf = async (project) => (await project.witness.ask("check_locks")).result;
/// {file: holder's name}
export const holders = async (project) => Object.fromEntries((await locksOf(project)).map(({ file_path, locked_by }) => [file_path, locked_by]));
/// The members there are, from the database; the daemon must be down.
export const membersIn = (project, columns = "name, kind") => changeDatabase(project, `SELECT ${columns} FROM members WHERE ended_at IS NULL ORDER BY started_at, name`).filter(Boolean);

class Host {
  constructor(project, program, env = {}) {
    this.project = project;
    this.child = project.spawn([join(here, `fixtures/hosts/${program}.mjs`)], { argv0: process.execPath, env, stdio: ["pipe", "pipe", "inherit"] });
    this.child.stdin.on("error", () => {});
    this.orders = 0;
  }
  get pid() { return this.child.pid; }
  get told() { return this.child.text.stdout.split("\n").slice(0, -1).map((line) => JSON.parse(line)); }
  /// Gives an order and waits for its answer.
  async order(order) {
    const id = ++this.orders;
    this.child.stdin.write(`${JSON.stringify({ id, ...order })}\n`);
    const answer = await waitFor(() => this.told.find((line) => line.id === id), { every: 5, what: JSON.stringify(order) });
    if (answer.trouble) throw new Error(`${JSON.stringify(order)}: ${answer.trouble}`);
    return answer;
  }
  /// The hooks of an event, with what every input has; what they say, as an object.
  async fire(session_id, event, more = {}, tool) {
    const input = { session_id, transcript_path: join(this.project.root, `${session_id}.jsonl`), cwd: this.project.root, hook_event_name: event, ...more };
    const outputs = [];
    for (const command of this.commands(event, tool)) {
      const { exit_code, stdout, stderr } = await this.order({ hook: command, input });
      assert.deepEqual([event, exit_code, stderr], [event, 0, ""], stdout);
      outputs.push(stdout.trim() ? JSON.parse(stdout).hookSpecificOutput ?? {} : {});
    }
    assert.ok(outputs.length > 0 || event === "PreToolUse", `no hook of cru for ${event}`);
    return outputs[0] ?? {};
  }
  /// PreToolUse of an edit: null, or why it is denied.
  async deniedBy(session_id, tool_name, tool_input) {
    const { permissionDecision, permissionDecisionReason } = await this.fire(session_id, "PreToolUse", { tool_name, tool_input, tool_use_id: "toolu_1", permission_mode: "default" }, tool_name);
    return permissionDecision === "deny" ? permissionDecisionReason : null;
  }
  async use(server, tool, input, meta) {
    const answer = await this.order({ call: tool, server, input, meta });
    if (answer.is_error) throw new Error(`${tool}: ${answer.text}`);
    return answer.structured ?? JSON.parse(answer.text);
  }
  async kill(signal = "SIGKILL") {
    this.child.kill(signal);
    return this.child.ended;
  }
}

/// A Claude Code at its prompt: one conversation, whose id changes.
export class Claude extends Host {
  static async started(project, { session = randomUUID(), source = "startup", ...env } = {}) {
    const claude = new Claude(project, "claude", env);
    claude.session = session;
    claude.settings = JSON.parse(readFileSync(project.path(".claude/settings.json"), "utf8"));
    // The server and the first hook race.
    const [{ pid }, { additionalContext }] = await Promise.all([claude.order({ open: "cru", session }), claude.fire(session, "SessionStart", { source })]);
    claude.context = additionalContext;
    claude.server_pid = pid;
    return claude;
  }
  commands(event, tool) {
    const fits = ({ matcher }) => !matcher || matcher === "*" || tool === undefined || new RegExp(`^(?:${matcher})$`).test(tool);
    return (this.settings.hooks[event] ?? []).filter(fits).flatMap(({ hooks }) => hooks).map(({ command }) => command);
  }
  call(tool, input) { return this.use("cru", tool, input, { "claudecode/toolUseId": "toolu_1" }); }
  edit(file) { return this.deniedBy(this.session, "Write", { file_path: this.project.path(file), content: "x" }); }
  /// /clear, or /resume of an older conversation in the same process.
  async clear() { return this.change("clear", randomUUID()); }
  async resume(session) { return this.change("resume", session); }
  async change(reason, next) {
    await this.fire(this.session, "SessionEnd", { reason });
    this.session = next;
    this.context = (await this.fire(next, "SessionStart", { source: reason })).additionalContext;
  }
  async quit(reason = "prompt_input_exit") {
    await this.order({ close: "cru", signal: "SIGINT" });
    await this.fire(this.session, "SessionEnd", { reason });
    this.child.stdin.end();
    return this.child.ended;
  }
}

/// A Codex with its threads: one for a terminal of its own, several for an app server.
export class Codex extends Host {
  static async started(project, env = {}) {
    const codex = new Codex(project, "codex", env);
    codex.config = readFileSync(join(project.home, ".codex/config.toml"), "utf8");
    return codex;
  }
  commands(event, tool) {
    const table = this.config.match(new RegExp(`\\[\\[hooks\\.${event}\\]\\]([^]*?)(?=\\n\\[|$)`))?.[1] ?? "";
    const matcher = table.match(/^matcher = "(.*)"$/m)?.[1];
    if (matcher && tool !== undefined && !new RegExp(matcher).test(tool)) return [];
    return [...table.matchAll(/command = "([^"]*)"/g)].map(([, command]) => command);
  }
  /// A thread's server is there before its first turn, which begins its session.
  async thread({ source = "startup", session = randomUUID(), begins = true } = {}) {
    const thread = new Thread(this, session);
    await this.order({ open: session });
    if (begins) await thread.begin(source);
    return thread;
  }
  /// /clear in a terminal: another thread. The old one ends later, or never.
  async clear(thread) {
    const next = await this.thread({ source: "clear" });
    next.before = thread;
    return next;
  }
  async quit(...threads) {
    for (const thread of threads) await this.order({ close: thread.session, signal: "SIGTERM" });
    for (const thread of threads) await this.fire(thread.session, "SessionEnd", { reason: "other" });
    this.child.stdin.end();
    return this.child.ended;
  }
}

class Thread {
  constructor(codex, session) { Object.assign(this, { codex, session }); }
  async begin(source) { this.context = (await this.codex.fire(this.session, "SessionStart", { source, model: "gpt-5.5", permission_mode: "default" })).additionalContext; }
  call(tool, input) {
    return this.codex.use(this.session, tool, input, { callId: "call_1", threadId: this.session, sessionId: this.session, "x-codex-turn-metadata": { session_id: this.session, thread_id: this.session } });
  }
  edit(file) { return this.codex.deniedBy(this.session, "apply_patch", { command: `*** Begin Patch\n*** Update File: ${file}\n@@\n-a\n+b\n*** End Patch` }); }
  /// As its server ends a thread that nobody looks at any more.
  async end() {
    await this.codex.order({ close: this.session });
    await this.codex.fire(this.session, "SessionEnd", { reason: "other" });
  }
}

export { inTime };
