// Claims and completions a second of the work queue beside beanstalkd with a sync on every write, both over a
// unix socket, by one native driver that looks up every item afterwards: done, and claimed once. Ours makes the
// claim durable too, beanstalkd only the completion: it forgets who had reserved what.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { findProgram, measure, median, Project, quick, row, waitFor } from "./harness.mjs";

const rounds = quick ? 1 : 3;
const items = quick ? { 1: 200, 64: 2000 } : { 1: 2000, 64: 20_000 };

async function startBeanstalkd(root) {
  const program = findProgram("beanstalkd");
  if (!program) return null;
  const folder = join(root, "beanstalkd");
  mkdirSync(folder);
  const socket = join(root, "b.sock");
  const server = spawn(program, ["-l", `unix:${socket}`, "-b", folder, "-f", "0"], { stdio: "ignore" });
  await waitFor(() => existsSync(socket), { within: 5000, what: "beanstalkd listens" });
  return { socket: relative(process.cwd(), socket), stop: () => new Promise((resolve) => server.on("exit", resolve).kill("SIGTERM")) };
}

export const title = "durable work queue, claim + complete";
export async function run() {
  const project = new Project();
  let beanstalkd = null;
  try {
    await project.startDaemon();
    beanstalkd = await startBeanstalkd(project.root);
    const queues = { http: project.socket, mcp: project.socketNamed("door/mcp.sock") };
    if (beanstalkd) queues.beanstalkd = beanstalkd.socket;
    const found = {};
    for (let round = 0; round < rounds; ++round)
      for (const clients of [1, 64])
        for (const [name, socket] of Object.entries(queues))
          ((found[clients] ??= {})[name] ??= []).push(measure("claim_complete", name, socket, clients, items[clients]));
    // The same in batches: one request claims or completes several.
    const batches = [4, 16].map((size) => {
      const rates = Array.from({ length: rounds }, () => measure("claim_complete", "mcp", queues.mcp, 64, items[64], size).per_second);
      return { size, rates };
    });
    const peer_name = beanstalkd ? "beanstalkd -f 0" : "";
    const one_by_one = beanstalkd ? median(found[64].beanstalkd.map((each) => each.per_second)) : null;
    return batches.map(({ size, rates }) => row(`64 clients, mcp.sock, batches of ${size}`, "items/s", median(rates), {
      peer: one_by_one, peer_name: beanstalkd ? "beanstalkd -f 0, one by one" : "", aim: size === 16 && beanstalkd ? 5 : null, aim_of: "ratio", rounds: rates,
    })).concat([1, 64].flatMap((clients) => {
      const of = (name, field) => (found[clients][name] ? median(found[clients][name].map((each) => each[field])) : null);
      const many = clients === 1 ? "1 client" : `${clients} clients`;
      // The aim is for the faster of our two wires.
      const best = of("mcp", "per_second") > of("http", "per_second") ? "mcp" : "http";
      return ["http", "mcp"].flatMap((name) => {
        const what = `${many}, ${name === "mcp" ? "mcp.sock" : "HTTP"}`;
        const aim = clients === 64 && name === best && beanstalkd ? 1.4 : null;
        return [
          row(what, "items/s", of(name, "per_second"), {
            peer: of("beanstalkd", "per_second"), peer_name, aim, aim_of: "ratio", rounds: found[clients][name].map((each) => each.per_second),
          }),
          row(`${what}: p50`, "us", of(name, "p50_us"), { better: "less", peer: of("beanstalkd", "p50_us"), peer_name }),
          row(`${what}: p99`, "us", of(name, "p99_us"), { better: "less", peer: of("beanstalkd", "p99_us"), peer_name }),
        ];
      });
    }));
  } finally {
    await beanstalkd?.stop();
    await project.close();
  }
}
