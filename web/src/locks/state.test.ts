import assert from "node:assert/strict";
import { test } from "node:test";
import { event } from "../base/event_fixture.ts";
import { applyLocks, locksInOrder } from "./state.ts";
import type { Lock } from "./wire.ts";
import { describeLock } from "./texts.ts";

const lock = (file_path: string, locked_by: string, fencing_token: number) => ({ file_path, locked_by, fencing_token, session_id: `s-${locked_by}`, waiters: 0 });
const none: ReadonlyMap<string, Lock> = new Map();

test("a lock exists from acquired to released or expired, and a refresh keeps it", () => {
  let locks = applyLocks(none, [event("lock.acquired", lock("src/a", "ada", 1)), event("lock.acquired", lock("src/b", "bob", 2))]);
  locks = applyLocks(locks, [event("lock.refreshed", { ...lock("src/a", "ada", 1), expires_at: "later", waiters: 2 })]);
  assert.deepEqual(locksInOrder(locks).map(({ file_path, waiters, expires_at }) => [file_path, waiters, expires_at]), [["src/a", 2, "later"], ["src/b", 0, undefined]]);
  locks = applyLocks(locks, [event("lock.released", lock("src/a", "ada", 1)), event("lock.expired", lock("src/b", "bob", 2))]);
  assert.equal(locks.size, 0);
});

test("waiting for a lock does not add a lock", () => {
  const locks = applyLocks(none, [event("lock.acquired", lock("src/**", "ada", 1)), event("lock.waiting", { file_path: "src/a", agent_id: "bob", locked_by: "ada" })]);
  assert.deepEqual([...locks.keys()], ["src/**"]);
});

test("a repeated event about an earlier holder does not end the present lock", () => {
  const locks = applyLocks(new Map([["src/a", lock("src/a", "bob", 7)]]), [event("lock.released", lock("src/a", "ada", 6))]);
  assert.equal(locks.get("src/a")?.locked_by, "bob");
});

test("control characters in descriptions are made visible", () => {
  assert.equal(describeLock(event("lock.acquired", { locked_by: "ada\x1b[2J", reason: "a\nb\x07" })), "ada · a b␇");
});
