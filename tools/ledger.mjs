#!/usr/bin/env node
// The scenario ledger: each id of scenarios.tsv with the tests that name it. A test names a scenario in its
// name or in a comment beside it (`// CO-16`). Fails when a finished area has a scenario that no test names,
// or when a test names one that does not exist.
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

// What is finished: whole areas, or an area up to a scenario.
const finished = { EX: 99, CO: 99, SA: 48, RT: 99 };
const isFinished = (id) => Number(id.split("-")[1]) <= (finished[id.split("-")[0]] ?? 0);

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const isTest = (path) => /(_test\.cc|\.test\.(ts|mjs))$/.test(path) || /^tests\/(sim|golden)\/.*\.cc$/.test(path);

function testsUnder(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? testsUnder(path) : isTest(path) ? [path] : [];
  });
}

const scenarios = readFileSync(join(root, "tools/scenarios.tsv"), "utf8").trim().split("\n").slice(1)
  .map((line) => line.split("\t")).map(([id, , requirement, scenario]) => ({ id, requirement, scenario, tests: new Set() }));
const byId = new Map(scenarios.map((scenario) => [scenario.id, scenario]));
const areas = [...new Set(scenarios.map(({ id }) => id.split("-")[0]))];
const unknown = [];

for (const path of ["src", "tests", "web"].flatMap(testsUnder)) {
  const names_tests = /\.(ts|mjs)$/.test(path);  // there only a test's own name counts, not a file's heading
  readFileSync(join(root, path), "utf8").split("\n").forEach((line, index) => {
    if (names_tests && !/^\s*test\(/.test(line)) return;
    for (const [id] of line.matchAll(new RegExp(`\\b(?:${areas.join("|")})-\\d\\d\\b`, "g"))) {
      if (byId.has(id)) byId.get(id).tests.add(relative("", path));
      else unknown.push(`${path}:${index + 1}: there is no scenario ${id}`);
    }
  });
}

let gaps = 0;
for (const area of areas) {
  const own = scenarios.filter(({ id }) => id.startsWith(`${area}-`));
  const covered = own.filter(({ tests }) => tests.size).length;
  const done = own.every(({ id }) => isFinished(id));
  console.log(`${area}  ${covered} of ${own.length} scenarios have a test${done ? "" : "  (not finished yet)"}`);
  for (const { id, scenario, tests } of own) {
    if (!tests.size && !isFinished(id)) continue;
    const names = [...tests].sort();
    console.log(`  ${tests.size ? "✓" : "✗"} ${id}  ${scenario.padEnd(34)} ${names[0] ?? "NO TEST"}`);
    for (const name of names.slice(1)) console.log(`  ${" ".repeat(44)} ${name}`);
    if (!tests.size) ++gaps;
  }
}
unknown.forEach((line) => console.log(line));
console.log(gaps || unknown.length ? `ledger: ${gaps} gap(s) in finished areas, ${unknown.length} unknown id(s)` : "ledger: no gaps in finished areas");
process.exit(gaps || unknown.length ? 1 : 0);
