// Work from end to end: verification by a command, leases, dependencies, limits on attempts, deadlines.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { Agent, codeOf, patience, Project, waitFor } from "./harness.mjs";

const submit = (agent, more) => agent.ask("submit_work", { task_type: "t", description: "d", backoff_seconds: 0, ...more });
const item = (agent, task_id) => agent.ask("get_work_item", { task_id });

test("work with a verify command is completed only when the command exits 0, and the evidence is kept", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  await submit(ada, { task_id: "proved", verify: ["sh", "-c", "echo looking; test -e ok || { echo missing >&2; exit 3; }"] });
  const first = await ada.ask("get_work");
  assert.deepEqual(first.verify.slice(0, 2), ["sh", "-c"], "the claimer is told how it will be judged");
  const { json: refused } = await ada.call("complete_work", { task_id: "proved", success: true, result: "1", fencing_token: first.fencing_token });
  assert.equal(refused.status === "completed", false, JSON.stringify(refused));
  assert.deepEqual([refused.evidence.exit_code, /missing/.test(refused.evidence.output_tail)], [3, true], JSON.stringify(refused));
  assert.notEqual((await item(ada, "proved")).status, "completed");
  writeFileSync(project.path("ok"), "");
  const second = await waitFor(async () => { const reply = (await ada.call("get_work")).json; return reply.success && reply; }, { what: "another attempt" });
  assert.deepEqual([second.task_id, second.attempt], ["proved", 2]);
  const done = await ada.ask("complete_work", { task_id: "proved", success: true, result: "2", fencing_token: second.fencing_token });
  assert.deepEqual([done.status, done.evidence.exit_code], ["completed", 0]);
  const kept = await item(ada, "proved");
  assert.deepEqual([kept.status, kept.result, kept.evidence.exit_code, /looking/.test(kept.evidence.output_tail)], ["completed", "2", 0, true]);
  await project.restartDaemon();
  assert.deepEqual((await item(ada, "proved")).evidence, kept.evidence);
});

test("a verify command that is no program, or never ends, does not complete anything; no shell reads it", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  await submit(ada, { task_id: "nothing", verify: ["/no/such/program"], max_attempts: 1 });
  const claim = await ada.ask("get_work");
  const { json } = await ada.call("complete_work", { task_id: "nothing", success: true, fencing_token: claim.fencing_token });
  assert.notEqual(json.status, "completed", JSON.stringify(json));
  assert.equal((await item(ada, "nothing")).status, "failed");
  await submit(ada, { task_id: "shell", verify: ["echo", "x; touch owned", "$(touch owned)"] });
  const next = await ada.ask("get_work");
  assert.equal((await ada.ask("complete_work", { task_id: "shell", success: true, fencing_token: next.fencing_token })).status, "completed");
  assert.ok(!existsSync(project.path("owned")));
  assert.match((await item(ada, "shell")).evidence.output_tail, /\$\(touch owned\)/);
});

test("the daemon is killed during a verification: it is run once, and its outcome counts", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  await submit(ada, { task_id: "long", verify: ["sh", "-c", "echo run >>ran; while [ ! -e go ]; do sleep 0.05; done; echo proved"] });
  const claim = await ada.ask("get_work");
  const completion = { task_id: "long", success: true, result: "r", fencing_token: claim.fencing_token };
  const lost = ada.call("complete_work", completion, { request_id: "the-one" }).catch(() => null);
  await waitFor(() => existsSync(project.path("ran")), { what: "the verification runs" });
  assert.equal((await item(ada, "long")).status, "running");
  await project.killDaemon();
  await lost;
  await project.startDaemon();
  assert.equal((await item(ada, "long")).status, "running", "still being verified");
  const again = ada.call("complete_work", completion, { request_id: "the-one" });
  writeFileSync(project.path("go"), "");
  const { json } = await again;
  await waitFor(async () => (await item(ada, "long")).status === "completed", { what: "the work is completed" });
  const kept = await item(ada, "long");
  assert.deepEqual([kept.result, kept.evidence.exit_code, readFileSync(project.path("ran"), "utf8")], ["r", 0, "run\n"], "once");
  assert.deepEqual([json.success, json.status], [true, "completed"], JSON.stringify(json));
  const ends = (await project.events("?since=0")).filter(({ type, entity_id }) => type === "work.completed" && entity_id === "long");
  assert.equal(ends.length, 1);
});

