// Agents without a program: coordination calls over the unix socket, with the headers that `cru mcp` would send.
import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { exchange } from "./client.mjs";

const routes = {
  register_session: ["POST", "/sessions"],
  heartbeat: ["POST", "/sessions/heartbeat"],
  discover_agents: ["GET", "/sessions"],
  list_crew: ["GET", "/crew"],
  end_session: ["POST", "/sessions/end"],
  cleanup_dead_agents: ["POST", "/sessions/cleanup"],
  acquire_lock: ["POST", "/locks"],
  release_lock: ["POST", "/locks/release"],
  check_locks: ["POST", "/locks/check"],
  check_edit: ["POST", "/edits"],
  submit_work: ["POST", "/work"],
  get_work: ["POST", "/work/claim"],
  complete_work: ["POST", "/work/{task_id}/complete"],
  complete_several: ["POST", "/work/complete"],
  cancel_work: ["POST", "/work/{task_id}/cancel"],
  list_work: ["GET", "/work"],
  get_work_item: ["GET", "/work/{task_id}"],
  why_work: ["GET", "/work/{task_id}/why"],
  write_handoff: ["POST", "/handoffs"],
  read_handoff: ["GET", "/handoffs/latest"],
  list_handoffs: ["GET", "/handoffs"],
  remember: ["POST", "/memory"],
  recall: ["POST", "/memory/recall"],
  check_guardrails: ["POST", "/guardrails"],
  ask_user: ["POST", "/questions/ask"],
};

export class Agent {
  constructor(project, agent_id, { session_id = randomUUID(), headers = {} } = {}) {
    Object.assign(this, { project, agent_id, session_id, more: headers });
  }

  /// One call. Never throws for a refusal: {status, json}.
  async call(operation, input = {}, { request_id, timeout, where = this.project.unix } = {}) {
    const [method, pattern] = routes[operation];
    const rest = { ...input };
    const path = pattern.replace(/\{(\w+)\}/g, (_, name) => {
      const value = encodeURIComponent(rest[name]);
      delete rest[name];
      return value;
    });
    const headers = {
      "Cru-Agent-Id": this.agent_id, "Cru-Agent-Type": "claude_code", "Cru-Session-Id": this.session_id,
      ...(request_id ? { "Cru-Request-Id": request_id } : {}), ...this.more,
    };
    const query = method === "GET" && Object.keys(rest).length ? `?${new URLSearchParams(rest)}` : "";
    return exchange(where, method, path + query, { headers, timeout, body: method === "GET" ? undefined : rest });
  }

  /// The reply of a call that must succeed.
  async ask(operation, input, options) {
    const { status, json, text } = await this.call(operation, input, options);
    if (status >= 300 || json?.success === false) throw new Error(`${operation} of ${this.agent_id}: ${status} ${text}`);
    return json;
  }

  /// What others see of it, or undefined.
  async seenBy(other, status) {
    const { agents } = await other.ask("discover_agents", status ? { status } : {});
    return agents.find((one) => one.session_id === this.session_id);
  }
}

/// What coordination holds, to be compared before and after.
export async function stateOf(agent) {
  const { result: locks } = await agent.ask("check_locks");
  const { work } = await agent.ask("list_work", { limit: 1000 });
  const { handoffs } = await agent.ask("list_handoffs", { limit: 1000 });
  const { memories } = await agent.ask("recall", { limit: 1000 });
  const { json: { questions } } = await agent.project.get("/questions");
  return { locks, work, handoffs: handoffs.map(({ id }) => id), memories: memories.map(({ memory_id }) => memory_id), questions: questions.map(({ id }) => id) };
}

/// One statement at the database; the daemon must be down.
export function changeDatabase(project, sql) {
  const { status, stdout, stderr } = spawnSync("sqlite3", [project.path(".coven/coven.db"), sql], { encoding: "utf8" });
  if (status) throw new Error(`sqlite3: ${stderr}`);
  return stdout.trim().split("\n");
}

/// Moves a session's last heartbeat back, on both clocks; the daemon must be down. So an agent is stale without a stale_after
/// so short that a busy machine would make the others stale too.
export function age(project, { session_id }, minutes) {
  const columns = changeDatabase(project, "SELECT name FROM pragma_table_info('agent_sessions') WHERE name LIKE '%heartbeat%' AND name NOT LIKE '%boot_id'");
  if (columns.length < 2) throw new Error(`the columns of a heartbeat are: ${columns}`);
  const earlier = columns.map((name) => `${name} = ${name} - ${Math.round(minutes * 60_000)}${/nano|_ns/.test(name) ? "000000" : ""}`);
  changeDatabase(project, `UPDATE agent_sessions SET ${earlier.join(", ")} WHERE session_id = '${session_id}'`);
}

/// The session's agent as one without a process on this machine, which lives by its heartbeat alone.
export function moveAway(project, { session_id }) {
  changeDatabase(project, `UPDATE members SET host_pid = NULL WHERE session_id = '${session_id}'`);
}

/// Another process holds the database's write lock until `letGo` is called.
export async function holdDatabase(project) {
  const child = spawn("sqlite3", [project.path(".coven/coven.db")], { stdio: ["pipe", "pipe", "inherit"] });
  const closed = new Promise((resolve) => child.on("close", resolve));
  project.children.add(child);
  child.stdin.write(".timeout 240000\nBEGIN IMMEDIATE;\n.print held\n");
  await new Promise((resolve, reject) => {
    child.stdout.once("data", (text) => (String(text).includes("held") ? resolve() : reject(new Error(String(text)))));
    child.once("close", () => reject(new Error("sqlite3 ended")));
  });
  return async () => {
    child.stdin.end("ROLLBACK;\n.quit\n");
    await closed;
    project.children.delete(child);
  };
}
