// What grows, how it is made to grow, and what is asked at each size. Records are written by growth_fill while no daemon
// runs, or by requests where there cannot be many.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bench_bin, waitFor } from "../harness.mjs";

/// By the rooms' own code, into the daemon's database.
const fill = (kind) => (project, from, to) => {
  execFileSync(join(bench_bin, "growth_fill"), [join(project.root, ".coven/coven.db"), kind, String(from), String(to)], { stdio: ["ignore", "ignore", "inherit"], timeout: 900_000 });
};

/// By requests, 64 at a time, once the daemon runs.
async function each(from, to, request) {
  let next = from;
  const work = async () => { while (next < to) await request(next++); };
  await Promise.all(Array.from({ length: 64 }, work));
}

let requests = 0;
/// A session of an agent's own; each request has an id.
const agent = (name, number = 0) => ({
  "Cru-Agent-Id": name, "Cru-Agent-Type": "bench", "Cru-Session-Id": `00000000-0000-4000-a000-${String(number).padStart(12, "0")}`, "Cru-Request-Id": `growth-${process.pid}-${++requests}`,
});
const worker = () => agent("grower", 1);
const padded = (number, digits = 8) => String(number).padStart(digits, "0");
/// Numbers below `n` that are far from each other.
const scattered = (i, n) => (i * 7919) % n;

async function succeeded(reply) {
  const got = await reply;
  if (got.success === false) throw new Error(JSON.stringify(got));
  return got;
}
const submit = (project) => succeeded(project.request("POST", "/work", { task_type: "growth", description: "x".repeat(100) }, worker()));
async function claimAndComplete(project) {
  const item = await succeeded(project.request("POST", "/work/claim", {}, worker()));
  await succeeded(project.request("POST", `/work/${item.task_id}/complete`, { success: true, fencing_token: item.fencing_token }, worker()));
}
async function takeAndRelease(project, i) {
  const body = { file_path: `new/file-${i}.cc` };
  await succeeded(project.request("POST", "/locks", body, worker()));
  await succeeded(project.request("POST", "/locks/release", body, worker()));
}
/// The agent that asks is known before anything is measured.
export const register = (project) => succeeded(project.request("POST", "/sessions", {}, worker()));
const heartbeat = (project) => succeeded(project.request("POST", "/sessions/heartbeat", {}, worker()));
let newcomers = 0;
const newcomer = (project) => succeeded(project.request("POST", "/sessions", {}, agent(`newcomer-${++newcomers}`, 10_000_000 + newcomers)));
async function runToItsEnd(project) {
  const { task_id } = await project.request("POST", "/tasks", { argv: ["true"], stdin: false });
  for (let status = ""; status !== "completed";) ({ status } = await project.get(`/agents/${task_id}/output?since=0&wait_seconds=10`));
}

const words = "river mountain garden engine window harbour letter market winter summer copper silver forest bridge castle ocean planet signal thread mirror".split(" ");
function writeNote(project, number) {
  const folder = join(project.root, "notes", padded(Math.floor(number / 1000), 4));
  if (number % 1000 === 0) mkdirSync(folder, { recursive: true });
  const some = Array.from({ length: 40 }, (_, i) => words[(number * 31 + i * i * 7) % words.length]).join(" ");
  writeFileSync(join(folder, `note-${padded(number, 6)}.md`), `# Note ${number}\n\nThis one is about word${number} and ${some}.\n`);
}

