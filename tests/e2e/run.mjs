#!/usr/bin/env node
// Runs the end-to-end tests: `node tests/e2e/run.mjs [NAME…]`, against CRU_BIN or build/test/cru. What came of each is
// written to the folder CRU_E2E_RESULTS, if that is set.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const bin = process.env.CRU_BIN ?? join(here, "../../build/test/cru");
if (!existsSync(bin)) {
  console.error(`e2e: there is no ${bin}; build it with: make test`);
  process.exit(1);
}
const wanted = process.argv.slice(2);
const files = readdirSync(here).filter((name) => name.endsWith(".test.mjs")).sort()
  .filter((name) => !wanted.length || wanted.some((part) => name.includes(part)));
// The loop that kills the daemon and the crowd want the machine to themselves; the others share it.
const alone = files.filter((name) => /^(kill_loop|crowd)/.test(name));
const shared = files.filter((name) => !alone.includes(name));
let passed = 0, failed = 0;
const results = process.env.CRU_E2E_RESULTS;
const written = (name) => (results ? [`--test-reporter=${join(here, "harness/results.mjs")}`, `--test-reporter-destination=${join(results, name)}`] : []);
for (const [group, concurrency] of [[shared, 2], [alone, 1]]) {
  if (!group.length) continue;
  const { status, stdout } = spawnSync(process.execPath,
    ["--test", `--test-concurrency=${concurrency}`, "--test-reporter=spec", "--test-reporter-destination=stderr",
      "--test-reporter=tap", "--test-reporter-destination=stdout", ...written(`e2e-${concurrency}.jsonl`), ...group.map((name) => join(here, name))],
    { stdio: ["ignore", "pipe", "inherit"], encoding: "utf8", maxBuffer: 1 << 28, timeout: 15 * 60_000, killSignal: "SIGKILL", env: { ...process.env, CRU_BIN: bin } });
  const count = (word) => Number([...stdout.matchAll(new RegExp(`^# ${word} (\\d+)`, "gm"))].at(-1)?.[1] ?? 0);
  passed += count("pass");
  failed += Math.max(count("fail") + count("cancelled"), status ? 1 : 0);
}
console.log(`# pass ${passed}\n# fail ${failed}`);
process.exit(failed ? 1 : 0);
