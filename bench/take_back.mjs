// kill -9 of the daemon with 1,000 live runs: from starting it again until GET /state shows all of them running.
import { median, now, Project, quick, row, sleep } from "./harness.mjs";

const count = 1000;
const rounds = quick ? 2 : 5;

export const title = `taking back ${count} live runs`;
export async function run() {
  const project = new Project();
  try {
    await project.startDaemon();
    const begun = now();
    await project.startSleepers(count);
    const started = now() - begun;
    const times = [];
    for (let round = 0; round < rounds; ++round) {
      await project.killDaemon();
      const from = now();
      project.spawnDaemon();
      let state = null;
      while (!(state = await project.get("/state").catch(() => null)) && now() - from < 30_000) await sleep(1);
      times.push(now() - from);
      const running = state?.agents.filter((run) => run.status === "running").length;
      if (running !== count) throw new Error(`${running} of ${count} runs were taken back`);
      await sleep(300);
    }
    return [
      row("process start to GET /state with all running", "ms", median(times), { aim: 500, better: "less", rounds: times }),
      row(`starting them, 64 requests at a time`, "runs/s", count / (started / 1000)),
    ];
  } finally {
    await project.close();
  }
}
