// A crew whose models are all served by a model server of the test: each agent plays the part that the test gives it.
import { readdirSync, readFileSync } from "node:fs";
import { ModelServer } from "../fixtures/model_server.mjs";
import { waitFor } from "./basics.mjs";
import { Crew, key } from "./crew.mjs";

export const prices = { input: 3, output: 15 };
export const served = (more = {}) => ({ provider: "anthropic", id: "model-1", prices, ...more });
export const report = (summary, findings = "None.") => `## Summary\n\n${summary}\n\n## Findings\n\n${findings}\n`;
export const spawning = (agent, task, more = {}) => ({ name: "spawn_agent", input: { agent, task, ...more } });
export const running = (script) => ({ name: "run_command", input: { argv: ["sh", "-c", script] } });
export const every_permission = ["FilesystemRead", "FilesystemWrite", "SemanticSearch", "DatabaseRead", "DatabaseWrite", "NetworkAccess", "ProcessSpawn"];

/// Whose thought a request is: the harness' own prompts name the agent, the plain assistant's does not. "evaluation" is an
/// agent's that judges its own answer.
export const thinker = ({ system }) => /^You are ([a-z0-9-]+)\./.exec(system)?.[1] ?? (system.startsWith("You evaluate ") ? "evaluation" : "assistant");

/// `parts`: {AGENT: reply, or replies by turn (the last for ever), or function of the request}. An agent without a part reports that it is done.
export function play(server, parts) {
  return server.script((request) => {
    const part = parts[thinker(request)] ?? { text: report(`${thinker(request)} is done.`) };
    if (typeof part === "function") return part(request);
    return Array.isArray(part) ? part[Math.min(request.turn, part.length - 1)] : part;
  });
}

/// A started crew and its server. Every agent with a part has a definition, unless `agents` has another.
export async function cast(t, parts, { agents = {}, ...options } = {}) {
  const server = await ModelServer.start({ keys: [key] }, t);
  play(server, parts);
  const named = Object.fromEntries(Object.keys(parts).filter((name) => name !== "assistant").map((name) => [name, {}]));
  const crew = await Crew.started({ server, models: { sonnet: served(), haiku: served({ id: "model-2", prices: { input: 1, output: 5 } }) }, agents: { ...named, ...agents }, ...options }, t);
  return { crew, server, asked: (name) => server.requests.filter((request) => request.body && thinker(request) === name) };
}

/// What the agent was told by its tools, in order.
export const told = (requests) => requests.flatMap(({ results }) => results);

/// The chat's folder, checked, once all of it is written: it is written anew behind each answer.
export const filed = (chat, options) => waitFor(() => chat.files(options), { what: `the files of ${chat.id} are in order` });

/// A number of seconds that nobody else sleeps, and whether a program with that word is there.
export const long = `4${process.pid}`;
export const isRunning = (word) => readdirSync("/proc").filter((name) => /^\d+$/.test(name)).some((pid) => {
  try { return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(word); } catch { return false; }
});
