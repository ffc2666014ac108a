// Output, child → JSONL, beside cat and tee: the keeper alone, and through the whole daemon, which syncs the file
// before it tells of a line.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { bench_bin, measure, median, now, Project, quick, row, temporaryFolder } from "./harness.mjs";

const mebibytes = 256;
const rounds = quick ? 2 : 5;

function keeperAlone() {
  const folder = temporaryFolder();
  try {
    return measure("keeper_throughput", folder, mebibytes, rounds);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/// Seconds of each way, a round after the other; the first round warms up.
async function throughDaemon() {
  const project = new Project();
  try {
    await project.startDaemon();
    const bytes = mebibytes << 20;
    const producer = join(bench_bin, "produce_lines");
    const file = join(project.root, "peer.out");
    const through = (consumer) => {
      const begun = now();
      const done = spawnSync("sh", ["-c", `${producer} ${bytes} | ${consumer}`], { cwd: project.root });
      const seconds = (now() - begun) / 1000;
      if (done.status !== 0) throw new Error(`${consumer}: ${done.stderr}`);
      rmSync(file);
      return seconds;
    };
    const found = { bytes_in: bytes, bytes_out: 0, daemon: [], cat: [], tee: [], synced: [] };
    for (let round = 0; round <= rounds; ++round) {
      const id = `r${round}`;
      const begun = now();
      project.cru("run", "--detach", "--id", id, "--", producer, String(bytes));
      const run = await project.get(`/agents/${id}?wait_seconds=60`);
      const daemon = (now() - begun) / 1000;
      if (run.status !== "completed" || run.last_seq !== Math.ceil(bytes / 80)) throw new Error(`the run is ${run.status} with ${run.last_seq} lines`);
      const output = join(project.root, run.output_file);
      found.bytes_out = Number(spawnSync("stat", ["-c", "%s", output], { encoding: "utf8" }).stdout);
      rmSync(output);
      const [cat, tee, synced] = [through("cat > peer.out"), through("tee peer.out > /dev/null"), through("cat > peer.out; sync -d peer.out")];
      if (round === 0) continue;
      for (const [name, seconds] of Object.entries({ daemon, cat, tee, synced })) found[name].push(seconds);
    }
    return found;
  } finally {
    await project.close();
  }
}

/// Rows of one level: bytes read from the child for the aim in MB/s, bytes written to disk beside the peers'.
function rowsOf(level, found, ours) {
  const read = ours.map((seconds) => found.bytes_in / seconds / 1e6);
  const written = ours.map((seconds) => found.bytes_out / seconds / 1e6);
  const peer = (seconds) => median(seconds.map((each) => found.bytes_in / each / 1e6));
  const rows = [
    row(`${level}: read from the child`, "MB/s", median(read), { aim: 400, rounds: read, peer: peer(found.cat), peer_name: "cat > file" }),
    row(`${level}: written to the log`, "MB/s", median(written), { aim: 0.5, aim_of: "ratio", rounds: written, peer: peer(found.cat), peer_name: "cat > file" }),
    row(`${level}: written to the log`, "MB/s", median(written), { rounds: written, peer: peer(found.tee), peer_name: "tee file" }),
  ];
  if (found.synced) rows.push(row(`${level}: written to the log`, "MB/s", median(written), { rounds: written, peer: peer(found.synced), peer_name: "cat > file, sync" }));
  return rows;
}

export const title = "output, 80-byte lines";
export async function run() {
  const keeper = keeperAlone();
  const daemon = await throughDaemon();
  return [...rowsOf("keeper", keeper, keeper.keeper), ...rowsOf("daemon", daemon, daemon.daemon)];
}
