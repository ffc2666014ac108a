// A daemon with nothing to do, alone and with an idle keeper that holds one sleeping run: memory, wake-ups, CPU.
import { activity, memory, Project, quick, row, sleep } from "./harness.mjs";

const seconds = quick ? 3 : 10;

async function watch(pids) {
  const before = pids.map(activity);
  await sleep(seconds * 1000);
  const after = pids.map(activity);
  return pids.map((_, i) => ({ wakeups: after[i].wakeups - before[i].wakeups, ticks: after[i].ticks - before[i].ticks }));
}

export const title = `idle for ${seconds} s`;
export async function run() {
  const project = new Project();
  try {
    await project.startDaemon();
    project.agent.destroy();  // no open connection
    await sleep(3000);  // the first moments of a daemon: retention, the WAL
    const daemon = project.daemonPid;
    const [alone] = await watch([daemon]);
    const fresh = memory(daemon);
    project.cru("run", "--detach", "--id", "sleeper", "--no-stdin", "--", "sleep", "600");
    await sleep(3000);
    const [both, keeper] = await watch([daemon, project.keeperPid]);
    const [used, held] = [memory(daemon), memory(project.keeperPid)];
    const less = { better: "less" };
    return [
      row("daemon: resident (RSS)", "kB", fresh.rss, { aim: 12 * 1024, ...less }),
      row("daemon: proportional (PSS)", "kB", fresh.pss, less),
      row("daemon: wake-ups", "", alone.wakeups, { aim: 0, ...less }),
      row("daemon: CPU", "ticks", alone.ticks, { aim: 0, ...less }),
      row("daemon with a sleeping run: resident", "kB", used.rss, { aim: 12 * 1024, ...less }),
      row("daemon with a sleeping run: wake-ups", "", both.wakeups, { aim: 0, ...less }),
      row("keeper with a sleeping run: resident", "kB", held.rss, less),
      row("keeper with a sleeping run: wake-ups", "", keeper.wakeups, { aim: 0, ...less }),
    ];
  } finally {
    await project.close();
  }
}
