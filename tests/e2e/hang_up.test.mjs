// Whoever waits in a line and hangs up leaves it: what it waited for goes to the next.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import { test } from "node:test";
import { Agent, Project, waitFor } from "./harness.mjs";
import { cru_bin } from "./harness/basics.mjs";

/// A request whose answer nobody will read. Returns how to hang up.
function begin(where, path, agent, body) {
  const text = JSON.stringify(body);
  const request = http.request({
    ...where, method: "POST", path, agent: false,
    headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text), "Cru-Agent-Id": agent, "Cru-Agent-Type": "claude_code", "Cru-Session-Id": randomUUID() },
  });
  request.on("error", () => {});
  request.end(text);
  return () => request.destroy();
}

const waiters = async (agent) => (await agent.ask("check_locks", {})).result[0]?.waiters;

test("who waits for a lock and hangs up does not get it", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada"), eve = new Agent(project, "eve");
  await ada.ask("acquire_lock", { file_path: "a" });
  const hangUp = begin(project.unix, "/locks", "bob", { file_path: "a", wait_seconds: 600 });
  const verb = spawn(cru_bin, ["locks", "acquire", "a", "--wait", "600"], { cwd: project.root, env: { ...project.env, AGENT_ID: "cat" }, stdio: ["ignore", "ignore", "inherit"] });
  await waitFor(async () => (await waiters(eve)) === 2, { what: "both wait" });
  hangUp();
  verb.kill("SIGKILL");
  await once(verb, "exit");
  await waitFor(async () => (await waiters(eve)) === 0, { what: "both have left the line" });
  await ada.ask("release_lock", { file_path: "a" });
  assert.equal((await eve.ask("acquire_lock", { file_path: "a" })).action, "acquired");
});

test("a lock that becomes free as its waiter hangs up is nobody's in the end", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada"), eve = new Agent(project, "eve");
  for (let i = 0; i < 30; ++i) {
    const file_path = `file-${i}`;
    await ada.ask("acquire_lock", { file_path });
    const hangUp = begin(project.unix, "/locks", `bob-${i}`, { file_path, wait_seconds: 600 });
    await waitFor(async () => (await waiters(eve)) === 1, { what: "it waits" });
    const released = ada.ask("release_lock", { file_path });
    hangUp();
    await released;
    await waitFor(async () => (await eve.call("acquire_lock", { file_path })).json.success, { what: `the lock on ${file_path} is free` });
    await eve.ask("release_lock", { file_path });
  }
});

test("who waits for work and hangs up does not get it", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada"), eve = new Agent(project, "eve");
  for (let i = 0; i < 10; ++i) {
    const hangUp = begin(project.unix, "/work/claim", `bob-${i}`, { wait_seconds: 600 });
    await waitFor(async () => (await ada.ask("discover_agents")).agents.some((each) => each.agent_id === `bob-${i}`), { what: "it is there" });
    hangUp();
    const { task_id } = await ada.ask("submit_work", { task_type: "build", description: "make" });
    const claimed = await waitFor(async () => {
      const { json } = await eve.call("get_work");
      return json.success && json;
    }, { what: "the work is there for another" });
    assert.equal(claimed.task_id, task_id);
    await eve.ask("complete_work", { task_id, success: true });
  }
});
