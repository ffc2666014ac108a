#!/usr/bin/env node
// The scenario ledger: each id of scenarios.tsv with the tests that prove it. A test says so by a mark, and by nothing else:
//   end to end   the title begins with it:       test("EX-04: …"), test("CO-06, CO-08: …")
//   C++          the line right above says it:   // Scenario: CO-16
//                                                TEST(Session, …)
// Wherever else an id stands it is prose. Fails when a finished area has a scenario without a mark, when a mark is
// written wrong or names no scenario, and, held against the results of a run, when none of a scenario's tests was run
// and passed: a skipped test proves nothing.
//   node tools/ledger.mjs                    looks at the marks alone
//   node tools/ledger.mjs --results FOLDER   and at what was run: GoogleTest's reports *.xml, and e2e.jsonl of tests/e2e/run.mjs
//   node tools/ledger.mjs --self-test        plants one violation of each rule and proves that it is seen
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

// What is finished: whole areas, or an area up to a scenario.
const finished = { EX: 99, CO: 99, SA: 61, RT: 99, AM: 99 };

const ids = "[A-Z]{2}-\\d\\d(?:, [A-Z]{2}-\\d\\d)*";
const title_mark = new RegExp(`^(${ids}): \\S`);
const comment_mark = new RegExp(`^// Scenario: (${ids})$`);
const title = /^[ \t]*test\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/gm;
const cpp_test = /^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)/;

function filesUnder(root, folder, pattern) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesUnder(root, path, pattern) : pattern.test(entry.name) ? [path] : [];
  });
}

/// The titles that a test written so may have: what stands in ${…} may be anything.
function titlesLike(words, quote) {
  const parts = quote === "`" ? words.split(/\$\{[^{}]*\}/) : [words];
  return new RegExp(`^${parts.map((part) => part.replace(/\\(.)/g, "$1").replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(".*")}$`);
}

/// What the marks in one file say: `marks` of {ids, test}, and `wrong`, one line for each that is none. A C++ test is known
/// by its name, `Suite.Name`; an end-to-end test by its file and the titles that it may have.
export function marksIn(path, text) {
  const marks = [], wrong = [];
  const lineAt = (offset) => text.slice(0, offset).split("\n").length;
  if (path.endsWith(".mjs")) {
    for (const { index, 1: quote, 2: words } of text.matchAll(title)) {
      const mark = words.match(title_mark);
      if (mark) marks.push({ ids: mark[1].split(", "), test: { file: basename(path), titles: titlesLike(words, quote) }, line: lineAt(index) });
      else if (/^[A-Z]{2}-\d\d\b/.test(words)) wrong.push(`${path}:${lineAt(index)}: a mark is written "EX-04: …" or "EX-04, EX-05: …", not "${words.slice(0, 20)}…"`);
    }
    return { marks, wrong };
  }
  const lines = text.split("\n");
  lines.forEach((line, index) => {
    if (!/^\s*\/\/+\s*Scenarios?\s*:/i.test(line)) return;
    const mark = line.match(comment_mark);
    const test = lines.slice(index + 1, index + 3).join(" ").match(cpp_test);
    if (mark && test) marks.push({ ids: mark[1].split(", "), test: `${test[1]}.${test[2]}`, line: index + 1 });
    else wrong.push(`${path}:${index + 1}: a mark is a line "// Scenario: CO-16" right above its TEST`);
  });
  return { marks, wrong };
}

