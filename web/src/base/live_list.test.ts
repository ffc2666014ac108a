import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEvent } from "./event.ts";
import { event } from "./event_fixture.ts";
import { LiveList } from "./live_list.ts";

interface Item { id: string; word: string }

/// A list whose reads are answered by the test.
function fixture() {
  const asked: { answer: (items: Item[]) => Promise<void>; refuse: (why: string) => Promise<void> }[] = [];
  const settled = () => new Promise<void>((resolve) => { setImmediate(resolve); });
  const list = new LiveList<Item>({
    read: () => new Promise((resolve, reject) => {
      asked.push({ answer: (items) => { resolve(items); return settled(); }, refuse: (why) => { reject(new Error(why)); return settled(); } });
    }),
    idOf: ({ id }) => id,
    concerns: ({ type }) => type === "item.set",
    apply: (before, events) => new Map([...before, ...events.map(({ data }): [string, Item] => [String(data.id), data as unknown as Item])]),
  });
  const words = () => [...list.items.peek().values()].map(({ word }) => word);
  return { list, asked, words };
}
const set = (id: string, word: string): LogEvent => event("item.set", { id, word });

test("events that arrive during a read are applied to its result", async () => {
  const { list, asked, words } = fixture();
  void list.read();
  list.apply([set("a", "newer")]);
  assert.deepEqual([words(), list.loaded.peek()], [["newer"], false]);
  await asked[0]!.answer([{ id: "a", word: "older" }, { id: "b", word: "other" }]);
  assert.deepEqual([words(), list.loaded.peek()], [["newer", "other"], true]);
});

test("a read replaces all items", async () => {
  const { list, asked, words } = fixture();
  list.apply([set("gone", "gone")]);
  void list.read();
  await asked[0]!.answer([]);
  assert.deepEqual(words(), []);
});

test("a read that is requested during a read follows once", async () => {
  const { list, asked } = fixture();
  void list.read();
  void list.read();
  void list.read();
  assert.equal(asked.length, 1);
  await asked[0]!.answer([]);
  assert.equal(asked.length, 2);
  await asked[1]!.answer([]);
  assert.equal(asked.length, 2);
});

test("an error stays until a read succeeds, and the items stay", async () => {
  const { list, asked, words } = fixture();
  list.apply([set("a", "known")]);
  void list.read();
  await asked[0]!.refuse("no such thing");
  assert.deepEqual([list.error.peek(), list.loaded.peek(), words()], ["no such thing", false, ["known"]]);
  list.retryIfFailed();
  assert.equal(asked.length, 1, "not immediately");
  list.readIfFailed();
  await asked[1]!.answer([]);
  assert.deepEqual([list.error.peek(), list.loaded.peek()], ["", true]);
});

test("events of other lists do not change the items", () => {
  const { list } = fixture();
  const before = list.items.peek();
  assert.deepEqual([list.apply([event("other.set")]), list.items.peek() === before], [[], true]);
});
