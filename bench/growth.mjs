// How costs grow with what is on record: events, locks, work, runs, members and notes. Each operation is asked of a daemon
// that has ten times more each time; what counts is the daemon's CPU time, which a busy machine changes little. Named on
// the command line it measures up to ten million events and writes the plots and the table of docs/performance.md;
// otherwise, or with BENCH_QUICK, only small sizes.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { cru_bin, median, now, Project, quick, repository, row, waitFor } from "./harness.mjs";
import { kinds, register } from "./growth/kinds.mjs";
import { exponent, plot } from "./growth/plot.mjs";

/// An index is a little deeper with ten times the rows; and no two measurements are the same.
const most = { point: 0.25, whole: 1.15 };

/// Microseconds of CPU time that all threads of a process have used.
function cpuTime(pid) {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
  return nanoseconds / 1000;
}

async function stopDaemon(project) {
  const pid = project.daemonPid;
  process.kill(pid, "SIGTERM");
  await waitFor(() => { try { process.kill(pid, 0); return false; } catch { return true; } }, { every: 1, what: "the daemon ends" });
  project.agent.destroy();
  project.agent = new project.agent.constructor({ keepAlive: true, maxSockets: 64 });
}

/// Milliseconds until it answers, and the CPU time that it took in microseconds.
async function startDaemon(project) {
  const begun = now();
  const daemon = spawn(cru_bin, ["daemon", "run"], { cwd: project.root, env: project.env, stdio: "ignore", detached: true });
  daemon.unref();
  await waitFor(() => project.get("/health").catch(() => null), { every: 1, within: 60_000, what: "the daemon answers" });
  return { ms: now() - begun, us: cpuTime(daemon.pid) };
}

/// The lowest of some groups of requests: what disturbs only adds.
async function measure(project, operation, n) {
  const times = operation.times ?? 60, groups = 3;
  const waits = [], costs = [];
  await operation.run(project, 0, n);
  for (let group = 0; group < groups; ++group) {
    const before = cpuTime(project.daemonPid);
    for (let i = 0; i < times; ++i) {
      const begun = now();
      await operation.run(project, 1 + group * times + i, n);
      waits.push((now() - begun) * 1000);
    }
    costs.push((cpuTime(project.daemonPid) - before) / times);
  }
  return { us: Math.min(...costs), p50: median(waits) };
}

async function measureKind(kind, sizes) {
  const project = new Project();
  mkdirSync(join(project.home, ".config/crucible"), { recursive: true });
  writeFileSync(join(project.home, ".config/crucible/config.yaml"), "store: {retention: {max_events: 100000000}}\n");
  const curves = new Map();
  const add = (name, whole, n, cost) => {
    if (!curves.has(name)) curves.set(name, { name, whole, points: [], waits: [] });
    curves.get(name).points.push([n, cost.us]);
    curves.get(name).waits.push(cost.p50);
  };
  try {
    await startDaemon(project);
    let had = 0;
    for (const n of sizes) {
      if (kind.fill) {
        await stopDaemon(project);
        kind.fill(project, had, n);
        await startDaemon(project);
      } else {
        await kind.grow(project, had, n);
      }
      had = n;
      const starts = [];
      for (let i = 0; i < 5; ++i) {
        await stopDaemon(project);
        starts.push(await startDaemon(project));
      }
      add("start of the daemon", Boolean(kind.current), n, { us: Math.min(...starts.map((each) => each.us)), p50: median(starts.map((each) => each.ms * 1000)) });
      await register(project);
      await kind.before?.(project);
      for (const operation of kind.operations) add(operation.name, Boolean(operation.whole), n, await measure(project, operation, n));
    }
  } finally {
    await project.close();
  }
  return [...curves.values()].map((curve) => {
    const last = exponent(curve.points.slice(-2));
    return { ...curve, exponent: exponent(curve.points), last, most: curve.whole ? most.whole : most.point, met: last <= (curve.whole ? most.whole : most.point) };
  });
}

const scientific = (n) => { const power = Math.floor(Math.log10(n) + 1e-9), factor = n / 10 ** power; return power < 4 ? n.toLocaleString("en") : `${factor === 1 ? "" : `${factor} · `}10${[...String(power)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`; };
const micros = (us) => (us >= 100 ? Math.round(us).toLocaleString("en") : us.toFixed(us >= 10 ? 0 : 1));

/// Plots into docs/growth, tables between the marks of docs/performance.md.
function writeDocs(results) {
  mkdirSync(join(repository, "docs/growth"), { recursive: true });
  const parts = [];
  for (const { kind, sizes, curves } of results) {
    const file = `growth/${kind.name.replaceAll(" ", "_")}.svg`;
    writeFileSync(join(repository, "docs", file), plot({ title: `Cost against ${kind.of}`, x: kind.of, y: "µs of the daemon's CPU time", curves }));
    parts.push(`![Cost against ${kind.of}](${file})`, "");
    parts.push(`| ${kind.of} | ${sizes.map(scientific).join(" | ")} | exponent | last step | |`, `|---|${"---|".repeat(sizes.length + 3)}`);
    for (const curve of curves)
      parts.push(`| ${curve.name} | ${curve.points.map(([, us]) => micros(us)).join(" | ")} | ${curve.exponent.toFixed(2)} | ${curve.last.toFixed(2)} | ${curve.met ? "" : "**grows**"} |`);
    parts.push("");
  }
  const page = join(repository, "docs/performance.md");
  const [begin, end] = ["<!-- growth: written by bench/run growth -->", "<!-- growth: end -->"];
  const text = readFileSync(page, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error("docs/performance.md has no place for the growth tables");
  writeFileSync(page, `${text.slice(0, from + begin.length)}\n\n${parts.join("\n")}${text.slice(to)}`);
}

export const title = "growth: exponent of the last step, 10 times the records";
export async function run({ named = false } = {}) {
  const is_small = quick || !named;
  const wanted = process.env.GROWTH_ONLY?.split(",");
  const results = [];
  for (const kind of kinds) {
    if (wanted && !wanted.includes(kind.name)) continue;
    const sizes = is_small ? kind.small : kind.sizes;
    const begun = now();
    const curves = await measureKind(kind, sizes);
    console.log(`\n${kind.of}: ${sizes.map((n) => n.toLocaleString("en")).join(", ")}; µs of the daemon's CPU time, in ${Math.round((now() - begun) / 1000)} s`);
    for (const curve of curves) console.log(`  ${curve.name.padEnd(30)} ${curve.points.map(([, us]) => micros(us).padStart(9)).join("")}   exponent ${curve.exponent.toFixed(2)}, last step ${curve.last.toFixed(2)}${curve.met ? "" : "  GROWS"}`);
    results.push({ kind, sizes, curves });
  }
  if (!is_small && !wanted) writeDocs(results);
  writeFileSync(join(repository, "build/growth.json"), `${JSON.stringify(results.map(({ kind, sizes, curves }) => ({ name: kind.name, of: kind.of, sizes, curves })), null, 2)}\n`);
  return results.flatMap(({ kind, curves }) => curves.map((curve) => row(`${kind.name}: ${curve.name}`, "", curve.last, { better: "less", aim: curve.most })));
}
