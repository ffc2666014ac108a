#!/usr/bin/env node
// Holds every file's folder and every #include under src/ against the plan of the house (ARCHITECTURE.md).
// Prints each violation as `file:line: why` and fails if there is one.
//   node tools/layering.mjs [ROOT]        checks a tree
//   node tools/layering.mjs --self-test   plants one violation of each rule and proves that it is seen
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";

// What each room may include from the other rooms. Below the rooms everyone may look down.
const rooms = {
  members: [],
  pairings: [],
  trust: [],
  inbox: ["members"],
  approvals: [],
  budgets: ["members", "inbox", "approvals"],
  runs: ["members", "inbox", "budgets"],
  notes: [],
  minds: ["members", "runs", "trust", "budgets"],
  definitions: ["trust", "budgets"],
  world: [],
  sessions: ["members"],
  locks: ["members", "sessions"],
  work: ["members", "sessions", "runs"],
  handoffs: ["members", "sessions"],
  guardrails: [],
  teams: ["members", "sessions", "runs", "trust"],
  crew: ["members", "trust", "definitions", "minds", "notes", "inbox", "approvals", "budgets", "runs"],
  autonomy: ["members", "trust", "definitions", "minds", "world"],
  roster: ["members", "inbox", "approvals", "budgets", "runs", "sessions", "crew", "autonomy"],
  auto_mode: ["members", "trust", "definitions", "minds", "world", "autonomy"],
  traces: ["members", "inbox", "approvals", "runs", "sessions", "work", "crew", "autonomy", "auto_mode"],
};
const below = ["base", "platform", "store"];
const all = [...below, ...Object.keys(rooms), "api", "edges", "daemon", "keeper"];
// A session's end is what these do together, so their tests may see each other.
const coordination = ["sessions", "locks", "work", "handoffs", "teams"];

// Rooms within rooms: what each folder may include of its siblings, "." being the files beside them. A room that is not
// here has no folders.
const within = {
  platform: { loop: [], files: ["loop"], process: ["loop", "files"], terminal: [], sandbox: ["files", "process"], net: ["loop", "files"], telemetry: ["loop", "files", "net"] },
  "platform/net": { http: [], ".": ["http"] },
  store: { sqlite: ["."], ".": [] },
  runs: { adapters: [], ".": ["adapters"] },
  api: { handlers: ["."], ".": [] },
  edges: { ".": [], client: ["."], hooks: [".", "client"], mcp: [".", "client"], ws: ["."], http: [".", "mcp", "ws"], cli: [".", "client", "hooks", "mcp"] },
  "edges/cli": {
    core: [], terminal: ["core"], chat: ["core", "terminal"], demo: ["core", "terminal"],
    verbs: ["core", "terminal", "chat", "demo"],
  },
};
// Of the edges' command line, only its verbs know the other edges.
const verbsOnly = ["edges/hooks", "edges/mcp"];

