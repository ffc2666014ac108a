import assert from "node:assert/strict";
import { test } from "node:test";
import { coloursIn, contrast, rgbOf, schemes } from "./readable_colours.ts";
import { safeText } from "./safe_text.ts";
import { styleAfter, styledText, type Style } from "./styled_text.ts";

const spans = (line: string, style?: Style) => styledText(line, style).spans.map(({ text, style: its }) => [text, its]);

test("colours and emphasis are drawn until they are reset", () => {
  assert.deepEqual(spans("a \x1b[1;31mred\x1b[0m b"), [["a ", {}], ["red", { bold: true, text: 1 }], [" b", {}]]);
  assert.deepEqual(spans("\x1b[2;3;4;7;9mx\x1b[22;23;24;27;29my"), [["x", { dim: true, italic: true, underline: true, inverse: true, struck: true }], ["y", {}]]);
  assert.deepEqual(spans("\x1b[92;103mx\x1b[39;49my\x1b[mz"), [["x", { text: 10, paper: 11 }], ["y", {}], ["z", {}]]);
});

test("256 and true colours are read in both notations", () => {
  assert.deepEqual(spans("\x1b[38;5;208mx\x1b[48;2;1;2;3;1my"), [["x", { text: 208 }], ["y", { text: 208, paper: [1, 2, 3], bold: true }]]);
  assert.deepEqual(spans("\x1b[38:5:208mx\x1b[48:2::1:2:3my\x1b[38:2:4:5:6mz"), [["x", { text: 208 }], ["y", { text: 208, paper: [1, 2, 3] }], ["z", { text: [4, 5, 6], paper: [1, 2, 3] }]]);
  assert.deepEqual(spans("\x1b[58;5;1;4:3mx\x1b[4:0my"), [["x", { underline: true }], ["y", {}]]);
});

test("an incomplete or impossible colour changes nothing", () => {
  for (const sequence of ["38;5", "38;2;1;2", "38;5;256", "38;2;1;2;999", "38", "77;999"]) assert.deepEqual(spans(`\x1b[${sequence}mx`), [["x", {}]], sequence);
});

test("everything but colours is removed or made visible, and markup is only text", () => {
  for (const line of ["\x1b[2K\x1b[5;5Hx", "\x1b]0;owned\x07ok", "\x1b]8;;http://evil/\x1b\\click\x1b]8;;\x1b\\", "a\u202eb", "a\0b\tc\x07", "<b onclick=x>&amp;</b>", "before\x1b]52;c;AAAA", "10%\r50%\r100%", "done\r", "x\x9by", "\x1b[>4;2mx", "\x1b[?4m"])
    assert.equal(styledText(line).spans.map(({ text }) => text).join(""), safeText(line), line);
});

test("the text after a carriage return overwrites the line and keeps its colour", () => {
  assert.deepEqual(spans("\x1b[31m10%\r\x1b[1m50%\r"), [["50%", { text: 1, bold: true }]]);
});

test("the next line continues with the style of the line before", () => {
  const style = styleAfter("\x1b[32mone", {});
  assert.deepEqual(spans("two\x1b[0m", style), [["two", { text: 2 }]]);
  assert.deepEqual(styleAfter("two\x1b[0m", style), {});
});

test("a line is limited in length and in spans", () => {
  const { spans: shown, rest } = styledText("\x1b[31mabcdef\x1b[0mghi", {}, 4);
  assert.deepEqual([shown.map(({ text }) => text), rest], [["abcd"], 5]);
  const many = styledText("\x1b[31mx\x1b[0my".repeat(5000)).spans;
  assert.ok(many.length <= 400);
  assert.equal(many.reduce((sum, { text }) => sum + text.length, 0), 10_000);
});

test("any colours can be read in both schemes", () => {
  const some = [undefined, ...Array.from({ length: 16 }, (_, i) => i), 16, 21, 46, 196, 226, 231, 232, 244, 255, [255, 255, 255] as const, [12, 12, 12] as const, [128, 128, 128] as const];
  for (const scheme of Object.values(schemes)) {
    for (const text of some) for (const paper of some) for (const flags of [{}, { dim: true as const }, { inverse: true as const }]) {
      const style: Style = { ...(text !== undefined && { text }), ...(paper !== undefined && { paper }), ...flags };
      const drawn = coloursIn(scheme, style);
      assert.ok(contrast(drawn.text ?? scheme.ink, drawn.paper ?? scheme.paper) >= 4.5, JSON.stringify(style));
    }
  }
});

test("the palette has named colours, a cube and greys", () => {
  assert.deepEqual([rgbOf(9), rgbOf(16), rgbOf(208), rgbOf(231), rgbOf(232), rgbOf(255), rgbOf([1, 2, 3])],
    [[241, 76, 76], [0, 0, 0], [255, 135, 0], [255, 255, 255], [8, 8, 8], [238, 238, 238], [1, 2, 3]]);
  assert.deepEqual(coloursIn(schemes.dark, { bold: true }), {});
});
