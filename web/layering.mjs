// Which folder of src/ may import from which (see README.md). Imports that are not listed here are not allowed, so that
// each capability can be read, changed and tested by itself.
import { readFileSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";

const below = ["base", "ui"];
const capabilities = {
  members: [],
  trust: [],
  approvals: ["trust"],                         // both show differences
  inbox: ["trust", "approvals", "members"],     // what waits for trust or for an approval needs the user, too; members ask
  runs: [],
  locks: [],
  work: ["traces"],                             // what became of an item
  handoffs: [],
  traces: [],
  sessions: ["locks", "work"],                  // what a session holds
  definitions: [],
  crew: ["definitions", "members"],             // agents and minds for chats and subagents, and their badges
  world: ["definitions"],                       // agents and minds for live agents
  roster: ["members", "inbox", "runs", "sessions", "handoffs", "definitions", "crew", "world", "traces"],  // a member has a tab for each
};
const allowed = {
  base: [],
  ui: ["base"],
  ...Object.fromEntries(Object.entries(capabilities).map(([name, others]) => [name, [...below, ...others]])),
  shell: [...below, ...Object.keys(capabilities)],
};

/// The sources under `root`, as a map from path to text.
export function sourcesUnder(root) {
  const names = readdirSync(root, { recursive: true }).filter((name) => /\.(tsx?|css)$/.test(name));
  return new Map(names.sort().map((name) => [name.replaceAll("\\", "/"), readFileSync(join(root, name), "utf8")]));
}

/// Where a person approves, trusts or answers, nothing is hidden: text is shown by visibleText, not as a terminal would show it.
const of_decisions = ["approvals", "trust", "inbox"];
const hiding = /\b(safeText|stripEscapes|oneLine|ParagraphText|is_output)\b/;

/// All imports that are not allowed, as `file:line: reason`.
export function violationsIn(sources) {
  const found = [];
  for (const [file, text] of sources) {
    const [folder] = file.split("/");
    const say = (line, why) => found.push(`${file}:${line}: ${why}`);
    if (!file.includes("/") || !(folder in allowed)) {
      say(1, `"${folder}" is not a folder of the page: add it to web/layering.mjs`);
      continue;
    }
    text.split("\n").forEach((content, i) => {
      const name = of_decisions.includes(folder) && hiding.exec(content)?.[1];
      if (name) say(i + 1, `${name} may hide a part of what is decided on here: use visibleText`);
      const target = /(?:\bfrom|^\s*import|\bimport\(|@import)\s*"(\.[^"]*)"/.exec(content)?.[1];
      if (!target) return;
      const path = posix.join(posix.dirname(file), target);
      const other = path.split("/")[0];
      if (!sources.has(path)) say(i + 1, `there is no ${path}`);
      else if (other !== folder && !allowed[folder].includes(other)) say(i + 1, `${folder}/ may not import from ${other}/`);
      else if (/_fixture\.tsx?$/.test(path) && !/(\.test|_fixture)\.tsx?$/.test(file)) say(i + 1, "only tests import a fixture");
    });
  }
  return found;
}
