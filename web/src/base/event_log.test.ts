import assert from "node:assert/strict";
import { test } from "node:test";
import { readEvent, type LogEvent } from "./event.ts";
import { appendEvents, empty_log, withHistory } from "./event_log.ts";

const event = (id: number | null, type: string, data: Record<string, unknown> = {}): LogEvent => ({ id, type, entity: "a", timestamp: "", data });
const after = (...batches: LogEvent[][]) => batches.reduce((log, events) => appendEvents(log, events).log, empty_log);

test("events that are repeated after a reconnection are not new", () => {
  const once = after([event(1, "agent.started"), event(2, "agent.failed")]);
  const { log, fresh } = appendEvents(once, [event(1, "agent.started"), event(2, "agent.failed"), event(3, "agent.started")]);
  assert.deepEqual([log.events.length, fresh.map(({ id }) => id)], [3, [3]]);
});

test("an event without an id is always new, and not listed", () => {
  const { log, fresh } = appendEvents(after([event(9, "agent.started")]), [event(null, "agent.question")]);
  assert.deepEqual([fresh.length, log.events.length, log.cursor], [1, 1, 9]);
});

test("a snapshot of another log resets the cursor", () => {
  const { log, fresh } = appendEvents(after([event(500, "agent.started")]), [event(3, "state.snapshot"), event(4, "agent.started")]);
  assert.deepEqual([fresh.map(({ id }) => id), log.cursor], [[3, 4], 4]);
});

test("heartbeats advance the cursor and are not listed", () => {
  const { log, fresh } = appendEvents(empty_log, [event(40, "heartbeat")]);
  assert.deepEqual([log.cursor, log.events.length, fresh.length], [40, 0, 0]);
});

test("chunks of an answer and steps of live agents advance the cursor and are not listed", () => {
  const log = after([event(1, "chat.text"), event(2, "chat.ended"), event(3, "live.agent_moved"), event(4, "live.agent_spoke"), event(5, "live.agent_state_changed")]);
  assert.deepEqual([log.events.map(({ id }) => id), log.cursor], [[2, 4], 5]);
  assert.equal(withHistory(log, [event(0, "chat.text")]).events.length, 2);
});

test("the list of events is limited", () => {
  const log = after(Array.from({ length: 5000 }, (_, i) => event(i + 1, "agent.output", { lines: [] })));
  assert.deepEqual([log.events.length, log.events.at(-1)?.id, log.cursor], [150, 5000, 5000]);
});

test("output does not push other events out of the list", () => {
  const log = after([event(1, "lock.acquired")], Array.from({ length: 5000 }, (_, i) => event(i + 2, "agent.output", { lines: [] })));
  assert.deepEqual([log.events[0]?.type, log.events.length], ["lock.acquired", 151]);
});

test("history is added before the listed events, without duplicates", () => {
  const shown = withHistory(after([event(7, "state.snapshot")], [event(8, "agent.started")]), [event(6, "agent.failed"), event(7, "agent.killed"), event(8, "agent.started")]);
  assert.deepEqual([shown.events.map(({ id }) => id), shown.cursor], [[6, 7, 8], 8]);
});

test("a frame that is not JSON is ignored", () => {
  assert.equal(readEvent({ event: "x", id: "1", data: "not json" }), null);
  const read = readEvent({ event: "agent.started", id: "12", data: '{"type":"agent.started","entity_id":"a","timestamp":"t","data":{"pid":1}}' });
  assert.deepEqual(read, { id: 12, type: "agent.started", entity: "a", timestamp: "t", data: { pid: 1 } });
});