test("dependencies hold work back, a failed one fails or releases it, a cycle is refused", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  await submit(ada, { task_id: "base", priority: 9 });
  await submit(ada, { task_id: "strict", depends_on: ["base"], priority: 1 });
  await submit(ada, { task_id: "lenient", depends_on: ["base"], on_dependency_failure: "release", priority: 1 });
  await submit(ada, { task_id: "above", depends_on: ["strict"], priority: 1 });
  const { why, blocked_by } = await ada.ask("why_work", { task_id: "strict" });
  assert.match(why, /base/);
  assert.deepEqual(blocked_by, ["base"]);
  for (const [input, field] of [[{ depends_on: ["nobody"] }, "depends_on"], [{ task_id: "loop", depends_on: ["above"], blocks: ["base"] }, /depends_on|blocks/]]) {
    const { status, json } = await ada.call("submit_work", { task_type: "t", description: "d", ...input });
    assert.ok(status >= 400 && json.success === false, JSON.stringify(json));
    assert.match(json.field, new RegExp(field));
  }
  assert.equal((await ada.call("get_work_item", { task_id: "loop" })).status, 404);
  const claim = await ada.ask("get_work");
  assert.equal(claim.task_id, "base", "the only one that is ready");
  await ada.ask("complete_work", { task_id: "base", success: false, error_message: "no luck", retry: false, fencing_token: claim.fencing_token });
  assert.deepEqual(await Promise.all(["base", "strict", "above", "lenient"].map(async (id) => (await item(ada, id)).status)), ["failed", "failed", "failed", "pending"]);
  assert.match((await item(ada, "strict")).error_message, /base/);
  assert.equal((await ada.ask("get_work")).task_id, "lenient");
});

test("attempts are limited, back-off is kept, a deadline ends it, and nothing waits for ever", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  await submit(ada, { task_id: "hard", max_attempts: 2 });
  for (const attempt of [1, 2]) {
    const claim = await waitFor(async () => { const reply = (await ada.call("get_work")).json; return reply.success && reply; });
    assert.equal(claim.attempt, attempt);
    await ada.ask("complete_work", { task_id: "hard", success: false, error_message: `no ${attempt}`, fencing_token: claim.fencing_token });
  }
  assert.deepEqual([(await item(ada, "hard")).status, (await item(ada, "hard")).error_message], ["failed", "no 2"]);
  await submit(ada, { task_id: "slow", backoff_seconds: 60 });
  const claim = await ada.ask("get_work");
  const before = Date.now();
  const failed = await ada.ask("complete_work", { task_id: "slow", success: false, fencing_token: claim.fencing_token });
  assert.ok(Date.parse(failed.retry_at) > before + 50_000, JSON.stringify(failed));
  assert.equal((await ada.call("get_work")).json.reason, "no_tasks_available");
  assert.match((await ada.ask("why_work", { task_id: "slow" })).why, /attempt|retry|back/i);
  // Soon, but not before the daemon has heard of it, which may take longer on a busy machine.
  for (let soon = 1500; (await ada.call("submit_work", { task_type: "t", description: "d", task_id: "late", deadline: new Date(Date.now() + soon).toISOString() })).status >= 300;) {
    assert.ok((soon *= 4) < patience);
  }
  await waitFor(async () => (await item(ada, "late")).status === "failed", { what: "the deadline ends it" });
  assert.match((await item(ada, "late")).error_message, /deadline/);
});

