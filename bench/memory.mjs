// Memory that an idle run costs, in the keeper and in the daemon: growth over 200 sleeping runs; and in its supervisor.
import { readdirSync, readFileSync } from "node:fs";
import { memory, Project, quick, row, sleep } from "./harness.mjs";

const count = quick ? 50 : 200;

/// The children of the keeper that each hold one run.
const supervisors = (keeper) => readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
  try { return readFileSync(`/proc/${pid}/stat`, "utf8").startsWith(`${pid} (cru-run) `) && readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ")[1] === String(keeper); } catch { return false; }
});

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
    const held = supervisors(pids.keeper).map((pid) => memory(pid));
    const mean = (kind) => held.reduce((sum, one) => sum + one[kind], 0) / held.length;
    const own = ["pss", "anonymous"].map((kind) => row(`supervisor: ${kind === "pss" ? "proportional (PSS)" : "anonymous"}`, "kB/run", mean(kind), { better: "less" }));
    return own.concat(["keeper", "daemon"].flatMap((who) => {
      const after = memory(pids[who]);
      const growth = (kind) => (after[kind] - before[who][kind]) / count;
      return [
        row(`${who}: proportional (PSS)`, "kB/run", growth("pss"), who === "keeper" ? { aim: 64, better: "less" } : { better: "less" }),
        row(`${who}: anonymous`, "kB/run", growth("anonymous"), who === "keeper" ? { aim: 64, better: "less" } : { better: "less" }),
      ];
    }));
  } finally {
    await project.close();
  }
}
