// A message to 1,000 WebSocket clients, from its POST until the last has it, and the server's memory, beside npm `ws`
// in node: the same native driver, one message at a time. Ours makes each message durable before it tells anybody
// (a transaction and a sync); the peer is measured without that, and with a line appended and synced.
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { measure, median, Project, quick, repository, row } from "./harness.mjs";

const rounds = quick ? 1 : 3;
const clients = 1000;
const messages = quick ? 50 : 200;

async function startPeer(file) {
  const server = fork(join(repository, "bench/live/ws_server.mjs"), file ? [file] : [], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const [{ port }] = await Promise.race([
    once(server, "message"),
    once(server, "exit").then(() => { throw new Error("the peer ended before it listened"); }),
  ]);
  return { port, pid: server.pid, path: "/ws", post: "/world/broadcast", token: "none", stop: () => server.kill("SIGTERM") && once(server, "exit") };
}

/// Each measurement has a server of its own: memory that the one before left must not be found again.
async function startOurs() {
  const project = new Project();
  await project.startDaemon();
  const { port } = new URL(project.url);
  return { port, pid: project.daemonPid, path: `/ws?token=${project.token}`, post: "/world/broadcast", token: project.token, stop: () => project.close() };
}

export const title = `WebSocket fan-out to ${clients} clients`;
export async function run() {
  const folder = new Project();
  const found = { ours: [], plain: [], durable: [] };
  const start = { ours: startOurs, plain: () => startPeer(null), durable: () => startPeer(join(folder.root, "peer.jsonl")) };
  try {
    for (let round = 0; round < rounds; ++round)
      for (const [name, list] of Object.entries(found)) {
        const server = await start[name]();
        try {
          list.push(measure("fan_out", server.port, server.pid, server.path, server.post, server.token, clients, messages));
        } finally {
          await server.stop();
        }
      }
  } finally {
    await folder.close();
  }
  const names = { plain: "npm ws", durable: "npm ws, append+fdatasync" };
  const compare = (what, unit, pick, peer, more) => {
    const ours = found.ours.map(pick);
    return row(what, unit, median(ours), { peer: median(found[peer].map(pick)), peer_name: names[peer], better: "less", aim_of: "ratio", rounds: ours, ...more });
  };
  const times = ["plain", "durable"].flatMap((peer) => [
    compare("until all have it, p50", "us", (each) => each.all.p50_us, peer, { aim: 1 }),
    compare("until all have it, p99", "us", (each) => each.all.p99_us, peer, { aim: 1 }),
    compare("to each client, p50", "us", (each) => each.each.p50_us, peer),
    compare("to each client, p99", "us", (each) => each.each.p99_us, peer),
  ]);
  return [
    ...times,
    compare("the server's CPU a message", "us", (each) => each.cpu_us, "plain"),
    compare("the server's CPU a message", "us", (each) => each.cpu_us, "durable"),
    compare("memory a client, idle", "kB", (each) => each.idle_kb_each, "plain", { aim: 1 / 10 }),
    compare("memory a client, after the messages", "kB", (each) => each.used_kb_each, "plain", { aim: 1 / 10 }),
    compare("resident, all in all", "kB", (each) => each.after_kb, "plain"),
    compare("a client connects", "us", (each) => each.connect_us, "plain"),
  ];
}
