// Runs the benchmarks one after the other, prints a table each and a summary of the aims, writes build/bench.json.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { closeAll, cru_bin, quick, repository, sleep } from "./harness.mjs";

const all = ["output", "events", "readers", "memory", "take_back", "idle", "verbs", "http", "mcp", "work", "live", "live_clients", "auto", "jail", "traces", "growth"];

function number(value) {
  if (value === null) return "";
  const size = Math.abs(value);
  return value.toFixed(Number.isInteger(value) || size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3);
}

function aimOf({ aim, aim_of, better, met }) {
  if (aim === null) return "";
  const sign = better === "more" ? ">=" : "<=";
  return `${sign} ${number(aim)}${aim_of === "ratio" ? "x" : ""} ${met ? "met" : "MISSED"}`;
}

function print(title, rows) {
  const lines = [["what", "ours", "", "peer", "", "ratio", "aim"]];
  for (const each of rows) {
    const ratio = each.ratio === null ? "" : `${number(each.ratio)}x`;
    lines.push([each.what, number(each.ours), each.unit, number(each.peer), each.peer_name, ratio, aimOf(each)]);
  }
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const right = new Set([1, 3, 5]);
  console.log(`\n${title}`);
  for (const line of lines)
    console.log(`  ${line.map((cell, i) => (right.has(i) ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join("  ").trimEnd()}`);
}

/// Share of all CPUs that others use now, over half a second.
async function busy() {
  const read = () => readFileSync("/proc/stat", "utf8").split("\n")[0].split(/\s+/).slice(1, 9).map(Number);
  const before = read();
  await sleep(500);
  const spent = read().map((ticks, i) => ticks - before[i]);
  const total = spent.reduce((sum, ticks) => sum + ticks, 0);
  return total === 0 ? 0 : 1 - (spent[3] + spent[4]) / total;
}

const names = process.argv.slice(2);
for (const name of names) {
  if (all.includes(name)) continue;
  console.error(`bench: unknown benchmark "${name}"; there are: ${all.join(" ")}`);
  process.exit(2);
}
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => closeAll().finally(() => process.exit(130)));

const machine = {
  cpu: os.cpus()[0].model, cores: os.cpus().length, memory_mb: Math.round(os.totalmem() / 2 ** 20), kernel: os.release(),
  program: execFileSync(cru_bin, ["--version"], { encoding: "utf8" }).trim(),
};
console.log(`${machine.program} on ${machine.cores} x ${machine.cpu}, Linux ${machine.kernel}${quick ? ", quick" : ""}`);
const begun = Date.now();
const results = [];
let failed = 0;
for (const name of names.length ? names : all) {
  const others = await busy();
  if (others > 0.15) console.log(`\n! other processes use ${Math.round(others * 100)} % of the CPU: "${name}" would do better on a quiet machine`);
  const { title, run } = await import(`./${name}.mjs`);
  try {
    const rows = await run({ named: names.includes(name) });
    print(title, rows);
    results.push({ name, title, busy: Number(others.toFixed(2)), rows });
  } catch (error) {
    ++failed;
    console.error(`\n${title}: failed: ${error.message}`);
    results.push({ name, title, busy: Number(others.toFixed(2)), error: error.message, rows: [] });
    await closeAll();
  }
}
const aims = results.flatMap(({ title, rows }) => rows.filter((each) => each.aim !== null).map((each) => ({ ...each, what: `${title}: ${each.what}` })));
if (aims.length && names.length !== 1) print("aims", aims);
const seconds = Math.round((Date.now() - begun) / 1000);
const file = join(repository, "build/bench.json");
writeFileSync(file, `${JSON.stringify({ machine, at: new Date().toISOString(), seconds, quick, results }, null, 2)}\n`);
console.log(`\n${aims.filter((each) => each.met).length} of ${aims.length} aims met in ${seconds} s; build/bench.json has every figure`);
process.exit(failed ? 1 : 0);
