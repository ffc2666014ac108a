// What the daemon's readers of events cost: its CPU time while 1, 16 and 64 of them follow a run that writes
// 2,500 lines a second, as server-sent events.
import { readFileSync, readdirSync } from "node:fs";
import net from "node:net";
import { median, Project, quick, row, sleep } from "./harness.mjs";

const rounds = quick ? 1 : 3;
const seconds = quick ? 3 : 5;
const counts = [1, 16, 64];

/// Milliseconds that all threads of a process have used.
function cpuTime(pid) {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
  return nanoseconds / 1e6;
}

/// Reads events and looks at none; resolves when the answer has begun.
function follow(project) {
  const reader = { bytes: 0, socket: net.connect(project.socket) };
  reader.begun = new Promise((resolve, reject) => {
    reader.socket.on("error", reject);
    reader.socket.on("data", (part) => {
      reader.bytes += part.length;
      resolve();
    });
  });
  reader.socket.write("GET /events?type=agent.*&since=0 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n");
  return reader;
}

const producer = `
const lines = (Array.from({length: 50}, (_, i) => String(i).padStart(8, "0") + " the quick brown fox jumps over the lazy dog and writes a line of eighty.....").join("\\n") + "\\n");
let left = ${seconds * 50};
const timer = setInterval(() => { process.stdout.write(lines); if (--left === 0) clearInterval(timer); }, 20);`;

async function measureWith(count) {
  const project = new Project();
  try {
    await project.startDaemon();
    project.cru("run", "--detach", "--id", "before", "--", "true");
    const readers = Array.from({ length: count }, () => follow(project));
    await Promise.all(readers.map((reader) => reader.begun));
    await sleep(1000);
    const pid = project.daemonPid;
    const before = cpuTime(pid);
    const read = readers[0].bytes;
    project.cru("run", "--detach", "--id", "busy", "--", process.execPath, "-e", producer);
    const run = await project.get("/agents/busy?wait_seconds=60");
    await sleep(500);
    const used = cpuTime(pid) - before;
    if (run.last_seq !== seconds * 2500) throw new Error(`the run is ${run.status} with ${run.last_seq} lines`);
    if (readers.some((reader) => reader.bytes - read < run.last_seq * 80)) throw new Error("a reader has not read all");
    for (const { socket } of readers) socket.destroy();
    return used / seconds;
  } finally {
    await project.close();
  }
}

export const title = "readers of a busy run's events";
export async function run() {
  const rows = [];
  for (const count of counts) {
    const found = [];
    for (let round = 0; round < rounds; ++round) found.push(await measureWith(count));
    rows.push(row(`CPU time of the daemon, ${count} ${count === 1 ? "reader" : "readers"}`, "ms/s", median(found), { rounds: found, better: "less" }));
  }
  return rows;
}
