// What a verb costs: `cru ps` against a running daemon beside `git status` in the same folder, and from nothing.
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cru_bin, median, Project, quick, repository, row } from "./harness.mjs";

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
  writeFileSync(join(project.root, ".gitignore"), "home\nhyperfine.json\n");
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "first");
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
    for (const run of (await project.get("/agents")).agents) process.kill(run.pid, "SIGKILL");
    const cold = times(project, `${cru_bin} ps`, { runs: quick ? 5 : 20, prepare: ["--prepare", `${cru_bin} daemon stop`] });
    const share = (list, part) => [...list].sort((a, b) => a - b)[Math.floor(part * (list.length - 1))];
    return [
      row("cru ps, daemon running: median", "ms", median(ours), { aim: 10, better: "less", peer: median(peer), peer_name: "git status", rounds: ours }),
      row("cru ps, daemon running: p95", "ms", share(ours, 0.95), { better: "less", peer: share(peer, 0.95), peer_name: "git status" }),
      row("cru --version, no daemon", "ms", median(floor), { better: "less", rounds: floor }),
      row("cru ps, daemon started by it", "ms", median(cold), { better: "less", rounds: cold }),
    ];
  } finally {
    await project.close();
  }
}