/// Most operations concern one record, or one page: these must not grow faster than the depth of an index. Those that are
/// `whole` answer with, or look at, everything there is, and may grow with it. What is `current` is taken up again when
/// the daemon starts; what is not is history, of which a start must not depend.
export const kinds = [
  {
    name: "events", of: "events in the log", sizes: [1e4, 1e5, 1e6, 1e7], small: [1e3, 1e4, 1e5], fill: fill("events"),
    before: async (project) => { project.last = (await project.get("/state")).last_seq; },
    operations: [
      { name: "append one (submit an item)", run: submit },
      { name: "newest page of 100", run: (project) => project.get(`/events?since=${project.last - 100}&limit=100`) },
      { name: "page of 100 from the middle", run: (project, i, n) => project.get(`/events?since=${Math.floor(n / 2) + i}&limit=100`) },
      { name: "page of one run's", run: (project, i, n) => project.get(`/events?entity=run-${padded(scattered(i, 1000), 4)}&since=${Math.floor(n / 2)}&limit=4`) },
      { name: "page since a time", run: (project) => project.get(`/events?since=${new Date(Date.now() - 1000).toISOString()}&limit=100`) },
    ],
  },
  {
    name: "locks", current: true, of: "locks held (at most 10,000)", sizes: [100, 1000, 9900], small: [100, 1000],
    grow: (project, from, to) => each(from, to, (number) => succeeded(project.request("POST", "/locks", { file_path: `src/file-${padded(number)}.cc` }, agent(`holder-${number % 16}`, 100 + (number % 16))))),
    operations: [
      { name: "take and release", run: takeAndRelease },
      { name: "check one path", run: (project, i, n) => project.request("POST", "/locks/check", { file_paths: [`src/file-${padded(scattered(i, n))}.cc`] }, worker()) },
      { name: "list all", whole: true, times: 10, run: (project) => project.get("/locks") },
    ],
  },
  {
    name: "open work", current: true, of: "open items (at most 100,000)", sizes: [1e3, 1e4, 9e4], small: [1e3, 1e4], fill: fill("open_work"),
    operations: [
      { name: "submit", run: submit },
      { name: "claim and complete", run: claimAndComplete },
      { name: "look up", run: (project, i, n) => project.get(`/work/open-${padded(n - 1 - (scattered(i, n) >> 1))}`) },
      { name: "first page of 100", run: (project) => project.get("/work?limit=100") },
      { name: "page of one type", run: (project) => project.get("/work?task_type=review&limit=100") },
      { name: "page of claimed ones, none", run: (project) => project.get("/work?status=claimed&limit=100") },
    ],
  },
  {
    name: "finished work", of: "finished items", sizes: [1e3, 1e4, 1e5, 1e6], small: [1e3, 1e4], fill: fill("closed_work"),
    operations: [
      { name: "submit", run: submit },
      { name: "claim and complete", run: claimAndComplete },
      { name: "look up", run: (project, i, n) => project.get(`/work/closed-${padded(scattered(i, n))}`) },
      { name: "newest page of 100", run: (project) => project.get("/work?status=completed&limit=100") },
      { name: "search for failed ones, none", whole: true, times: 10, run: (project) => project.get("/work?status=failed&limit=100") },
      { name: "page of one type", run: (project) => project.get("/work?task_type=review&limit=100") },
      { name: "metrics", whole: true, times: 5, run: (project) => project.text("GET", "/metrics") },
    ],
  },
  {
    name: "runs", of: "runs on record", sizes: [1e3, 1e4, 1e5], small: [1e3, 1e4], fill: fill("runs"),
    operations: [
      { name: "a run to its end", times: 20, run: runToItsEnd },
      { name: "look up", run: (project, i, n) => project.get(`/agents/run-${padded(scattered(i, n))}`) },
      // A reply is kept until something changes: each of these is asked for the first time.
      { name: "newest page of about 100", run: (project, i) => project.get(`/agents?limit=${20 + i}`) },
      { name: "search for failed ones, none", whole: true, times: 10, run: (project, i) => project.get(`/agents?status=failed&limit=${20 + i}`) },
      { name: "snapshot (at most 1,000)", times: 10, run: (project) => project.get("/state") },
    ],
  },
  {
    name: "members", of: "members that have ended", sizes: [1e3, 1e4, 1e5], small: [1e3, 1e4], fill: fill("ended_members"),
    operations: [
      { name: "call of a known agent", run: heartbeat },
      { name: "first call of a new agent", run: newcomer },
      { name: "crew, newest page of 100", run: (project) => project.get("/crew?all=true&limit=100") },
    ],
  },
  {
    name: "live members", current: true, of: "members that are here (at most 10,000)", sizes: [100, 1000, 9000], small: [100, 1000],
    grow: (project, from, to) => each(from, to, (number) => succeeded(project.request("POST", "/sessions", {}, agent(`member-${number}`, 1000 + number)))),
    operations: [
      { name: "call of a known agent", run: heartbeat },
      { name: "first call of a new agent", run: newcomer },
      { name: "crew, page of 100", run: (project) => project.get("/crew?limit=100") },
      { name: "discover agents, all", whole: true, times: 10, run: (project) => project.request("GET", "/sessions", undefined, worker()) },
    ],
  },
  {
    name: "notes", of: "notes", sizes: [100, 1000, 10_000], small: [100, 1000],
    grow: async (project, from, to) => {
      for (let number = from; number < to; ++number) writeNote(project, number);
      await project.request("POST", "/notes/index", {});
      await waitFor(async () => (await project.get("/notes/search?query=river&limit=1")).complete !== false, { within: 300_000, every: 100, what: "the notes are indexed" });
    },
    operations: [
      { name: "search for a rare word", whole: true, run: (project, i, n) => project.get(`/notes/search?query=word${scattered(i, n)}`) },
      { name: "search for common words", whole: true, times: 20, run: (project) => project.get("/notes/search?query=river%20bridge") },
      { name: "read one", run: (project, i, n) => { const number = scattered(i, n); return project.get(`/notes/read?path=notes/${padded(Math.floor(number / 1000), 4)}/note-${padded(number, 6)}.md`); } },
      { name: "page of 100, from the files", whole: true, times: 20, run: (project) => project.get("/notes?limit=100") },
    ],
  },
];
