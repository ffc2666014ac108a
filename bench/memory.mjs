// Memory that an idle run costs, in the keeper and in the daemon: growth over 200 sleeping runs.
import { memory, Project, quick, row, sleep } from "./harness.mjs";

const count = quick ? 50 : 200;

export const title = `memory per run (${count} sleeping runs)`;
export async function run() {
  const project = new Project();
  try {
    await project.startDaemon();
    await project.startSleepers(64, "warm");  // buffers and threads that come once, not with each run
    await sleep(1500);  // a quiet second: the WAL is copied back
    const pids = { keeper: project.keeperPid, daemon: project.daemonPid };
    const before = { keeper: memory(pids.keeper), daemon: memory(pids.daemon) };
    await project.startSleepers(count, "s");
    await sleep(1500);
    return ["keeper", "daemon"].flatMap((who) => {
      const after = memory(pids[who]);
      const growth = (kind) => (after[kind] - before[who][kind]) / count;
      return [
        row(`${who}: proportional (PSS)`, "kB/run", growth("pss"), who === "keeper" ? { aim: 64, better: "less" } : { better: "less" }),
        row(`${who}: anonymous`, "kB/run", growth("anonymous"), who === "keeper" ? { aim: 64, better: "less" } : { better: "less" }),
      ];
    });
  } finally {
    await project.close();
  }
}