test("an idle agent waits for work at no cost and gets it at once; a repeated completion is one", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada"), bob = new Agent(project, "bob");
  const looker = new Agent(project, "looker");
  const waiting = ada.ask("get_work", { wait_seconds: 60, task_types: ["mine"] });
  // A call makes a session before it waits: whose session is there first stands first.
  await waitFor(() => ada.seenBy(looker), { every: 5, what: "ada waits" });
  const also = bob.call("get_work", { wait_seconds: 1, task_types: ["mine"] });
  await waitFor(() => bob.seenBy(looker), { every: 5, what: "bob waits behind her" });
  await submit(looker, { task_id: "other", task_type: "other" });
  await submit(looker, { task_id: "wanted", task_type: "mine" });
  const claim = await waiting;
  assert.equal(claim.task_id, "wanted");
  assert.equal((await also).json.reason, "no_tasks_available", "one item, one claimer, in fair order");
  const completion = { task_id: "wanted", success: true, result: { n: 1 }, fencing_token: claim.fencing_token };
  const first = await ada.ask("complete_work", completion, { request_id: "r1" });
  assert.deepEqual(await ada.ask("complete_work", completion, { request_id: "r1" }), first, "the same request, the same reply");
  await ada.call("complete_work", { ...completion, result: { n: 2 } });
  assert.deepEqual((await item(ada, "wanted")).result, { n: 1 }, "the first stays");
  const stranger = await bob.call("complete_work", { task_id: "other", success: true });
  assert.deepEqual([stranger.json.success, stranger.json.reason], [false, "task_not_found_or_not_claimed_by_agent"]);
  const cancelled = await ada.call("cancel_work", { task_id: "wanted" });
  assert.deepEqual([cancelled.status, codeOf(cancelled.json), (await item(ada, "wanted")).status], [409, "conflict", "completed"], "what is completed cannot be cancelled");
});

test("several items are claimed and completed in one request, all or none", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada"), bob = new Agent(project, "bob");
  for (const task_id of ["a", "b", "c"]) await submit(ada, { task_id });
  const claimed = await ada.ask("get_work", { max_items: 2 });
  assert.deepEqual(claimed.items.map((each) => each.task_id), ["a", "b"]);
  const other = await bob.ask("get_work", { max_items: 8 });
  assert.deepEqual(other.items.map((each) => each.task_id), ["c"]);
  const items = claimed.items.map(({ task_id, fencing_token }) => ({ task_id, fencing_token, success: true, result: task_id }));
  const refused = await ada.call("complete_several", { items: [...items, { task_id: "c", success: true }] });
  assert.match(JSON.stringify(refused.json), /nothing was changed/);
  assert.equal((await item(ada, "a")).status, "claimed", "nothing was completed");
  for (const [bad, field] of [[[], "items"], [{}, "items"], [[{ success: true }], "items[0].task_id"], [[{ task_id: "a" }], "items[0].success"],
    [[items[0], items[0]], "items[1].task_id"], [[{ ...items[0], sucess: true }], "items[0].sucess"]])
    assert.equal((await ada.call("complete_several", { items: bad })).json.field, field);
  const done = await ada.ask("complete_several", { items }, { request_id: "the-one" });
  assert.deepEqual(done.items.map((each) => [each.task_id, each.status]), [["a", "completed"], ["b", "completed"]]);
  assert.deepEqual(await ada.ask("complete_several", { items }, { request_id: "the-one" }), done, "a repeated request is answered, not done again");
  assert.equal((await item(ada, "b")).result, "b");
  assert.match((await project.cru("work", "claim", "--max-items", "3")).stdout + "", /^$/);
  for (const task_id of ["x", "y"]) await submit(ada, { task_id });
  const shown = await project.cru("work", "claim", "--max-items", "3");
  assert.match(shown.stdout, /claimed t: d\n {2}id +x[^]*claimed t: d\n {2}id +y/);
});