// Headers that a rules file must not name: rules do no I/O, read no clock and roll no die.
const io = /^(unistd\.h|fcntl\.h|sys\/|sqlite3\.h|fstream|iostream|filesystem|thread|mutex|random|spdlog\/|linux\/)/;
// Headers of the operating system: platform and keeper wrap them for everybody else. Every C header counts as one, except
// those that only deal with text, and that of SQLite, which is the store's.
const posix = /^([a-z_0-9]+\.h|(sys|netinet|arpa|linux|net|asm|bits)\/.*)$/;
const plainHeaders = ["fnmatch.h", "string.h", "strings.h", "sqlite3.h"];
const isOfSystem = (header) => posix.test(header) && !plainHeaders.includes(header);
// A function of the C library, called as such; those that only look at texts are everybody's.
const systemCall = /(?<![\w>])::([a-z_0-9]+)\(/g;
const textCalls = ["fnmatch", "strncasecmp"];
const mayTalkToSystem = [/^platform\//, /^keeper\//, /(_test\.cc|_fixture\.h)$/];
// Files that still talk to the system themselves and wait for a function of platform/. This list may only shrink: a
// file that no longer does has to leave it.
const waiting = [];

const isTest = (file) => /(_test\.cc|_fixture\.h)$/.test(file);

/// The folders that a file may include from, or a function that says so of one include.
function allowed(file) {
  const [room, sub] = file.split("/");
  const test = isTest(file);
  switch (room) {
    case "base": return ["base"];
    case "platform": return ["base", "platform"];
    case "store": return [...below];
    case "keeper": return ["base", "platform", "keeper"];
    case "api": return sub === "handlers" || test ? [...below, ...Object.keys(rooms), "api"] : [...below, "api"];
    case "edges": return test ? [...below, "api", "edges"] : ["base", "platform", "api", "edges", "store/event_log.h"];
    case "daemon": return [...below, ...Object.keys(rooms), "api", "edges", "daemon"];
    case "main.cc": return all;
  }
  if (!(room in rooms)) return null;
  return [...below, room, ...rooms[room], ...(test && coordination.includes(room) ? coordination : [])];
}

/// A way round in a plan, from a place back to itself, or nothing: whoever is on it cannot be read alone.
function wayRound(plan) {
  const path = [], left = new Set();
  const visit = (place) => {
    if (path.includes(place)) return [...path.slice(path.indexOf(place)), place];
    if (left.has(place)) return;
    path.push(place);
    for (const next of plan[place] ?? []) {
      const found = visit(next);
      if (found) return found;
    }
    path.pop();
    left.add(place);
  };
  for (const place of Object.keys(plan)) {
    const found = visit(place);
    if (found) return found;
  }
}

/// What is wrong with the plan itself.
function againstItself(plans) {
  return Object.entries(plans).flatMap(([folder, plan]) => {
    const round = wayRound(plan);
    return round ? [`tools/layering.mjs: the plan of ${folder} goes round: ${round.join(" → ")}`] : [];
  });
}

/// Why a file may not be where it is, or nothing.
function againstPlan(file) {
  const [room, ...rest] = file.split("/");
  for (let folder = room; rest.length; folder += `/${rest.shift()}`) {
    const part = rest.length > 1 ? rest[0] : ".";
    const plan = within[folder] ?? { ".": [] };
    if (!(part in plan)) return `${part === "." ? `files in ${folder}/ itself are` : `"${folder}/${part}" is`} not planned: add it to tools/layering.mjs`;
  }
}

/// Why a file may not include another of the same room, or nothing.
function againstSiblings(file, own) {
  for (const [folder, plan] of Object.entries(within)) {
    if (!file.startsWith(`${folder}/`) || !own.startsWith(`${folder}/`)) continue;
    const part = (path) => { const rest = path.slice(folder.length + 1); return rest.includes("/") ? rest.split("/")[0] : "."; };
    const from = part(file), to = part(own);
    if (from === to || isTest(file)) continue;
    const may = plan[from].some((place) => place === to || own.startsWith(`${folder}/${place}/`));
    if (!may) return `${folder}/${from} may not include "${own}" (of ${folder}/ it may include ${plan[from].join(", ") || "nothing"})`;
  }
  if (file.startsWith("edges/cli/") && !file.startsWith("edges/cli/verbs/") && verbsOnly.some((edge) => own.startsWith(`${edge}/`)))
    return `only edges/cli/verbs may include "${own}"`;
}

function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesUnder(path);
    return /\.(cc|h)$/.test(entry.name) ? [path] : [];
  });
}

/// A room's file is a rules file if the comment at its top says "Rules"; its .cc goes with its .h.
function saysRules(text) {
  const top = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("///")) top.push(line);
    else if (top.length || !/^(#pragma once)?\s*$/.test(line)) break;
  }
  return /\bRules\b/.test(top.join(" "));
}

