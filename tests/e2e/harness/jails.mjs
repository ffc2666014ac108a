// Projects whose agents are confined, and scripts that try to get out. Everything is an ordinary user's.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { waitFor } from "./basics.mjs";
import { asUser, UserProject, userProgram } from "./ordinary_user.mjs";

/// What this machine can confine with, for an ordinary user.
export const means = (() => {
  const [program, ...words] = asUser(userProgram(), "confine", "--means");
  return JSON.parse(spawnSync(program, words, { encoding: "utf8" }).stdout);
})();

/// `machine` as harness/processes.mjs has it.
export async function jailed(t, { machine, confine = "default", ...options } = {}) {
  const project = new UserProject({ user_config: `confine: ${confine}\nruns: {kill_grace: 1s}\n`, git: true, ...options });
  t.after(() => project.close());
  project.machine = machine;
  await project.startDaemon();
  return project;
}

/// A script in a jail, to its end: what is shown of it, and what it said.
export async function inside(project, script, { id = `jailed-${Math.random().toString(36).slice(2, 8)}`, flags = [] } = {}) {
  const { code, stdout, stderr } = await project.cru("run", "--id", id, "--detach", "--confine", ...flags, "--", "sh", "-c", script);
  assert.equal(code, 0, `${stdout}${stderr}`);
  await waitFor(async () => !["starting", "running"].includes((await project.json("show", id)).status), { what: `${id} ends` });
  return { ...(await project.json("show", id)), said: (await project.cru("logs", id)).stdout };
}
export const attempt = (what, command) => `(${command}) >/dev/null 2>&1 && echo "${what} done" || echo "${what} refused"`;
