// Auto mode: a hundred conversations at once in one daemon, two scripted agents each, at their usual pace: what a message
// costs from its words to the disk, and whether anybody else has to wait.
import { activity, median, memory, now, Project, quick, row, sleep } from "./harness.mjs";

const conversations = 100;
const seconds = quick ? 10 : 30;
const tick_ms = 10;  // of /proc/PID/stat

const slowest = (list, share) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];

async function timed(work) {
  const begun = now();
  await work();
  return now() - begun;
}

/// How many messages agents have said in all.
async function said(project) {
  const { conversations: all } = await project.get("/auto/conversations?limit=1000");
  if (all.length !== conversations) throw new Error(`${all.length} conversations instead of ${conversations}`);
  const over = all.filter(({ active, reason }) => !active && reason !== "keyword");
  if (over.length) throw new Error(`a conversation ended: ${over[0].reason}, ${over[0].detail}`);
  return all.reduce((sum, { lines }) => sum + lines, 0);
}

export const title = `auto mode: ${conversations} conversations at once`;
export async function run() {
  const project = new Project();
  try {
    await project.startDaemon();
    const before = memory(project.daemonPid);
    const starts = [];
    for (let n = 0; n < conversations; ++n) starts.push(await timed(() => project.request("POST", "/auto/start", { beside: true, timeout_ms: 3_600_000 })));
    const [lines, used, begun] = [await said(project), activity(project.daemonPid), now()];
    const asked = [];
    while (now() - begun < seconds * 1000) {
      asked.push(await timed(() => project.get("/auto")));
      await sleep(100);
    }
    const passed = (now() - begun) / 1000;
    const spent = activity(project.daemonPid).ticks - used.ticks;
    const more = (await said(project)) - lines;
    const after = memory(project.daemonPid);
    const { conversations: active } = await project.get("/auto/conversations?active=true&limit=1000");
    const stops = [];
    for (const { conversationId } of active) stops.push(await timed(() => project.request("POST", "/auto/stop", { id: conversationId })));
    const less = { better: "less" };
    return [
      row("start one, until it is on disk", "ms", median(starts), { ...less, rounds: starts }),
      row("messages of agents", "/s", more / passed, {}),
      row("the daemon's CPU a message, with walking and turns", "ms", (spent * tick_ms) / Math.max(1, more), less),
      row("the daemon's CPU", "%", (100 * spent * tick_ms) / 1000 / passed, { ...less, aim: 50 }),
      row("a question about auto mode meanwhile, p50", "ms", median(asked), less),
      row("the same, p99", "ms", slowest(asked, 0.99), { ...less, aim: 100 }),
      row("memory a conversation, with its agents", "kB", (after.rss - before.rss) / conversations, less),
      row("stop one, until it is on disk", "ms", median(stops), { ...less, rounds: stops }),
    ];
  } finally {
    await project.close();
  }
}
