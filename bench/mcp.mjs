// MCP over stdio beside a server on the official TypeScript SDK, by one native driver: from start to the first
// tools/list, a read and a durable call, calls in a pipeline, memory. `cru mcp` goes through the daemon, which
// runs already; the daemon serves every agent of the project, so its memory stands in a row of its own.
import { join } from "node:path";
import { cru_bin, measureIn, median, memory, Project, quick, repository, row } from "./harness.mjs";

const rounds = quick ? 1 : 3;
const [starts, calls, pipelined] = quick ? [3, 200, 1000] : [5, 1000, 5000];

export const title = "MCP over stdio";
export async function run() {
  const project = new Project();
  try {
    await project.startDaemon();
    const options = { cwd: project.root, env: { ...project.env, AGENT_ID: "bench", AGENT_TYPE: "bench" } };
    const servers = {
      ours: [cru_bin, "mcp"],
      peer: [process.execPath, join(repository, "bench/mcp/sdk_server.mjs"), join(project.root, "peer-locks.jsonl")],
    };
    const found = { ours: [], peer: [] };
    for (let round = 0; round < rounds; ++round)
      for (const [name, command] of Object.entries(servers))
        found[name].push(measureIn(options, "mcp_driver", starts, calls, pipelined, ...command));
    const daemon = memory(project.daemonPid);
    const peer_name = "TypeScript SDK";
    const compare = (what, unit, pick, more) => {
      const [ours, peer] = [found.ours.map(pick), found.peer.map(pick)];
      return row(what, unit, median(ours), { peer: median(peer), peer_name, better: "less", aim_of: "ratio", rounds: ours, ...more });
    };
    return [
      compare("start to first tools/list", "ms", (each) => median(each.first_list_ms), { aim: 1 / 20 }),
      compare("read call, p50", "us", (each) => each.read.p50_us, { aim: 0.5 }),
      compare("read call, p99", "us", (each) => each.read.p99_us),
      compare("read call after a pause of 2 ms, p50", "us", (each) => each.read_paused.p50_us, { aim: 0.6 }),
      compare("durable call, p50", "us", (each) => each.durable.p50_us, { aim: 0.75 }),
      compare("durable call, p99", "us", (each) => each.durable.p99_us),
      compare("read calls, 64 in flight", "calls/s", (each) => each.reads_per_second, { better: "more", aim: 3 }),
      compare("durable calls, 64 in flight", "calls/s", (each) => each.durable_per_second, { better: "more", aim: 6 }),
      compare("resident, after tools/list", "kB", (each) => each.memory_at_start.Rss, { aim: 1 / 20 }),
      compare("resident, after the calls", "kB", (each) => each.memory.Rss, { aim: 1 / 20 }),
      row("the daemon, for all agents together", "kB", daemon.rss, { better: "less" }),
    ];
  } finally {
    await project.close();
  }
}
