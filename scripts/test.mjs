#!/usr/bin/env node
// The stages of `make test` after the build, one after another in their order here, all of them even when one fails;
// the last lines name what failed and say `N passed, N failed, N skipped`. `make test ONLY="unit e2e"` picks stages.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
process.chdir(root);
const reports = join(root, "build/test/reports");

/// Runs a program, shows its output as it comes, and gives back its exit code and text.
function run(argv, env = {}) {
  return new Promise((done) => {
    const child = spawn(argv[0], argv.slice(1), { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => { text += chunk; process.stdout.write(chunk); });
    child.on("error", (error) => { console.log(`${argv[0]}: ${error.message}`); done({ code: 127, text }); });
    child.on("close", (code) => done({ code: code ?? 1, text }));
  });
}

/// One program, one verdict. One that had nothing to look at says so as `NAME: skipped: …`.
function single({ code, text }) {
  const skipped = !code && /^\w+: skipped: /m.test(text);
  return { passed: code || skipped ? 0 : 1, failed: code ? 1 : 0, skipped: skipped ? 1 : 0 };
}
const number = (text, pattern) => Number([...text.matchAll(pattern)].at(-1)?.[1] ?? 0);

/// Counts what node:test says at its end; a run that ended without a word counts as one failure.
function fromNodeTest({ code, text }) {
  const sign = /^# pass /m.test(text) ? "#" : "ℹ";
  const count = (word) => number(text, new RegExp(`^${sign} ${word} (\\d+)`, "gm"));
  const passed = count("pass");
  const failed = count("fail") + count("cancelled");
  const failures = [...text.matchAll(/^ *✖ (.+?)(?: \([\d.]+ms\))?$/gm)].map(([, title]) => title).filter((title) => title !== "failing tests:");
  return { passed, failed: code && !failed ? 1 : failed, skipped: count("skipped") + count("todo"), failures: [...new Set(failures)] };
}

const stages = {
  async unit() {
    rmSync(reports, { recursive: true, force: true });
    mkdirSync(reports, { recursive: true });
    const { code, text } = await run(
      ["ctest", "--test-dir", "build/test", "--output-on-failure", "-j", String(cpus().length + 1), "--no-tests=error"],
      { GTEST_BRIEF: "1" });
    // Count single tests from GoogleTest's reports (cru_add_test in cmake/cru.cmake), one per ctest test; a program
    // that died without one counts as one failure.
    let passed = 0, failed = 0, skipped = 0;
    const failures = [...text.matchAll(/^\[ {2}FAILED {2}\] (\w+\.\w+|\w+\/\w+\.\w+\/\w+)/gm)].map(([, title]) => title);
    for (const name of readdirSync(reports)) {
      const report = readFileSync(join(reports, name), "utf8");
      const head = report.match(/<testsuites tests="(\d+)" failures="(\d+)" disabled="(\d+)" errors="(\d+)"/);
      if (!head) continue;
      const [tests, failures, disabled, errors] = head.slice(1).map(Number);
      const left_out = disabled + [...report.matchAll(/<testcase [^>]*\bresult="skipped"/g)].length;
      failed += failures + errors;
      skipped += left_out;
      passed += tests - failures - errors - left_out;
    }
    const programs = number(text, /(\d+) tests? failed out of/g);
    if (code && failed < programs) failed = programs;
    return { passed, failed: code && !failed ? 1 : failed, skipped, failures: [...new Set(failures)] };
  },
  layering: async () => single(await run(["node", "tools/layering.mjs"])),
  async planted() {
    const both = [];
    for (const tool of ["layering", "ledger"]) both.push(single(await run(["node", `tools/${tool}.mjs`, "--self-test"])));
    return { passed: both[0].passed + both[1].passed, failed: both[0].failed + both[1].failed, skipped: 0 };
  },
  format: async () => single(await run(["scripts/format", "--check"])),
  async tidy() {
    const result = await run(["scripts/tidy", "--bounded"]);
    const row = single(result);
    return { ...row, skipped: row.skipped + number(result.text, /^tidy: (\d+) changed file\(s\) not looked at/gm) };
  },
  types: async () => single(await run(["node_modules/.bin/tsc", "--noEmit", "-p", "web"])),
  page: async () => fromNodeTest(await run(["node", "web/test.mjs"])),
  async e2e() {
    rmSync(join(reports, "e2e.jsonl"), { force: true });
    return fromNodeTest(await run(["node", "tests/e2e/run.mjs"], { CRU_TEST_RESULTS: reports }));
  },
  // Last: it counts a scenario only if one of its tests was run. Without both kinds of test it looks at the marks alone.
  async ledger() {
    const ran = ["unit", "e2e"].every((name) => rows.some((row) => row.name === name));
    return single(await run(["node", "tools/ledger.mjs", ...(ran ? ["--results", reports] : [])]));
  },
};

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !(name in stages));
if (unknown) {
  console.error(`test: unknown stage "${unknown}"; the stages are: ${Object.keys(stages).join(" ")}`);
  process.exit(2);
}
const rows = [];
for (const name of Object.keys(stages).filter((stage) => !wanted.length || wanted.includes(stage))) {
  console.log(`\n── ${name} ──`);
  const began = Date.now();
  rows.push({ name, ...(await stages[name]()), seconds: (Date.now() - began) / 1000 });
}
console.log("");
for (const { name, passed, failed, skipped, seconds } of rows)
  console.log(`${failed ? "✗" : "✓"} ${name.padEnd(9)} ${String(passed).padStart(5)} passed  ${String(failed).padStart(3)} failed  ${String(skipped).padStart(3)} skipped  ${seconds.toFixed(1).padStart(6)} s`);
// Named once more at the end: a log is read from there, and often cut off above.
for (const { name, failed, failures = [] } of rows) if (failed) for (const title of failures.length ? failures : ["see above"]) console.log(`failed: ${name}: ${title}`);
const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
console.log(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`);
process.exit(sum("failed") ? 1 : 0);
