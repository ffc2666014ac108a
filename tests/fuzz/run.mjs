// Runs the fuzzers of build/fuzz (`make fuzz`), two at a time: FUZZ_SECONDS for each (default 60). Corpora stay
// in build/fuzz/corpus for the next time, inputs that break something in build/fuzz/artifacts.
//   node tests/fuzz/run.mjs [NAME…]      only these: definition, yaml, …
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const build = process.env.FUZZ_BUILD ?? join(root, "build/fuzz");
const seconds = Number(process.env.FUZZ_SECONDS ?? 60);
const atOnce = Number(process.env.FUZZ_JOBS ?? 2);

// What else a parser starts from, besides tests/fuzz/seeds/NAME.
const seeds = {
  definition: ["src/definitions/builtin", "tests/golden/agents/new.md"],
  json: ["tests/fixtures/mcp", "tests/golden/agents/list.json"],
  json_edit: ["tests/golden/agents/show.json"],
  notes: ["tests/fixtures/notes", "src/definitions/builtin"],
  program_lines: ["tests/fixtures/minds", "tests/fixtures/claude"],
  report: ["tests/fixtures/notes/testing.md"],
  yaml: ["tests/fuzz/seeds/script"],
};
const longest = { notes: 16384, glob: 64, address: 256, program_lines: 16384 };

function filesIn(path) {
  if (!existsSync(path)) return [];
  return statSync(path).isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [path];
}

/// The folder that libFuzzer grows: seeds first, a file of JSON lines also line by line.
function corpusOf(name) {
  const corpus = join(build, "corpus", name);
  mkdirSync(corpus, { recursive: true });
  const places = [join("tests/fuzz/seeds", name), ...(seeds[name] ?? [])];
  for (const file of places.flatMap((place) => filesIn(join(root, place)))) {
    const text = readFileSync(file);
    writeFileSync(join(corpus, `seed-${basename(file)}`), text);
    if (file.endsWith(".jsonl"))
      text.toString().split("\n").filter(Boolean).forEach((line, at) => writeFileSync(join(corpus, `seed-${basename(file)}-${at}`), line));
  }
  return corpus;
}

function fuzz(name) {
  const artifacts = join(build, "artifacts", `${name}-`);
  mkdirSync(dirname(artifacts), { recursive: true });
  const args = [corpusOf(name), `-max_total_time=${seconds}`, `-max_len=${longest[name] ?? 4096}`, "-timeout=10",
    "-rss_limit_mb=2048", `-artifact_prefix=${artifacts}`, `-dict=${join(here, "tokens.dict")}`, "-print_final_stats=1"];
  return new Promise((done) => {
    let log = "";
    const child = spawn(join(build, "tests/fuzz", `${name}_fuzz`), args, { stdio: ["ignore", "ignore", "pipe"] });
    child.stderr.setEncoding("utf8").on("data", (text) => (log = (log + text).slice(-200_000)));
    child.on("error", (error) => done({ name, ok: false, log: String(error) }));
    child.on("close", (code) => {
      const last = (pattern) => [...log.matchAll(pattern)].at(-1)?.[1];
      done({ name, ok: code === 0, log, runs: last(/number_of_executed_units:\s*(\d+)/g), edges: last(/cov: (\d+)/g),
        inputs: last(/corp: (\d+)/g), artifact: last(/Test unit written to (\S+)/g) });
    });
  });
}

function report({ name, ok, log, runs, edges, inputs, artifact }) {
  console.log(`${ok ? "ok    " : "BROKEN"} ${name.padEnd(14)} ${runs ?? "?"} runs, ${edges ?? "?"} edges, ${inputs ?? "?"} inputs`);
  if (ok) return;
  const why = log.split("\n").filter((line) => /does not hold|ERROR:|runtime error|^ +#[0-9]+ .*(src|tests)\//.test(line));
  console.log((why.length ? why.slice(0, 12) : log.split("\n").slice(-12)).map((line) => `         ${line}`).join("\n"));
  if (artifact) console.log(`       input: ${artifact}`);
}

const all = readdirSync(here).filter((file) => file.endsWith("_fuzz.cc")).map((file) => file.replace("_fuzz.cc", ""));
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !all.includes(name));
if (unknown.length) {
  console.error(`fuzz: there is no ${unknown.join(", ")}; there are ${all.join(", ")}`);
  process.exit(2);
}
const waiting = wanted.length ? wanted : all;
const results = [];
console.log(`fuzzing ${waiting.length} parsers, ${seconds} s each, ${atOnce} at a time`);
const queue = [...waiting];
await Promise.all(Array.from({ length: atOnce }, async () => {
  for (let name = queue.shift(); name; name = queue.shift()) {
    const result = await fuzz(name);
    results.push(result);
    report(result);
  }
}));
const broken = results.filter((result) => !result.ok);
console.log(`${results.length - broken.length} held, ${broken.length} broken${broken.length ? `: ${broken.map(({ name }) => name).join(", ")}` : ""}`);
process.exit(broken.length ? 1 : 0);
