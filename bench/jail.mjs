// What a jail costs: the start of a confined command beside a plain one, the same with bubblewrap, and the keeper's memory.
import { spawnSync } from "node:child_process";
import { median, memory, now, Project, quick, row } from "./harness.mjs";

const starts = quick ? 20 : 100, sleepers = quick ? 20 : 100;

/// Milliseconds from the request to the reply, which comes when the program runs.
async function startTime(project, confine) {
  const begun = now();
  const { task_id } = await project.request("POST", "/tasks", { argv: ["true"], stdin: false, confine });
  const took = now() - begun;
  await project.get(`/agents/${task_id}?wait_seconds=10`);
  return took;
}

/// KiB of a new keeper for each of so many runs that sleep: one that had runs before reuses their memory.
async function keeperMemory(confine) {
  const project = new Project();
  try {
    await project.startDaemon();
    await startTime(project, confine);
    const before = memory(project.keeperPid).anonymous;
    for (let i = 0; i < sleepers; ++i) await project.request("POST", "/tasks", { argv: ["sleep", "1000"], stdin: false, confine });
    return (memory(project.keeperPid).anonymous - before) / sleepers;
  } finally {
    await project.close();
  }
}

function timeOf(argv) {
  const begun = now();
  if (spawnSync(argv[0], argv.slice(1)).status !== 0) throw new Error(`${argv.join(" ")} failed`);
  return now() - begun;
}

export const title = "jail";
export async function run() {
  const project = new Project();
  try {
    await project.startDaemon();
    await startTime(project, true);
    await startTime(project, false);
    const plain = [], confined = [], bare = [], wrapped = [];
    const wrap = ["bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--unshare-pid", "--unshare-ipc", "true"];
    for (let i = 0; i < starts; ++i) {
      plain.push(await startTime(project, false));
      confined.push(await startTime(project, true));
      bare.push(timeOf(["true"]));
      wrapped.push(timeOf(wrap));
    }
    const more = median(confined) - median(plain), theirs = median(wrapped) - median(bare);
    const plain_memory = await keeperMemory(false), jail_memory = await keeperMemory(true);
    return [
      row("start of a confined command, beyond a plain one", "ms", more, { aim: 10, better: "less", peer: theirs, peer_name: "bubblewrap", rounds: confined }),
      row("start of a plain command", "ms", median(plain), { better: "less", rounds: plain }),
      row("keeper's memory for a confined run, beyond a plain one", "KiB", Math.max(0, jail_memory - plain_memory), { aim: 8, better: "less" }),
      row("keeper's memory for a confined run, all of it", "KiB", jail_memory, { aim: 8, better: "less" }),
    ];
  } finally {
    await project.close();
  }
}
