import assert from "node:assert/strict";
import { test } from "node:test";
import { fromBase64, joined, sizeFor, TerminalFeed, toBase64 } from "./terminal_text.ts";
import type { Line } from "./wire.ts";

const record = (seq: number, data: string, more: Partial<Line> = {}): Line => ({ seq, ts: "", stream: "stdout", data, eol: false, ...more });

test("a terminal gets each record once, in order, with its escape sequences", () => {
  const feed = new TerminalFeed();
  const one = [record(1, "\x1b[31m$ "), record(2, "ls\r\n")];
  assert.deepEqual(feed.take(one), { text: "\x1b[31m$ ls\r\n", is_anew: false });
  assert.deepEqual(feed.take([...one, record(3, "a b")]), { text: "a b", is_anew: false });
  assert.deepEqual(feed.take([record(2, "ls\r\n"), record(3, "a b"), record(4, "!", { eol: undefined as never })]), { text: "!\r\n", is_anew: false });
  assert.deepEqual(feed.take([]), { text: "", is_anew: false });
});

test("after a gap the terminal begins anew", () => {
  const feed = new TerminalFeed();
  feed.take([record(1, "a")]);
  assert.deepEqual(feed.take([record(900, "y"), record(901, "z")]), { text: "yz", is_anew: true });
});

test("raw bytes are decoded, also a character that two records share", () => {
  const bytes = new TextEncoder().encode("é");
  const raw = (part: Uint8Array) => toBase64(part);
  assert.equal(new TerminalFeed().take([record(1, "\ufffd", { raw: raw(bytes.slice(0, 1)) }), record(2, "\ufffd", { raw: raw(bytes.slice(1)) })]).text, "é");
  assert.equal(new TerminalFeed().take([record(1, "\ufffdx", { raw: raw(Uint8Array.of(0xff, 0x78)) }), record(2, "y")]).text, "\ufffdxy");
});

test("characters that reorder text are replaced", () => {
  assert.equal(new TerminalFeed().take([record(1, "a\u202eb")]).text, "a\ufffdb");
});

test("bytes survive base64", () => {
  const bytes = Uint8Array.from({ length: 20_000 }, (_, i) => i % 256);
  assert.deepEqual(fromBase64(toBase64(bytes)), bytes);
  assert.deepEqual(joined(bytes.subarray(0, 7), bytes.subarray(7)), bytes);
});

test("a terminal has as many rows and columns as fit", () => {
  assert.deepEqual(sizeFor({ width: 808, height: 405 }, { width: 8, height: 17 }), { rows: 23, cols: 101 });
  assert.deepEqual(sizeFor({ width: 20, height: 20 }, { width: 8, height: 17 }), { rows: 4, cols: 10 });
  assert.equal(sizeFor({ width: 0, height: 0 }, { width: 8, height: 17 }), undefined);
});
