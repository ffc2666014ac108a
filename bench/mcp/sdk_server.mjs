// The peer: an MCP server on the official TypeScript SDK, with the two tools that are measured. Reads come from
// a map in memory; a lock is taken when its line is on disk: append and fdatasync, the least that node can do.
//   sdk_server.mjs FILE
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const file = openSync(process.argv[2], "a");
const session_id = randomUUID();
const agent_id = process.env.AGENT_ID ?? "bench";
const locks = new Map();
let last_token = 0;

const isInForce = (lock) => Date.parse(lock.expires_at) > Date.now();
const reply = (structuredContent) => ({ content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent });

const server = new McpServer({ name: "peer", version: "1.0.0" });

server.registerTool("check_locks", {
  title: "Check locks",
  description: "Lists the active locks, or those that cover the given paths",
  inputSchema: { file_paths: z.array(z.string()).max(1000).optional() },
  outputSchema: {
    result: z.array(z.object({
      file_path: z.string(), locked_by: z.string(), session_id: z.string(), reason: z.string().nullable(),
      locked_at: z.string(), expires_at: z.string(), fencing_token: z.number().int(),
    })),
  },
  annotations: { readOnlyHint: true, idempotentHint: true },
}, ({ file_paths }) => {
  const asked = file_paths ? file_paths.flatMap((path) => locks.get(path) ?? []) : [...locks.values()];
  return reply({ result: asked.filter(isInForce) });
});

server.registerTool("acquire_lock", {
  title: "Acquire a lock",
  description: "Acquires or refreshes a lock so that no other agent edits the covered files",
  inputSchema: { file_path: z.string().min(1), reason: z.string().max(1024).optional(), ttl_minutes: z.number().int().min(1).max(480).optional() },
  outputSchema: {
    success: z.boolean(), action: z.string(), file_path: z.string(), expires_at: z.string(), fencing_token: z.number().int(),
  },
  annotations: { idempotentHint: true },
}, ({ file_path, reason = null, ttl_minutes = 120 }) => {
  const held = locks.get(file_path);
  const now = Date.now();
  const lock = {
    file_path, locked_by: agent_id, session_id, reason, locked_at: held?.locked_at ?? new Date(now).toISOString(),
    expires_at: new Date(now + ttl_minutes * 60_000).toISOString(), fencing_token: held?.fencing_token ?? ++last_token,
  };
  writeSync(file, `${JSON.stringify(lock)}\n`);
  fdatasyncSync(file);
  locks.set(file_path, lock);
  return reply({ success: true, action: held ? "refreshed" : "acquired", file_path, expires_at: lock.expires_at, fencing_token: lock.fencing_token });
});

const transport = new StdioServerTransport();
process.stdin.on("end", () => {
  closeSync(file);
  process.exit(0);
});
await server.connect(transport);
