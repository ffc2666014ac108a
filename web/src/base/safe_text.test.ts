import assert from "node:assert/strict";
import { test } from "node:test";
import { safeText, stripEscapes } from "./safe_text.ts";

test("colours and cursor movements are removed", () => {
  assert.equal(safeText("\x1b[1;31mred\x1b[0m and \x1b[2Kclear"), "red and clear");
});

test("terminal titles and links are removed, including their content", () => {
  assert.equal(safeText("\x1b]0;owned\x07ok"), "ok");
  assert.equal(safeText("\x1b]8;;http://evil/\x1b\\click\x1b]8;;\x1b\\"), "click");
  assert.equal(safeText("\x1bP1$r0m\x1b\\ok"), "ok");
});

test("an unterminated escape sequence hides only the rest of its line", () => {
  assert.equal(stripEscapes("before\x1b]52;c;AAAA"), "before");
});

test("characters that reorder text are made visible", () => {
  assert.equal(safeText("a\u202eb"), "a‹U+202E›b");
  assert.equal(safeText("\u2066x\u2069"), "‹U+2066›x‹U+2069›");
});

test("a progress bar shows what was written last", () => {
  assert.equal(safeText("10%\r50%\r100%"), "100%");
  assert.equal(safeText("done\r"), "done");
});

test("control characters are shown as symbols, tabs are kept", () => {
  assert.equal(safeText("a\0b\tc\x07"), "a␀b\tc␇");
  assert.equal(safeText("x\x9by"), "x");
});

test("ordinary text, markup and emoji are unchanged", () => {
  for (const text of ["<b>&amp;</b>", "naïve 日本 🚀", "a  b"]) assert.equal(safeText(text), text);
});