/// What was run: "passed", "failed" or "skipped" by a test's name, end to end by its file and title. Where a test was run
/// more than once, in halves or with several parameters, the worst counts.
export function resultsIn(folder) {
  const outcomes = new Map();
  const order = ["passed", "skipped", "failed"];
  const note = (key, outcome) => { if (order.indexOf(outcome) > order.indexOf(outcomes.get(key))) outcomes.set(key, outcome); };
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const reports = names.filter((name) => name.endsWith(".xml"));
  const journals = names.filter((name) => name === "e2e.jsonl");
  for (const name of reports) {
    for (const [, head, , body = ""] of readFileSync(join(folder, name), "utf8").matchAll(/<testcase ([^>]*?)(\/>|>([^]*?)<\/testcase>)/g)) {
      const of = (attribute) => head.match(new RegExp(`\\b${attribute}="([^"]*)"`))?.[1] ?? "";
      const ran = of("status") === "run" && of("result") !== "skipped" && !body.includes("<skipped");
      note(`${of("classname").split("/").at(-1)}.${of("name").split("/")[0]}`, !ran ? "skipped" : body.includes("<failure") ? "failed" : "passed");
    }
  }
  for (const name of journals) {
    for (const line of readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean)) {
      const { file, title: words, outcome } = JSON.parse(line);
      note(`${file} ${words}`, outcome);
    }
  }
  const missing = [...(reports.length ? [] : ["the C++ tests"]), ...(journals.length ? [] : ["the end-to-end tests"])];
  return { outcomes, missing };
}

/// The outcomes of a marked test: one, or one for each title that it was run with.
function outcomesOf(test, outcomes) {
  if (!outcomes) return [undefined];
  if (typeof test === "string") return [outcomes.get(test) ?? "not run"];
  const own = [...outcomes].filter(([key]) => key.startsWith(`${test.file} `) && test.titles.test(key.slice(test.file.length + 1)));
  return own.length ? own.map(([, outcome]) => outcome) : ["not run"];
}

/// The ledger of a tree: `scenarios` with their `tests`, and `wrong`, a line for each reason to fail.
export function check(root, results, is_finished) {
  const scenarios = readFileSync(join(root, "tools/scenarios.tsv"), "utf8").trim().split("\n").slice(1)
    .map((line) => line.split("\t")).map(([id, , , name]) => ({ id, name, tests: [] }));
  const by_id = new Map(scenarios.map((scenario) => [scenario.id, scenario]));
  const wrong = [];
  const { outcomes, missing } = results ? resultsIn(results) : {};
  if (missing) wrong.push(...missing.map((what) => `${results}: there are no results of ${what}`));
  const files = [...filesUnder(root, "src", /_test\.cc$/), ...filesUnder(root, "tests", /(_test\.cc|\.test\.mjs)$/)].sort();
  for (const path of files) {
    const found = marksIn(path, readFileSync(join(root, path), "utf8"));
    wrong.push(...found.wrong);
    for (const { ids: named, test, line } of found.marks)
      for (const id of named) {
        if (!by_id.has(id)) wrong.push(`${path}:${line}: there is no scenario ${id}`);
        for (const outcome of outcomesOf(test, outcomes)) by_id.get(id)?.tests.push({ path, line, outcome });
      }
  }
  for (const scenario of scenarios) {
    scenario.proven = scenario.tests.some(({ outcome = "passed" }) => outcome === "passed");
    if (scenario.proven || !is_finished(scenario.id)) continue;
    const why = scenario.tests.length ? `none of its tests passed: ${[...new Set(scenario.tests.map(({ outcome }) => outcome))].join(", ")}` : "no test has its mark";
    wrong.push(`${scenario.id} ${scenario.name}: ${why}`);
  }
  return { scenarios, wrong };
}

function print({ scenarios, wrong }, is_finished) {
  for (const area of [...new Set(scenarios.map(({ id }) => id.split("-")[0]))]) {
    const own = scenarios.filter(({ id }) => id.startsWith(`${area}-`));
    const done = own.every(({ id }) => is_finished(id));
    console.log(`${area}  ${own.filter(({ proven }) => proven).length} of ${own.length} scenarios have a test${done ? "" : "  (not finished yet)"}`);
    for (const { id, name, tests, proven } of own) {
      if (!tests.length && !is_finished(id)) continue;
      const places = tests.map(({ path, line, outcome }) => `${path}:${line}${outcome && outcome !== "passed" ? ` (${outcome})` : ""}`);
      console.log(`  ${proven ? "✓" : "✗"} ${id}  ${name.padEnd(41)} ${places[0] ?? "NO TEST"}`);
      for (const place of places.slice(1)) console.log(`  ${" ".repeat(51)} ${place}`);
    }
  }
  wrong.forEach((line) => console.log(line));
}

