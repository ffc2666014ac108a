// Claims and completions a second of the work queue beside beanstalkd, Redis and PostgreSQL, all with a sync before they
// answer and over a unix socket, by one native driver that looks up every item afterwards: done, and claimed once. Ours,
// Redis and PostgreSQL make the claim durable too, beanstalkd only the completion: it forgets who had reserved what.
import { measure, median, Project, quick, row } from "./harness.mjs";
import { startPeers } from "./work/peers.mjs";

const rounds = quick ? 1 : 3;
const items = quick ? { 1: 200, 64: 2000 } : { 1: 2000, 64: 20_000 };

export const title = "durable work queue, claim + complete";
export async function run() {
  const project = new Project();
  let peers = {};
  try {
    await project.startDaemon();
    peers = await startPeers();
    const sockets = { http: project.socket, mcp: project.socketNamed("door/mcp.sock") };
    for (const [name, peer] of Object.entries(peers)) sockets[name] = peer.socket;
    const found = {};
    for (let round = 0; round < rounds; ++round)
      for (const clients of [1, 64])
        for (const [name, socket] of Object.entries(sockets))
          ((found[clients] ??= {})[name] ??= []).push(measure("claim_complete", name, socket, clients, items[clients]));
    // The same in batches: one request claims or completes several.
    const batches = [4, 16].map((size) => {
      const rates = Array.from({ length: rounds }, () => measure("claim_complete", "mcp", sockets.mcp, 64, items[64], size).per_second);
      return { size, rates };
    });
    const of = (clients, name, field) => (found[clients][name] ? median(found[clients][name].map((each) => each[field])) : null);
    const rows = batches.map(({ size, rates }) => row(`64 clients, mcp.sock, batches of ${size}`, "items/s", median(rates), {
      peer: of(64, "beanstalkd", "per_second"), peer_name: peers.beanstalkd ? "beanstalkd -f 0, one by one" : "",
      aim: size === 16 && peers.beanstalkd ? 5 : null, aim_of: "ratio", rounds: rates,
    }));
    for (const clients of [1, 64]) {
      const many = clients === 1 ? "1 client" : `${clients} clients`;
      // The aim is for the faster of our two wires, and the other peers stand beside that one only.
      const best = of(clients, "mcp", "per_second") > of(clients, "http", "per_second") ? "mcp" : "http";
      const beside = (name, peer, what) => {
        const peer_name = peers[peer]?.name ?? "";
        const aim = clients === 64 && name === best && peer === "beanstalkd" && peer_name ? 1.4 : null;
        rows.push(
          row(what, "items/s", of(clients, name, "per_second"), {
            peer: of(clients, peer, "per_second"), peer_name, aim, aim_of: "ratio", rounds: found[clients][name].map((each) => each.per_second),
          }),
          row(`${what}: p50`, "us", of(clients, name, "p50_us"), { better: "less", peer: of(clients, peer, "p50_us"), peer_name }),
          row(`${what}: p99`, "us", of(clients, name, "p99_us"), { better: "less", peer: of(clients, peer, "p99_us"), peer_name }),
        );
      };
      const wire = { http: "HTTP", mcp: "mcp.sock" };
      for (const name of ["http", "mcp"]) beside(name, "beanstalkd", `${many}, ${wire[name]}`);
      for (const peer of ["redis", "postgresql"]) if (peers[peer]) beside(best, peer, `${many}, ${wire[best]}`);
    }
    return rows;
  } finally {
    for (const peer of Object.values(peers)) await peer.stop();
    await project.close();
  }
}