/// What a line has of the operating system, if it has something.
function ofSystem(content, isBeside) {
  const header = content.match(/^\s*#\s*include\s*[<"]([^>"]+)[>"]/)?.[1];
  if (header) return isOfSystem(header) && !isBeside(header) ? `<${header}>` : undefined;
  if (/^\s*extern char\s*\*\*\s*environ\b/.test(content)) return "environ";
  const call = [...content.replace(/\/\/.*/, "").matchAll(systemCall)].find((found) => !textCalls.includes(found[1]));
  return call ? `${call[0]})` : undefined;
}

export function check(root, stillWaiting = waiting) {
  const src = join(root, "src");
  const texts = new Map(filesUnder(src).map((path) => [relative(src, path), readFileSync(path, "utf8")]));
  const isRules = (file) => {
    const header = file.replace(/\.cc$/, ".h");
    return file.split("/")[0] in rooms && texts.has(header) && saysRules(texts.get(header));
  };
  const violations = againstItself({ "src/": rooms, ...within });
  const talkers = new Set();
  for (const [file, text] of texts) {
    const room = file.split("/")[0];
    const may = allowed(file);
    const say = (line, why) => violations.push(`src/${file}:${line}: ${why}`);
    if (!may) {
      say(1, `"${room}" is not a known room: add it to tools/layering.mjs and ARCHITECTURE.md`);
      continue;
    }
    if (againstPlan(file)) {
      say(1, againstPlan(file));
      continue;
    }
    text.split("\n").forEach((content, index) => {
      const line = index + 1;
      const talk = mayTalkToSystem.some((place) => place.test(file)) ? undefined : ofSystem(content, (name) => existsSync(join(src, dirname(file), name)));
      if (talk) {
        talkers.add(file);
        if (!stillWaiting.includes(file)) say(line, `only platform/ and keeper/ talk to the operating system (${talk})`);
      }
      const system = content.match(/^\s*#\s*include\s*<([^>]+)>/)?.[1];
      if (system) {
        if (/^boost\/beast\b/.test(system) && room !== "platform") say(line, `only platform/ includes Beast (<${system}>)`);
        if (isRules(file) && io.test(system) && !isOfSystem(system)) say(line, `a rules file does no I/O, and includes <${system}>`);
      }
      const own = content.match(/^\s*#\s*include\s*"([^"]+)"/)?.[1];
      if (!own) return;
      if (own.split("/").includes("..")) {
        say(line, `write the path from src/: "${own}"`);
        return;
      }
      const target = own.split("/")[0];
      if (!all.includes(target)) {
        if (existsSync(join(src, dirname(file), own))) say(line, `write the path from src/: "${own}"`);
        return;  // generated, or not ours
      }
      if (!may.some((place) => own === place || own.startsWith(`${place}/`)))
        say(line, `${room}/ may not include "${own}" (it may include ${may.join(", ")})`);
      else if (againstSiblings(file, own)) say(line, againstSiblings(file, own));
      else if (isRules(file) && target !== "base" && !isRules(own))
        say(line, `a rules file includes base/ and other rules only, not "${own}"`);
    });
  }
  for (const file of stillWaiting)
    if (!talkers.has(file)) violations.push(`src/${file}:1: it no longer talks to the operating system: take it off the list in tools/layering.mjs`);
  return violations;
}

function selfTest() {
  const clean = {
    "base/time.h": "", "platform/loop/loop.h": "#include <sys/epoll.h>\n#include \"base/time.h\"\n",
    "platform/files/files.h": "#include <fcntl.h>\n#include \"platform/loop/loop.h\"\n",
    "sessions/session.h": "", "locks/lock.h": "#include \"sessions/session.h\"\n",
    "sessions/session_test.cc": "#include <sys/stat.h>\n#include \"locks/lock.h\"\n",
    "edges/client/client.h": "", "edges/cli/core/context.h": "#include \"edges/client/client.h\"\n",
    "platform/files/readiness.cc": "#include <poll.h>\nint ready = ::poll(polled, 1, 0);\n", "keeper/loop.cc": "#include <poll.h>\n",
    "edges/cli/core/glob.cc": "// as ::poll() does\nbool is = ::fnmatch(a, b, 0) == 0 || edges::read() || x.y::write() || std::move(z);\n",
    "edges/cli/verbs/run.cc": "#include \"edges/cli/core/context.h\"\n#include \"edges/mcp/stdio.h\"\n",
    "edges/mcp/stdio.h": "#include \"edges/client/client.h\"\n",
    "store/store.h": "#include \"platform/loop/loop.h\"\n", "store/event_log.h": "",
    "inbox/question.h": "#pragma once\n/// Questions. Rules only.\n#include \"base/time.h\"\n", "inbox/service.h": "/// The service.\n#include \"store/store.h\"\n",
    "runs/run.h": "#include \"inbox/question.h\"\n", "keeper/keeper.h": "#include \"platform/loop/loop.h\"\n",
    "api/operation.h": "#include \"base/time.h\"\n", "api/handlers/runs.cc": "#include \"runs/run.h\"\n",
    "edges/http/server.cc": "#include \"store/event_log.h\"\n#include \"api/operation.h\"\n",
    "daemon/daemon.cc": "#include \"runs/run.h\"\n#include \"edges/http/x.h\"\n", "main.cc": "#include \"daemon/daemon.h\"\n",
  };
  const planted = [
    ["base/json.h", "#include \"platform/loop/loop.h\"", "base looks up"],
    ["platform/files/log.h", "#include \"store/store.h\"", "platform looks up"],
    ["store/tx.h", "#include \"runs/run.h\"", "store includes a room"],
    ["inbox/ask.h", "#include \"runs/run.h\"", "a room edge that is not drawn"],
    ["locks/path.h", "#include \"crew/spawn.h\"", "another one"],
    ["sessions/ending.h", "#include \"locks/lock.h\"", "a session that knows the locks"],
    ["platform/loop/task.h", "#include \"platform/files/files.h\"", "a part of a room that looks up"],
    ["edges/cli/core/render.h", "#include \"edges/cli/verbs/run.h\"", "the core of the command line that knows a verb"],
    ["edges/mcp/lines.cc", "#include \"edges/cli/core/context.h\"", "an edge that knows the command line, which knows it"],
    ["edges/hooks/hook.cc", "#include \"edges/cli/core/context.h\"", "another one"],
    ["edges/client/start.cc", "#include \"edges/mcp/stdio.h\"", "the client that knows whom it serves"],
    ["edges/cli/demo/demo.cc", "#include \"edges/mcp/stdio.h\"", "another edge outside the verbs"],
    ["platform/audio/sound.h", "#include \"platform/loop/loop.h\"", "a part of a room that nobody planned"],
    ["platform/audio/silence.h", "", "one that includes nothing"],
    ["locks/deep/lock.h", "", "a part of a room that has none"],
    ["edges/cli/loose.h", "", "a file beside the parts of a room that has only parts"],
    ["notes/files.cc", "#include <sys/stat.h>", "a room that talks to the operating system"],
    ["api/clock.h", "#include <unistd.h>", "the table that does"],
    ["edges/cli/core/wait.cc", "#include <poll.h>", "the command line that does"],
    ["runs/log.cc", "#include <syslog.h>", "a header that only one file would ever include"],
    ["work/wait.cc", "#include \"unistd.h\"", "one in quotation marks"],
    ["edges/hooks/guard.cc", "  ::alarm(1);", "a hook that does, by a header of somebody else's"],
    ["daemon/process.cc", "extern char** environ;", "the daemon that does"],
    ["keeper/main.cc", "#include \"store/store.h\"", "the keeper includes the store"],
    ["api/api.h", "#include \"runs/run.h\"", "the table includes a room"],
    ["edges/http/route.cc", "#include \"runs/run.h\"", "an edge includes a room"],
    ["edges/cli/verbs/ps.cc", "#include \"store/store.h\"", "an edge includes more of the store than its log"],
    ["daemon/wiring.h", "#include \"keeper/keeper.h\"", "the daemon includes the keeper"],
    ["edges/http/parse.cc", "#include <boost/beast/http.hpp>", "Beast outside platform"],
    ["runs/near.cc", "#include \"run.h\"", "a path that does not begin at src/"],
    ["crew/detour.cc", "#include \"runs/../locks/lock.h\"", "a path that leaves the room that it names"],
    ["runs/life.h", "/// Life of a run. Rules only.\n#include \"store/store.h\"", "a rules file with I/O"],
    ["runs/death.h", "/// Death of a run. Rules only.\n#include <fstream>", "a rules file with a stream"],
    ["runs/birth.h", "/// Birth of a run. Rules only.\n#include \"runs/run.h\"", "a rules file with a file that is none"],
    ["cellar/wine.h", "#include \"base/time.h\"", "a room that nobody planned"],
  ];
  const build = (files, stillWaiting) => {
    const root = mkdtempSync(join(tmpdir(), "cru-layering-"));
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, "src", name)), { recursive: true });
      writeFileSync(join(root, "src", name), text + "\n");
    }
    const found = check(root, stillWaiting);
    rmSync(root, { recursive: true });
    return found;
  };
  const wrong = build(clean).map((violation) => `a clean tree is red: ${violation}`);
  for (const [name, text, why] of planted) {
    const found = build({ ...clean, [name]: text });
    if (found.length !== 1 || !found[0].startsWith(`src/${name}:`)) wrong.push(`not seen: ${why} (${name}): ${found}`);
  }
  const old = { ...clean, "daemon/old.cc": "#include <unistd.h>" };
  if (build(old, ["daemon/old.cc"]).length !== 0) wrong.push("a file that may wait is red");
  if (build(clean, ["daemon/daemon.cc"]).length !== 1) wrong.push("not seen: a file that need not wait any more");
  if (againstItself({ edges: { cli: ["mcp"], mcp: ["client", "cli"], client: [] } }).length !== 1) wrong.push("not seen: a plan that goes round");
  return wrong;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const argument = process.argv[2];
  const self = argument === "--self-test";
  const root = resolve(self || !argument ? join(dirname(fileURLToPath(import.meta.url)), "..") : argument);
  const wrong = self ? selfTest() : check(root);
  wrong.forEach((line) => console.log(line));
  console.log(wrong.length ? `layering: ${wrong.length} violation(s)` : self ? "layering: every planted violation is seen" : "layering: no violations");
  process.exit(wrong.length ? 1 : 0);
}