function selfTest() {
  const cpp = (test, inside, more = 'status="run" result="completed"') => `<testcase name="${test.split(".")[1]}" ${more} classname="${test.split(".")[0]}"${inside ? `>${inside}</testcase>` : " />"}\n`;
  const ran = (outcome, words = "EX-01, EX-02: it is so") => `${JSON.stringify({ file: "a.test.mjs", title: words, outcome })}\n`;
  const clean = {
    "tools/scenarios.tsv": "id\tseed\trequirement\tscenario\nEX-01\ts\tr\tOne\nEX-02\ts\tr\tTwo\nEX-03\ts\tr\tThree\nEX-04\ts\tr\tNot begun\n",
    "tests/e2e/a.test.mjs": 'test("EX-01, EX-02: it is so", async (t) => {\n  // EX-09 is prose\n});\ntest("as in EX-09, but not it", () => {});\n',
    "src/room/b_test.cc": "// EX-08: prose.\nTEST(Room, IsSmall) {}\n\n// Why it is so.\n// Scenario: EX-03\nTEST_P(Room, HasADoor) {}\n",
    "results/b.xml": `<testsuites>${cpp("Room.IsSmall")}${cpp("All/Room.HasADoor/0")}</testsuites>\n`,
    "results/e2e.jsonl": ran("passed") + ran("skipped", "as in EX-09, but not it"),
  };
  const mjs = "tests/e2e/a.test.mjs", cc = "src/room/b_test.cc", xml = "results/b.xml", journal = "results/e2e.jsonl";
  const planted = [
    ["an id in a title that is no mark", { [mjs]: 'test("it is so (EX-01, EX-02)", () => {});\n' }, [/^EX-01 One: no test/, /^EX-02/]],
    ["an id in a comment end to end", { [mjs]: '// EX-01, EX-02: it is so\ntest("it is so", () => {});\n' }, [/^EX-01 One: no test/, /^EX-02/]],
    ["an id in a comment of C++", { [cc]: "// EX-03\nTEST_P(Room, HasADoor) {}\n" }, [/^EX-03 Three: no test/]],
    ["a mark without its colon", { [mjs]: 'test("EX-01 EX-02 it is so", () => {});\n' }, [/a\.test\.mjs:1: a mark is written/, /^EX-01/, /^EX-02/]],
    ["a mark over nothing", { [cc]: "// Scenario: EX-03\n\nTEST_P(Room, HasADoor) {}\n" }, [/b_test\.cc:1: a mark is a line/, /^EX-03/]],
    ["a mark with more words", { [cc]: "// Scenario: EX-03 too\nTEST_P(Room, HasADoor) {}\n" }, [/b_test\.cc:1: a mark is a line/, /^EX-03/]],
    ["an unknown id end to end", { [mjs]: 'test("EX-01, EX-02: it is so", () => {});\ntest(`EX-07: ${x}`, () => {});\n' }, [/a\.test\.mjs:2: there is no scenario EX-07/]],
    ["an unknown id in C++", { [cc]: "// Scenario: EX-03, ZZ-01\nTEST_P(Room, HasADoor) {}\n" }, [/b_test\.cc:1: there is no scenario ZZ-01/]],
    ["a test that was skipped end to end", { [journal]: ran("skipped") }, [/^EX-01 One: .*: skipped$/, /^EX-02/]],
    ["a test that failed", { [journal]: ran("failed") }, [/^EX-01 One: .*: failed$/, /^EX-02/]],
    ["a test that was not run", { [journal]: ran("passed", "EX-01, EX-02: it is so, and more") }, [/^EX-01 One: .*: not run$/, /^EX-02/]],
    ["another test of the scenario in the same file", { [journal]: ran("skipped") + ran("passed", "EX-01, EX-02: it is otherwise") }, [/^EX-01 One: .*: skipped$/, /^EX-02/]],
    ["a test that failed once of twice", { [journal]: ran("failed") + ran("passed") }, [/^EX-01 One: .*: failed$/, /^EX-02/]],
    ["a half that failed in C++", { [xml]: cpp("All/Room.HasADoor/0", "<failure></failure>") + cpp("All/Room.HasADoor/1") }, [/^EX-03 Three: .*: failed$/]],
    ["a test that was run in another file", { [journal]: ran("passed").replace("a.test", "z.test") }, [/^EX-01/, /^EX-02/]],
    ["a test that was skipped in C++", { [xml]: cpp("All/Room.HasADoor/0", '<skipped message="x"><![CDATA[x]]></skipped>', 'status="run" result="skipped"') }, [/^EX-03 Three: .*: skipped$/]],
    ["a test that is disabled", { [xml]: cpp("All/Room.HasADoor/0", "", 'status="notrun" result="suppressed"') }, [/^EX-03 Three: .*: skipped$/]],
    ["a test that failed in C++", { [xml]: cpp("All/Room.HasADoor/0", "<failure></failure>") }, [/^EX-03 Three: .*: failed$/]],
    ["a run without end-to-end tests", { [journal]: undefined }, [/no results of the end-to-end tests/, /^EX-01/, /^EX-02/]],
    ["a run without C++ tests", { [xml]: undefined }, [/no results of the C\+\+ tests/, /^EX-03/]],
  ];
  const look = (files, with_results = true) => {
    const root = mkdtempSync(join(tmpdir(), "cru-ledger-"));
    for (const [name, text] of Object.entries(files)) {
      if (text === undefined) continue;
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
    const ledger = check(root, with_results && join(root, "results"), (id) => id !== "EX-04");
    rmSync(root, { recursive: true });
    return ledger;
  };
  const missed = [...look(clean).wrong, ...look(clean, false).wrong].map((line) => `a clean tree is red: ${line}`);
  // Each test is told by itself; one that is skipped does not matter where another of the same scenario passed.
  const several = look({
    ...clean,
    [mjs]: 'test("EX-01: a (\\"b\\") c", f);\ntest("EX-01, EX-02: a", f);\nfor (const how of ways)\n  test(`EX-02: it goes ${how}.`, f);\n',
    [journal]: ran("skipped", 'EX-01: a ("b") c') + ran("passed", "EX-01, EX-02: a") + ran("passed", "EX-02: it goes up.") + ran("skipped", "EX-02: it goes down."),
  });
  missed.push(...several.wrong.map((line) => `one of several is enough: ${line}`));
  const told = several.scenarios.slice(0, 2).map(({ tests }) => tests.map(({ line, outcome }) => `${line} ${outcome}`).join(", ")).join("; ");
  if (told !== "1 skipped, 2 passed; 2 passed, 4 passed, 4 skipped") missed.push(`tests are not told one by one: ${told}`);
  for (const [what, files, expected] of planted) {
    const found = look({ ...clean, ...files }).wrong;
    const seen = found.length === expected.length && expected.every((pattern) => found.some((line) => pattern.test(line)));
    if (!seen) missed.push(`not seen: ${what}: ${found.join("; ")}`);
  }
  return missed;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [option, folder] = process.argv.slice(2);
  if (option === "--self-test") {
    const missed = selfTest();
    missed.forEach((line) => console.log(line));
    console.log(missed.length ? `ledger: ${missed.length} wrong` : "ledger: every planted violation is seen");
    process.exit(missed.length ? 1 : 0);
  }
  if (option && (option !== "--results" || !folder)) {
    console.error("ledger: node tools/ledger.mjs [--results FOLDER | --self-test]");
    process.exit(2);
  }
  const is_finished = (id) => Number(id.split("-")[1]) <= (finished[id.split("-")[0]] ?? 0);
  const ledger = check(resolve(dirname(fileURLToPath(import.meta.url)), ".."), folder, is_finished);
  print(ledger, is_finished);
  const how = folder ? "held against what was run" : "marks only; `make test` holds them against what was run";
  console.log(ledger.wrong.length ? `ledger: ${ledger.wrong.length} wrong (${how})` : `ledger: no gaps in finished areas (${how})`);
  process.exit(ledger.wrong.length ? 1 : 0);
}
