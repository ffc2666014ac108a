// What a verb costs: `cru ps` against a running daemon beside `git status` in the same folder, and from nothing; and a whole
// run, from `cru run -- true` to its exit code, beside what does as little as can be done.
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bench_bin, cru_bin, median, Project, quick, repository, row } from "./harness.mjs";

const rounds = quick ? 1 : 3;

/// Milliseconds of each run of `command`, by hyperfine without a shell.
function times(project, command, { runs, prepare = [] }) {
  const file = join(project.root, "hyperfine.json");
  const args = ["-N", "--style", "none", "--warmup", "3", "--runs", String(runs), "--export-json", file, ...prepare, command];
  const done = spawnSync("hyperfine", args, { cwd: project.root, env: project.env, encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.error?.message ?? done.stderr);
  return JSON.parse(readFileSync(file, "utf8")).results[0].times.map((seconds) => seconds * 1000);
}

/// A repository of this project's size in the same folder.
function makeRepository(project) {
  const git = (...args) => {
    const done = spawnSync("git", ["-c", "user.name=bench", "-c", "user.email=bench@example.com", ...args], { cwd: project.root, env: project.env, encoding: "utf8" });
    if (done.status !== 0) throw new Error(done.stderr);
  };
  cpSync(join(repository, "src"), join(project.root, "src"), { recursive: true });
  writeFileSync(join(project.root, ".gitignore"), "home\nhyperfine.json\nrecord\n");
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "first");
}

/// What starts a command apart from the shell that asks for it: a user's systemd where there is one, or setsid.
function findStarter(project) {
  const works = (words) => spawnSync(words[0], [...words.slice(1), "true"], { cwd: project.root, env: project.env }).status === 0;
  return [["systemd-run", "--user", "--wait", "--quiet", "--collect"], ["setsid", "--wait", "sh", "-c"]].find(works) ?? null;
}

/// From the start of the verb to its exit code, in turns.
function measureRuns(project) {
  const [ours, plain, started] = [[], [], []];
  const starter = findStarter(project);
  for (let round = 0; round < rounds; ++round) {
    ours.push(...times(project, `${cru_bin} run -- true`, { runs: 40 }));
    plain.push(...times(project, `${join(bench_bin, "plain_run")} ${join(project.root, "record")} /bin/true`, { runs: 40 }));
    if (starter) started.push(...times(project, `${starter.join(" ")} true`, { runs: 40 }));
  }
  const rows = [row("cru run -- true, to its exit code: median", "ms", median(ours), {
    aim: 2, aim_of: "ratio", better: "less", peer: median(plain), peer_name: "sh -c + append+fdatasync", rounds: ours,
  })];
  if (starter) rows.push(row("cru run -- true, to its exit code: median", "ms", median(ours), {
    better: "less", peer: median(started), peer_name: starter[0] === "setsid" ? "setsid --wait sh -c, nothing recorded" : "systemd-run --user --wait", rounds: ours,
  }));
  return rows;
}

export const title = "verbs";
export async function run() {
  const project = new Project();
  try {
    makeRepository(project);
    await project.startDaemon();
    await project.startSleepers(10);
    const [ours, peer] = [[], []];
    for (let round = 0; round < rounds; ++round) {
      ours.push(...times(project, `${cru_bin} ps`, { runs: 50 }));
      peer.push(...times(project, "git status", { runs: 50 }));
    }
    const floor = times(project, `${cru_bin} --version`, { runs: 50 });
    const runs = measureRuns(project);
    for (const run of (await project.get("/agents")).agents) if (run.status === "running") process.kill(run.pid, "SIGKILL");
    const cold = times(project, `${cru_bin} ps`, { runs: quick ? 5 : 20, prepare: ["--prepare", `${cru_bin} daemon stop`] });
    const share = (list, part) => [...list].sort((a, b) => a - b)[Math.floor(part * (list.length - 1))];
    return [
      row("cru ps, daemon running: median", "ms", median(ours), { aim: 10, better: "less", peer: median(peer), peer_name: "git status", rounds: ours }),
      row("cru ps, daemon running: p95", "ms", share(ours, 0.95), { better: "less", peer: share(peer, 0.95), peer_name: "git status" }),
      row("cru --version, no daemon", "ms", median(floor), { better: "less", rounds: floor }),
      row("cru ps, daemon started by it", "ms", median(cold), { better: "less", rounds: cold }),
      ...runs,
    ];
  } finally {
    await project.close();
  }
}
