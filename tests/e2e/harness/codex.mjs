// A real Codex, named by CRU_TEST_CODEX: its app server, which reads and writes config.toml as its TUI does.
import { createInterface } from "node:readline";
import { inTime } from "./basics.mjs";

export const codex_bin = process.env.CRU_TEST_CODEX;
export const needs_codex = { skip: !codex_bin && "CRU_TEST_CODEX names no codex" };

export class CodexServer {
  constructor(project, env = {}) {
    this.root = project.root;
    this.child = project.spawn(["app-server"], { argv0: codex_bin, env, stdio: ["pipe", "pipe", "pipe"] });
    this.waiting = new Map();
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const { id, result, error } = JSON.parse(line);
      this.waiting.get(id)?.({ result, error });
    });
  }
  static async started(project, env) {
    const server = new CodexServer(project, env);
    await server.ask("initialize", { clientInfo: { name: "cru-test", version: "1" } });
    server.child.stdin.write('{"jsonrpc":"2.0","method":"initialized"}\n');
    return server;
  }
  async ask(method, params) {
    const id = this.waiting.size + 1;
    const { result, error } = await inTime(new Promise((told) => {
      this.waiting.set(id, told);
      this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    }), `codex answers ${method}`);
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }
  /// The hooks as Codex sees them: {key, command, trustStatus, currentHash, …}.
  async hooks() {
    const { data: [{ hooks, warnings, errors }] } = await this.ask("hooks/list", { cwds: [this.root] });
    if (warnings.length || errors.length) throw new Error(JSON.stringify({ warnings, errors }));
    return hooks;
  }
  write(keyPath, value) { return this.ask("config/value/write", { keyPath, value, mergeStrategy: "upsert" }); }
  /// What "Trust all and continue" does.
  async trust() {
    const value = Object.fromEntries((await this.hooks()).map(({ key, currentHash }) => [key, { trusted_hash: currentHash }]));
    await this.ask("config/batchWrite", { edits: [{ keyPath: "hooks.state", value, mergeStrategy: "upsert" }], reloadUserConfig: true });
  }
  stop() {
    this.child.stdin.end();
    return this.child.ended;
  }
}
