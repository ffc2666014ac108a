// Agents that cru itself runs: they are somebody without saying so, what they hold ends with them, and they cannot speak
// as another's session.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, cru_bin, Project, waitFor } from "./harness.mjs";

const locks = async (agent) => (await agent.ask("check_locks")).result.map(({ file_path, locked_by }) => [file_path, locked_by]);

test("a run that is killed leaves no lock, no claim and no live session behind, at once", async (t) => {
  const project = await Project.started({}, t);
  const looker = new Agent(project, "looker");
  await looker.ask("submit_work", { task_type: "t", description: "d", task_id: "piece", backoff_seconds: 0 });
  await project.sh("holder", `${cru_bin} locks acquire src/a.cc && ${cru_bin} work claim && echo taken; read never`);
  await project.outputWith("holder", "taken");
  assert.deepEqual(await locks(looker), [["src/a.cc", "holder"]], "the run's id is the agent's");
  assert.equal((await looker.ask("get_work_item", { task_id: "piece" })).claimed_by, "holder");
  await project.post("/agents/holder/kill");
  await project.ended("holder");
  await waitFor(async () => (await locks(looker)).length === 0, { what: "its lock is free" });
  await waitFor(async () => (await looker.ask("get_work_item", { task_id: "piece" })).status === "pending", { what: "its work is back" });
  assert.ok(!(await looker.ask("discover_agents")).agents.some(({ agent_id }) => agent_id === "holder"));
});

test("the same when the daemon was dead while the run ended", async (t) => {
  const project = await Project.started({}, t);
  const looker = new Agent(project, "looker");
  await project.sh("holder", `${cru_bin} locks acquire src/a.cc && echo taken; read go; echo bye`);
  await project.outputWith("holder", "taken");
  const { pid } = await project.run("holder");
  await project.killDaemon();
  process.kill(pid, "SIGKILL");
  await project.startDaemon();
  await project.ended("holder");
  await waitFor(async () => (await locks(looker)).length === 0, { what: "its lock is free" });
});

test("a run cannot speak as another's session, by whatever it says", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  const lock = await ada.ask("acquire_lock", { file_path: "src/b.cc" });
  const forged = `AGENT_ID=ada SESSION_ID=${ada.session_id}`;
  await project.sh("sly", [
    `${forged} ${cru_bin} locks release src/b.cc; echo "release $?"`,
    `${forged} ${cru_bin} locks release src/b.cc --fencing-token ${lock.fencing_token}; echo "token $?"`,
    `AGENT_ID=ada ${cru_bin} locks acquire src/b.cc; echo "acquire $?"`,
    "echo tried all",
  ].join("; "));
  await project.outputWith("sly", "tried all");
  const codes = (await project.output("sly")).map(({ data }) => data).filter((line) => /^(release|token|acquire) \d+$/.test(line));
  assert.equal(codes.length, 3);
  for (const line of codes) assert.match(line, / [14]$/, `refused, not misread: ${codes.join()}`);
  assert.deepEqual(await locks(ada), [["src/b.cc", "ada"]]);
  assert.equal((await ada.ask("release_lock", { file_path: "src/b.cc", fencing_token: lock.fencing_token })).action, "released");
});
