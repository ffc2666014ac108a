// The example of examples/godot, run by Debian's Godot without a screen, against the real daemon.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { patience, repository } from "./harness.mjs";
import { Live } from "./harness/live.mjs";

const version = spawnSync("godot3-server", ["--version"], { encoding: "utf8" }).stdout?.trim();
const skip = version ? false : "godot3-server is not installed: scripts/setup test";

/// Runs the example to its end: its lines.
async function watch(live, ...words) {
  const child = live.spawn(["--path", join(repository, "examples/godot"), "--", ...words], { argv0: "godot3-server" });
  const { code, stdout, stderr } = await child.ended;
  return { code, lines: stdout.split("\n"), text: `${stdout}\n${stderr}` };
}

test("RT-01, RT-15, RT-16, RT-17: Godot spawns an agent and sees its states, its speech and its walk", { skip }, async (t) => {
  const live = await Live.started({ live: { idle_time: "1s" } }, t);
  const { code, lines, text } = await watch(live, `--url=${live.url}`, `--token=${live.token}`, `--seconds=${patience / 1000 - 10}`);
  assert.equal(code, 0, text);
  assert.doesNotMatch(text, /SCRIPT ERROR|no JSON object/);
  const { agents } = await live.must(200, live.get("/live"));
  const [{ agent_id }] = agents;
  for (const line of [/^world_snapshot 1/, new RegExp(`^agent_spawned ${agent_id}`), new RegExp(`^agent_joined ${agent_id}`), new RegExp(`^agent_state_update ${agent_id} thinking`), /^agent_speech agent_/, /^agent_moved agent_/])
    assert.ok(lines.some((one) => line.test(one)), `${line}:\n${text}`);
});

test("Godot finds the daemon by the project's folder, and is at home in a crowd, told in pages", { skip }, async (t) => {
  const live = await Live.started({ live: { idle_time: "2s" } }, t);
  const socket = await live.connect();
  for (let n = 0; n < 100; n += 50) await Promise.all(Array.from({ length: 50 }, (_, m) => live.bring(socket, { name: `Agent ${n + m}`, role: "r".repeat(200) })));
  const { code, lines, text } = await watch(live, `--project=${live.root}`, `--seconds=${patience / 1000 - 10}`);
  assert.equal(code, 0, text.slice(-3000));
  assert.ok(lines.some((line) => line.startsWith("world_snapshot 2")), "in pages");
  assert.doesNotMatch(text, /SCRIPT ERROR|no JSON object/);
});

test("Godot without a daemon, or with a wrong token, ends with 1 in its time", { skip }, async (t) => {
  const live = await Live.started({}, t);
  assert.equal((await watch(live, `--url=${live.url}`, "--token=wrong", "--seconds=3")).code, 1);
});
