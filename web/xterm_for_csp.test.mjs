import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { withoutInlineStyles } from "./xterm_for_csp.mjs";

const source = readFileSync(join(dirname(createRequire(import.meta.url).resolve("@xterm/xterm")), "xterm.mjs"), "utf8");

test("the installed xterm makes no style element and no style attribute", () => {
  const changed = withoutInlineStyles(source);
  assert.ok(!/createElement\("style"\)|setAttribute\("style"/.test(changed));
  assert.equal([...changed.matchAll(/createElement\("cru-sheet"\)/g)].length, 3);
  assert.match(changed, /_addStyle\((\w+),(\w+)\)\{\1\.style\.cssText\+=`\$\{\2\};`\}/);
});

test("an xterm that looks different is refused", () => {
  assert.throws(() => withoutInlineStyles(`${source};document.createElement("style")`), /xterm has changed/);
  assert.throws(() => withoutInlineStyles(`${source};x.innerHTML = y`), /policy forbids/);
});
