#!/usr/bin/env node
// Runs the end-to-end tests: `node tests/e2e/run.mjs [NAME…]`, against CRU_BIN or build/test/cru.
//   CRU_TEST_JOBS=n         files at a time
//   CRU_TEST_PATIENCE_S=n   how long a test waits for what has to come (harness/basics.mjs)
//   CRU_TEST_CLAUDE=PATH    a real Claude Code, CRU_TEST_CODEX=PATH a real Codex: driven offline, by a scripted model on loopback
//   CRU_TEST_RESULTS=FOLDER where e2e.jsonl goes: {file, title, outcome} for each test
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

function fail(why) {
  console.error(`e2e: ${why}`);
  process.exit(2);
}

const here = dirname(fileURLToPath(import.meta.url));
const bin = process.env.CRU_BIN ?? join(here, "../../build/test/cru");
if (!existsSync(bin)) fail(`${bin} not found; build it with: make test`);
// The long ones first, so that none is left over at the end. More files at a time than cores: much of a test is waiting.
const long = ["kill_loop", "hooks", "page", "page_world", "page_crew", "keeper_kill", "mcp_stdio", "members", "live_socket", "errors", "chat_trouble", "chat_restart", "authority", "chat", "crowd", "mcp_outage"];
const jobs = Number(process.env.CRU_TEST_JOBS ?? 6);
if (!Number.isInteger(jobs) || jobs < 1) fail(`CRU_TEST_JOBS must be a whole number of at least 1, not "${process.env.CRU_TEST_JOBS}"`);
// A last resort for what waits without a limit of its own; far beyond what any file takes.
const longest_file = 60 * 60_000;

const wanted = process.argv.slice(2);
const rank = (name) => (long.indexOf(name.replace(".test.mjs", "")) + long.length + 1) % (long.length + 1);
const known = readdirSync(here).filter((name) => name.endsWith(".test.mjs"));
const unknown = wanted.find((part) => !known.some((name) => name.includes(part)));
if (unknown !== undefined) fail(`"${unknown}" matches no file in tests/e2e; the files are: ${known.map((name) => name.replace(".test.mjs", "")).sort().join(" ")}`);
const files = known
  .filter((name) => !wanted.length || wanted.some((part) => name.includes(part))).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
const reports = mkdtempSync(join(tmpdir(), "cru-e2e-reports-"));

/// Runs one file to its end: {file, seconds, passed, failed, skipped, tests}. What it says is shown when it has ended.
function run(file) {
  const began = Date.now();
  const report = join(reports, `${file}.tap`);
  return new Promise((done) => {
    const child = spawn(process.execPath, ["--test-reporter=spec", "--test-reporter-destination=stdout", "--test-reporter=tap", `--test-reporter-destination=${report}`, join(here, file)],
      { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, CRU_BIN: bin } });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => { said += text; });
    const timer = setTimeout(() => { said += `${file}: ended after ${longest_file / 60_000} minutes\n`; child.kill("SIGKILL"); }, longest_file);
    child.on("close", (code) => {
      clearTimeout(timer);
      const tap = existsSync(report) ? readFileSync(report, "utf8") : "";
      const count = (word) => Number([...tap.matchAll(new RegExp(`^# ${word} (\\d+)`, "gm"))].at(-1)?.[1] ?? 0);
      const tests = [...tap.matchAll(/^(not )?ok \d+ - (.*?)(?: # (SKIP|TODO)\b.*)?$/gm)]
        .map(([, not, title, skip]) => ({ file, title: title.replace(/\\([\\#])/g, "$1"), outcome: not ? "failed" : skip ? "skipped" : "passed" }));
      // Without its summary the file ended in the middle of a test, whatever its exit code says.
      const is_whole = /^# pass \d+$/m.test(tap) && tests.length > 0;
      if (!is_whole) said += `${file}: ended before its tests did\n`;
      const seconds = (Date.now() - began) / 1000;
      console.error(`── ${file} ${seconds.toFixed(1)} s\n${said.replace(/^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+\n/gm, "")}`);
      done({ file, seconds, passed: count("pass"), failed: Math.max(count("fail") + count("cancelled"), code || !is_whole ? 1 : 0), skipped: count("skipped") + count("todo"), tests });
    });
  });
}

const waiting = [...files], ended = [];
const began = Date.now();
await Promise.all(Array.from({ length: jobs }, async () => { while (waiting.length) ended.push(await run(waiting.shift())); }));
rmSync(reports, { recursive: true, force: true });
if (process.env.CRU_TEST_RESULTS) {
  mkdirSync(process.env.CRU_TEST_RESULTS, { recursive: true });
  writeFileSync(join(process.env.CRU_TEST_RESULTS, "e2e.jsonl"), ended.flatMap(({ tests }) => tests).map((test) => `${JSON.stringify(test)}\n`).join(""));
}
const slow = [...ended].sort((a, b) => b.seconds - a.seconds).slice(0, 12).map(({ file, seconds }) => `${file.replace(".test.mjs", "")} ${seconds.toFixed(0)}`);
console.error(`e2e: ${files.length} files in ${((Date.now() - began) / 1000).toFixed(0)} s, ${jobs} at a time; the longest: ${slow.join(", ")}`);
const sum = (key) => ended.reduce((all, one) => all + one[key], 0);
for (const { file, failed } of ended) if (failed) console.error(`e2e: ${failed} failed in ${file}`);
const missing = files.filter((name) => !ended.some(({ file }) => file === name));
for (const name of missing) console.error(`e2e: ${name} did not end`);
console.log(`# pass ${sum("passed")}\n# fail ${sum("failed") + missing.length}\n# skipped ${sum("skipped")}`);
process.exit(sum("failed") + missing.length ? 1 : 0);
