// Requests a second over loopback, 16 connections kept alive, beside nginx with one worker (our engine is one
// thread) that serves the same bytes from files. `GET /agents` also while somebody else writes all the time.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { findProgram, median, Project, quick, row, waitFor } from "./harness.mjs";

const rounds = quick ? 1 : 3;

async function wrk(url, token) {
  const args = ["-t1", "-c16", `-d${quick ? 1 : 2}s`, "--latency", "-H", `Authorization: Bearer ${token}`, url];
  const child = spawn("wrk", args);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (part) => (stdout += part));
  child.stderr.on("data", (part) => (stderr += part));
  const status = await new Promise((resolve) => child.on("close", resolve).on("error", (error) => resolve(error.message)));
  if (status !== 0 || /Non-2xx|Socket errors/.test(stdout)) throw new Error(`wrk ${url}: ${status} ${stdout + stderr}`);
  const micros = ([, number, unit]) => Number(number) * { us: 1, ms: 1000, s: 1e6 }[unit];
  return { rate: Number(stdout.match(/Requests\/sec:\s+([\d.]+)/)[1]), p99: micros(stdout.match(/^\s+99%\s+([\d.]+)(us|ms|s)$/m)) };
}

const freePort = () => new Promise((resolve, reject) => {
  const server = net.createServer().on("error", reject).listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

const answers = (port) => new Promise((resolve) => {
  const socket = net.connect(port, "127.0.0.1", () => resolve(socket.destroy() && true)).on("error", () => resolve(false));
});

/// nginx in the foreground in a folder of its own, or null where it is not installed.
async function startNginx(root, files) {
  const program = findProgram("nginx");
  if (!program) return null;
  const folder = join(root, "nginx");
  for (const name of ["", "www", "temp"]) mkdirSync(join(folder, name), { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, "www", name), content);
  const port = await freePort();
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `${kind}_temp_path temp/${kind};`).join(" ");
  writeFileSync(join(folder, "nginx.conf"), `
worker_processes 1; daemon off; pid nginx.pid; error_log error.log;
${process.getuid() === 0 ? "user root;" : ""}
events { worker_connections 256; }
http {
  access_log off; ${temp}
  keepalive_requests 100000000; tcp_nodelay on; sendfile on; open_file_cache max=16; default_type application/json;
  server { listen 127.0.0.1:${port}; root www; }
}
`);
  const server = spawn(program, ["-p", folder, "-e", "error.log", "-c", "nginx.conf"], { stdio: "ignore" });
  await waitFor(() => answers(port), { within: 5000, what: "nginx answers" });
  return { url: `http://127.0.0.1:${port}/`, stop: () => new Promise((resolve) => server.on("exit", resolve).kill("SIGTERM")) };
}

/// Calls `work` while another writes one commit after the other; how many a second.
async function whileWriting(project, work) {
  let [written, stopped] = [0, false];
  const begun = performance.now();
  const writing = (async () => {
    for (; !stopped; ++written) await project.request("POST", "/work", { task_type: "bench", description: "written meanwhile" }, { "Cru-Agent-Id": "writer" });
  })();
  const result = await work().finally(() => (stopped = true));
  await writing;
  return { ...result, commits: written / ((performance.now() - begun) / 1000) };
}

export const title = "HTTP over loopback, 16 connections";
export async function run() {
  const project = new Project();
  let nginx = null;
  try {
    await project.startDaemon();
    await project.startSleepers(10);
    const paths = ["health", "agents"];
    const busy = [];
    const files = {};
    for (const path of paths) files[path] = JSON.stringify(await project.get(`/${path}`));
    nginx = await startNginx(project.root, files);
    const found = {};
    for (let round = 0; round < rounds; ++round)
      for (const path of paths) {
        (found[path] ??= { ours: [], peer: [] }).ours.push(await wrk(project.url + path, project.token));
        if (path === "agents") busy.push(await whileWriting(project, () => wrk(project.url + path, project.token)));
        if (nginx) found[path].peer.push(await wrk(nginx.url + path, project.token));
      }
    const of = (list, field) => (list.length ? median(list.map((each) => each[field])) : null);
    const peer_name = nginx ? "nginx, static file" : "";
    const rows = paths.flatMap((path) => {
      const { ours, peer } = found[path];
      const what = path === "agents" ? `GET /agents (10 runs, ${files.agents.length} bytes)` : `GET /${path}`;
      return [
        row(what, "requests/s", of(ours, "rate"), { peer: of(peer, "rate"), peer_name, rounds: ours.map((each) => each.rate), ...(path === "agents" && nginx ? { aim: 0.5, aim_of: "ratio" } : {}) }),
        row(`${what}: p99`, "us", of(ours, "p99"), { better: "less", peer: of(peer, "p99"), peer_name }),
      ];
    });
    const what = `GET /agents while ${Math.round(of(busy, "commits"))} commits a second are made`;
    rows.push(row(what, "requests/s", of(busy, "rate"), { peer: of(found.agents.peer, "rate"), peer_name, rounds: busy.map((each) => each.rate), ...(nginx ? { aim: 0.5, aim_of: "ratio" } : {}) }));
    rows.push(row(`${what}: p99`, "us", of(busy, "p99"), { better: "less", peer: of(found.agents.peer, "p99"), peer_name }));
    return rows;
  } finally {
    await nginx?.stop();
    await project.close();
  }
}
