import assert from "node:assert/strict";
import { test } from "node:test";
import { CallFailed } from "./api.ts";
import { listed_types, readHistory } from "./event_history.ts";

/// A log with events 1 to `last`, those up to `floor` deleted, as GET /events answers. `typeOf` tells the type of each.
function logOf(last: number, typeOf: (id: number) => string, floor = 0) {
  const asked: string[] = [];
  const get = async (query: string) => {
    asked.push(query);
    const parameters = new URLSearchParams(query);
    const since = Number(parameters.get("since"));
    if (since < floor) throw new CallFailed(410, { code: "cursor_gone", message: "gone", details: { floor, last } });
    const types = parameters.get("type")?.split(",");
    const matches = (type: string) => !types || types.some((name) => (name.endsWith(".*") ? type.startsWith(name.slice(0, -1)) : type === name));
    const ids = Array.from({ length: last - since }, (_, i) => since + 1 + i).filter((id) => matches(typeOf(id)));
    return ids.slice(0, Number(parameters.get("limit"))).map((id) => ({ id, type: typeOf(id), entity_id: "a", timestamp: "", data: {} }));
  };
  return { asked, get };
}
const idsOf = (events: { id: number | null }[]) => events.map(({ id }) => id);

test("the newest events are read, in order", async () => {
  const { get, asked } = logOf(400, () => "lock.acquired");
  assert.deepEqual(idsOf(await readHistory(400, get)), Array.from({ length: 150 }, (_, i) => 251 + i));
  assert.equal(asked.length, 1);
});

test("behind much output and many steps of live agents, earlier events are found, without duplicates", async () => {
  for (const frequent of ["agent.output", "live.agent_state_changed", "chat.text"]) {
    const { get } = logOf(4000, (id) => (id <= 100 || id > 3990 ? "work.claimed" : frequent));
    const ids = idsOf(await readHistory(4000, get));
    for (const id of [1, 100, 3991, 4000]) assert.equal(ids.filter((found) => found === id).length, 1, `${frequent} ${id}`);
    assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => a! - b!));
  }
});

test("a log whose beginning was deleted is read from where it begins", async () => {
  const { get } = logOf(1000, () => "lock.acquired", 950);
  assert.deepEqual(idsOf(await readHistory(1000, get)), Array.from({ length: 50 }, (_, i) => 951 + i));
  assert.deepEqual(await readHistory(0, logOf(0, () => "").get), []);
});

test("reading ends: at the beginning of the log, and after some steps", async () => {
  const short = logOf(700, () => "agent.output");
  await readHistory(700, short.get);
  assert.equal(short.asked.length, 2);
  const long = logOf(1_000_000, () => "agent.output");
  await readHistory(1_000_000, long.get);
  assert.ok(long.asked.length <= 11);
});

test("events after the cursor come with the stream and not from here; the query fits its limit", async () => {
  assert.deepEqual(idsOf(await readHistory(10, logOf(20, () => "lock.acquired").get)), Array.from({ length: 10 }, (_, i) => i + 1));
  assert.ok(listed_types.length <= 512, String(listed_types.length));
});
