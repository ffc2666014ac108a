import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEvent } from "./event.ts";
import { event } from "./event_fixture.ts";
import { LiveList } from "./live_list.ts";

interface Item { id: string; word: string }

/// A list whose reads are answered by hand.
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

test("events that came while the list was on its way are applied to it", async () => {
  const { list, asked, words } = fixture();
  void list.read();
  list.apply([set("a", "newer")]);
  assert.deepEqual([words(), list.loaded.peek()], [["newer"], false]);
  await asked[0]!.answer([{ id: "a", word: "older" }, { id: "b", word: "other" }]);
  assert.deepEqual([words(), list.loaded.peek()], [["newer", "other"], true]);
});

test("a list replaces what was known", async () => {
  const { list, asked, words } = fixture();
  list.apply([set("gone", "gone")]);
  void list.read();
  await asked[0]!.answer([]);
  assert.deepEqual(words(), []);
});

test("a list that is asked for while it is on its way is read once more, not twice", async () => {
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

test("trouble is told until a read succeeds; what was known stays", async () => {
  const { list, asked, words } = fixture();
  list.apply([set("a", "known")]);
  void list.read();
  await asked[0]!.refuse("no such thing");
  assert.deepEqual([list.trouble.peek(), list.loaded.peek(), words()], ["no such thing", false, ["known"]]);
  list.retryIfTroubled();
  assert.equal(asked.length, 1, "not at once");
  list.readIfTroubled();
  await asked[1]!.answer([]);
  assert.deepEqual([list.trouble.peek(), list.loaded.peek()], ["", true]);
});

test("events of other lists leave the very same items", () => {
  const { list } = fixture();
  const before = list.items.peek();
  assert.deepEqual([list.apply([event("other.set")]), list.items.peek() === before], [[], true]);
});
