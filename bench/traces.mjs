// `cru sessions trace` of a chat with 1,000 agents: from the start of the verb until the whole tree is written.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { median, now, Project, quick, row, waitFor } from "./harness.mjs";

const count = 1000;
const rounds = quick ? 3 : 15;

/// Spawns agents with the scripted mind, which answers at once, all for one client; the id of one of them.
async function spawnAgents(project) {
  let next = 0, last = "";
  const work = async () => {
    while (next < count) {
      const task = `look at part ${next++}`;
      const spawn = () => project.request("POST", "/subagents", { agent: "explorer", model: "scripted", task, wait_seconds: 0 }, { "Cru-Agent-Id": "bench" });
      // So many wait in the queue of a chat, and no more.
      ({ task_id: last } = await waitFor(() => spawn().catch((error) => { if (!error.message.includes("overloaded")) throw error; }), { within: 600_000, what: "there is room in the queue" }));
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  await waitFor(async () => (await project.get(`/traces/${last}`)).status !== "running", { within: 600_000, every: 250, what: "all agents are done" });
  return last;
}

export const title = `the trace of ${count} agents`;
export async function run() {
  const project = new Project();
  try {
    writeFileSync(join(project.root, ".crucible/config.yaml"), "crew:\n  max_concurrent: 100\n");
    await project.startDaemon();
    const begun = now();
    const id = await spawnAgents(project);
    const spawned = now() - begun;
    const [shown, asked] = [[], []];
    let lines = 0;
    for (let round = 0; round < rounds; ++round) {
      let from = now();
      lines = project.cru("sessions", "trace", id).trimEnd().split("\n").length;
      shown.push(now() - from);
      from = now();
      const { spans } = await project.get(`/traces/${id}`);
      asked.push(now() - from);
      if (spans.length < count) throw new Error(`${spans.length} of ${count} agents are in the trace`);
    }
    if (lines < count) throw new Error(`${lines} lines for ${count} agents`);
    return [
      row("cru sessions trace ID: median", "ms", median(shown), { aim: 1000, better: "less", rounds: shown }),
      row("GET /traces/ID: median", "ms", median(asked), { better: "less", rounds: asked }),
      row("agents that were spawned and answered", "agents/s", count / (spawned / 1000)),
    ];
  } finally {
    await project.close();
  }
}
