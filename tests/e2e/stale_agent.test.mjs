// An agent that is stopped past its time, robbed, and goes on as if nothing had happened: all it still tries to write
// is refused, and it is told why.
import assert from "node:assert/strict";
import { test } from "node:test";
import { age, Agent, codeOf, moveAway, Project, waitFor } from "./harness.mjs";
import { Wire } from "./harness/mcp.mjs";

async function robbed(t) {
  const project = await Project.started({}, t);
  const thief = new Agent(project, "bob");
  const sleeper = new Wire(project, { env: { AGENT_ID: "ada" } });
  await sleeper.initialize();
  const { session_id } = await sleeper.use("register_session");
  const lock = await sleeper.use("acquire_lock", { file_path: "src/a.cc" });
  await thief.ask("submit_work", { task_type: "t", description: "d", task_id: "piece", backoff_seconds: 0 });
  const claim = await sleeper.use("get_work");
  sleeper.child.kill("SIGSTOP");
  t.after(() => sleeper.child.kill("SIGKILL"));
  await project.killDaemon();
  age(project, { session_id }, 20);
  moveAway(project, { session_id });
  await project.startDaemon();
  await waitFor(async () => (await thief.ask("discover_agents", { status: "disconnected" })).agents.some((agent) => agent.session_id === session_id), { what: "the sleeper is taken for dead" });
  const stolen = await thief.ask("acquire_lock", { file_path: "src/a.cc" });
  assert.ok(stolen.fencing_token > lock.fencing_token, "a newer token");
  const piece = await waitFor(async () => { const reply = (await thief.call("get_work")).json; return reply.success && reply; }, { what: "the work is there again" });
  assert.equal(piece.task_id, "piece");
  assert.ok(piece.fencing_token > claim.fencing_token);
  sleeper.child.kill("SIGCONT");
  return { project, thief, sleeper, lock, claim, stolen, piece, session_id };
}

const refusal = async (wire, name, args) => {
  const { result } = await wire.request("tools/call", { name, arguments: args });
  return { isError: result.isError ?? false, ...result.structuredContent };
};

test("an agent that wakes up after it was cleaned away is refused every late write, with the reason", async (t) => {
  const { thief, sleeper, lock, claim, stolen, piece } = await robbed(t);
  const late = [
    ["acquire_lock", { file_path: "src/a.cc", fencing_token: lock.fencing_token }], ["acquire_lock", { file_path: "src/a.cc" }], ["acquire_lock", { file_path: "src/other.cc" }],
    ["release_lock", { file_path: "src/a.cc", fencing_token: lock.fencing_token }], ["release_lock", { file_path: "src/a.cc" }],
    ["complete_work", { task_id: "piece", success: true, result: "late", fencing_token: claim.fencing_token }], ["complete_work", { task_id: "piece", success: true, result: "late" }],
    ["submit_work", { task_type: "t", description: "late" }], ["write_handoff", { summary: "late" }],
  ];
  for (const [name, args] of late) {
    const reply = await refusal(sleeper, name, args);
    assert.deepEqual([name, reply.success, codeOf(reply)], [name, false, "session_expired"], JSON.stringify(reply));
    assert.match(reply.message, /disconnected.*heartbeat/s, "says why");
    assert.match(JSON.stringify(reply), /register_session/, "and what to do");
  }
  const still = async () => {
    const { result } = await thief.ask("check_locks");
    assert.deepEqual(result.map((one) => [one.file_path, one.locked_by, one.fencing_token]), [["src/a.cc", "bob", stolen.fencing_token]]);
    assert.deepEqual([(await thief.ask("get_work_item", { task_id: "piece" })).claimed_by], ["bob"]);
  };
  await still();

  // Registered again it is a live agent, without what it held: the old tokens stay worthless.
  assert.equal((await sleeper.use("register_session")).success, true);
  for (const [name, args, reasons] of [
    ["acquire_lock", { file_path: "src/a.cc", fencing_token: lock.fencing_token }, ["stale_fencing_token", "locked_by_other"]],
    ["release_lock", { file_path: "src/a.cc", fencing_token: lock.fencing_token }, ["stale_fencing_token", "lock_not_found_or_not_owner"]],
    ["complete_work", { task_id: "piece", success: true, result: "late", fencing_token: claim.fencing_token }, ["stale_fencing_token", "task_not_found_or_not_claimed_by_agent"]],
  ]) {
    const reply = await refusal(sleeper, name, args);
    assert.deepEqual([name, reply.success, reasons.includes(reply.reason)], [name, false, true], JSON.stringify(reply));
    assert.ok(reply.message, `${name} says why: ${JSON.stringify(reply)}`);
  }
  await still();
  const done = await thief.ask("complete_work", { task_id: "piece", success: true, result: "by bob", fencing_token: piece.fencing_token });
  assert.equal(done.status, "completed");
  assert.equal((await thief.ask("get_work_item", { task_id: "piece" })).result, "by bob");
  assert.equal((await sleeper.end()).code, 0);
});

test("the refusal outlives the daemon", async (t) => {
  const { project, thief, sleeper, lock, stolen } = await robbed(t);
  await project.restartDaemon();
  const reply = await refusal(sleeper, "release_lock", { file_path: "src/a.cc", fencing_token: lock.fencing_token });
  assert.equal(codeOf(reply), "session_expired", JSON.stringify(reply));
  assert.equal((await thief.ask("check_locks")).result[0].fencing_token, stolen.fencing_token);
});
