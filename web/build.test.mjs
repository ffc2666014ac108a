import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/// The table of assets, and their bytes, as built from `cwd` into a folder of its own.
function built(cwd) {
  const out = mkdtempSync(join(tmpdir(), "cru-web-"));
  try {
    const { status, stderr } = spawnSync(process.execPath, [join(here, "build.mjs"), out], { cwd, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const table = readFileSync(join(out, "web_assets.cc"), "utf8");
    return { table, bytes: [...table.matchAll(/cru_web_(\d+)\}/g)].map(([, i]) => readFileSync(join(out, `asset${i}.gz`))) };
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

test("the page is the same bytes, wherever it is built to and from", () => {
  const one = built(here), other = built("/");
  assert.equal(one.table, other.table);
  assert.deepEqual(one.bytes, other.bytes);
});

test("the terminal is a file of its own, and the page loads it only by import()", () => {
  const { table } = built(here);
  assert.match(table, /"\/assets\/terminal_screen-[0-9a-f]+\.js", "text\/javascript; charset=utf-8"/);
  assert.equal([...table.matchAll(/\.js"/g)].length, 2, "nothing is shared between the two");
});
