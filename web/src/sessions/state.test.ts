import assert from "node:assert/strict";
import { test } from "node:test";
import { event } from "../base/event_fixture.ts";
import { applySessions, concernsSessions } from "./state.ts";
import type { Session } from "./wire.ts";

test("a session is known until it ends; its calls count as heartbeats; it can reconnect", () => {
  let sessions = applySessions(new Map(), [event("session.started", { session_id: "s-ada", agent_id: "ada", last_heartbeat: "2026-11-16T09:00:00.000Z", capabilities: ["test"] })]);
  const acquired = event("lock.acquired", { file_path: "src/a", locked_by: "ada", session_id: "s-ada" });
  sessions = applySessions(sessions, [acquired]);
  assert.equal(sessions.get("s-ada")?.last_heartbeat, acquired.timestamp);
  sessions = applySessions(sessions, [event("handoff.written", { id: "h", agent_name: "ada", session_id: "s-ada", summary: "over", kind: "final" })]);
  assert.equal(sessions.get("s-ada")?.last_heartbeat, acquired.timestamp, "a handoff that the daemon writes is no sign of life");
  sessions = applySessions(sessions, [event("session.disconnected", { session_id: "s-ada", agent_id: "ada" }), event("lock.acquired", { session_id: "s-ada" })]);
  assert.equal(sessions.size, 0);
  sessions = applySessions(sessions, [event("session.updated", { session_id: "s-ada", agent_id: "ada", capabilities: ["test"] })]);
  assert.deepEqual(sessions.get("s-ada")?.capabilities, ["test"]);
});

test("claiming work is a sign of life, waiting for a lock is not", () => {
  const before: ReadonlyMap<string, Session> = new Map([["s", { session_id: "s", agent_id: "ada", last_heartbeat: "2026-11-16T09:00:00.000Z" }]]);
  const claimed = event("work.claimed", { task_id: "w", claimed_by_session: "s" });
  assert.equal(applySessions(before, [claimed]).get("s")?.last_heartbeat, claimed.timestamp);
  assert.deepEqual([concernsSessions(event("lock.waiting")), concernsSessions(event("work.completed")), concernsSessions(event("agent.started"))], [false, false, false]);
});
