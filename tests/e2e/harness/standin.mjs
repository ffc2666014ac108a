// The stand-in Claude Code of fixtures/hooked_claude.mjs, told what to do and asked what happened.
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { cru_bin, here, waitFor } from "./basics.mjs";

/// The program's own folder first in PATH, as a user has it.
export const with_cru = { bin: [dirname(cru_bin)] };

export class StandIn {
  constructor(project, { session_id = randomUUID(), env = {}, source = "startup" } = {}) {
    this.session_id = session_id;
    this.agent_id = env.AGENT_ID ?? `claude-${session_id.slice(0, 8)}`;
    this.child = project.spawn([join(here, "fixtures/hooked_claude.mjs")], {
      argv0: process.execPath, env: { STAND_IN_SESSION: session_id, STAND_IN_SOURCE: source, ...env }, stdio: ["pipe", "pipe", "pipe"],
    });
    this.child.stdin.on("error", () => {});
  }
  get told() { return this.child.text.stdout.split("\n").slice(0, -1).map((line) => JSON.parse(line)); }
  hooks(event) { return this.told.filter(({ hook }) => hook && (!event || hook === event)); }
  async ready() {
    await waitFor(() => this.told.some(({ ready }) => ready), { what: "the session begins" });
    return this.told.find(({ ready }) => ready);
  }
  /// Gives an order and waits until it is carried out; the tool's own line, if it was a tool.
  async order(order) {
    const before = this.told.filter(({ done }) => done).length;
    const tools = this.told.filter(({ tool }) => tool).length;
    this.child.stdin.write(`${JSON.stringify(order)}\n`);
    await waitFor(() => this.told.filter(({ done }) => done).length > before, { every: 5, what: JSON.stringify(order) });
    return this.told.filter(({ tool }) => tool)[tools];
  }
  edit(file_path, content = "text") { return this.order({ tool: "Write", input: { file_path, content } }); }
  async quit() {
    this.child.stdin.write('{"quit":true}\n');
    return this.child.ended;
  }
}
