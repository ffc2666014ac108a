// The folder of a chat, read and checked: valid frontmatter, links that lead somewhere in both directions, metadata with all
// it must have, and no two accounts of the same thing that differ.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { parseMarkdown } from "./frontmatter.mjs";

const metadata_keys = ["session_id", "started_at", "ended_at", "status", "depth", "queue_depth", "model", "model_version", "total_tokens", "subagents"];
const listed_keys = ["task_id", "file", "status", "depth", "model_override", "permissions", "inherited", "duration_ms", "trace_id"];
const session_keys = ["session_id", "started_at", "primary_agent", "model", "status"];
const subagent_keys = ["subagent_of", "agent_name", "task_id", "spawned_at", "completed_at", "duration_ms", "model", "model_source", "tokens", "cost_usd", "status", "permissions", "requested_permissions", "depth", "trace_id", "parent_chain"];
const failure_keys = ["error_type", "error_message", "stack_trace"];
const permissions = ["FilesystemRead", "FilesystemWrite", "SemanticSearch", "DatabaseRead", "DatabaseWrite", "NetworkAccess", "ProcessSpawn"];
const baseline = ["FilesystemRead", "SemanticSearch"];
const chat_states = ["active", "completed", "failed"];
const over = ["completed", "failed", "cancelled"];
const time_form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/// Wikilinks outside code: [[name]], [[folder/name#heading|shown]].
export function linksIn(text) {
  const prose = text.replace(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1[`~]*[ \t]*$/gm, "").replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, "");
  return [...prose.matchAll(/\[\[([^\][\n|#]+)(?:#[^\][\n|]*)?(?:\|[^\][\n]*)?\]\]/g)].map(([, name]) => name.trim());
}

function readMarkdown(file) {
  const text = readFileSync(file, "utf8");
  const name = basename(file, ".md");
  try {
    return { name, file, text, ...parseMarkdown(text), links: linksIn(text) };
  } catch (error) {
    throw new Error(`${basename(file)}: ${error.message}`);
  }
}

/// {name, session, subagents: [{name, file, text, front, body, links}], metadata}; throws for what cannot be read.
export function readSessionFolder(dir) {
  const files = readdirSync(dir).filter((name) => name.endsWith(".md")).sort();
  const subagents = files.filter((name) => name !== "session.md").map((name) => readMarkdown(join(dir, name)));
  return { name: basename(dir), dir, session: readMarkdown(join(dir, "session.md")), subagents, metadata: JSON.parse(readFileSync(join(dir, "metadata.json"), "utf8")) };
}

/// Every note of the project, as a link may name it.
function notesUnder(root) {
  const found = new Set();
  const walk = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory() && !["node_modules", ".git", ".coven"].includes(entry.name)) walk(join(folder, entry.name));
      else if (entry.name.endsWith(".md")) for (const name of [relative(root, join(folder, entry.name)), entry.name]) found.add(name).add(name.slice(0, -3));
    }
  };
  walk(root);
  return found;
}

class Check {
  constructor(dir, { running }) {
    Object.assign(this, { dir, running, problems: [] });
  }
  that(holds, problem) { if (!holds) this.problems.push(problem); }
  has(where, object, keys) { for (const key of keys) this.that(Object.hasOwn(object, key), `${where}: ${key} is missing`); }
  time(where, value, may_be_null = false) {
    if (value === null && may_be_null) return;
    this.that(typeof value === "string" && time_form.test(value) && !Number.isNaN(Date.parse(value)), `${where}: ${JSON.stringify(value)} is no RFC 3339 time in UTC with milliseconds`);
  }
  ordered(where, ...times) {
    const given = times.filter(([, value]) => typeof value === "string");
    given.slice(1).forEach(([name, value], n) => this.that(Date.parse(given[n][1]) <= Date.parse(value), `${where}: ${name} ${value} is before ${given[n][0]} ${given[n][1]}`));
  }
  count(where, value, may_be_null = false) { this.that((value === null && may_be_null) || (Number.isInteger(value) && value >= 0), `${where}: ${JSON.stringify(value)} is no count`); }
  same(where, one, other) { this.that(JSON.stringify(one) === JSON.stringify(other), `${where}: ${JSON.stringify(one)} against ${JSON.stringify(other)}`); }
  permissions(where, given) {
    if (!Array.isArray(given)) return this.that(false, `${where}: permissions are no list`);
    for (const one of given) this.that(permissions.includes(one), `${where}: there is no permission ${one}`);
    for (const one of baseline) this.that(given.includes(one), `${where}: ${one} is always granted`);
    return this.that(new Set(given).size === given.length, `${where}: a permission stands twice`);
  }
}

function checkMetadata(check, metadata, session, name) {
  check.has("metadata.json", metadata, metadata_keys);
  check.that(/^\d{4}-\d\d-\d\d-[a-z0-9][a-z0-9-]*$/.test(name), `${name}: not YYYY-MM-DD-description`);
  check.time("metadata.json: started_at", metadata.started_at);
  check.time("metadata.json: ended_at", metadata.ended_at, metadata.status === "active");
  check.ordered("metadata.json", ["started_at", metadata.started_at], ["ended_at", metadata.ended_at]);
  check.that(chat_states.includes(metadata.status), `metadata.json: status ${metadata.status}`);
  check.that(metadata.depth === 0 || (metadata.kind === "run" && metadata.depth === null), `metadata.json: depth ${metadata.depth}, the primary's is 0`);
  for (const key of ["queue_depth", "total_tokens"]) check.count(`metadata.json: ${key}`, metadata[key]);
  check.has("session.md", session.front, session_keys);
  check.time("session.md: started_at", session.front.started_at);
  for (const key of ["session_id", "started_at", "model", "status"]) check.same(`${key} of session.md and metadata.json`, session.front[key], metadata[key]);
}

function checkSubagent(check, note, metadata, folder) {
  const { name, front, body, links } = note;
  check.has(`${name}.md`, front, [...subagent_keys, ...(front.status === "failed" ? failure_keys : [])]);
  check.same(`${name}.md: its name`, name, `${front.agent_name}-${front.task_id}`);
  check.that([`[[${folder}/session]]`, `[[session]]`, folder, metadata.session_id].includes(front.subagent_of), `${name}.md: subagent_of ${front.subagent_of} is not its session`);
  check.that(links.includes(`${folder}/session`), `${name}.md: no link [[${folder}/session]] to its parent`);
  const is_over = over.includes(front.status);
  check.that(is_over || (check.running && ["queued", "running"].includes(front.status)), `${name}.md: status ${front.status}`);
  check.time(`${name}.md: spawned_at`, front.spawned_at);
  check.time(`${name}.md: completed_at`, front.completed_at, !is_over);
  check.ordered(`${name}.md`, ["the chat's started_at", metadata.started_at], ["spawned_at", front.spawned_at], ["completed_at", front.completed_at], ["the chat's ended_at", metadata.ended_at]);
  check.count(`${name}.md: tokens`, front.tokens);
  check.count(`${name}.md: duration_ms`, front.duration_ms, !is_over || front.status === "cancelled");
  const between = Date.parse(front.completed_at) - Date.parse(front.spawned_at);
  if (is_over) check.that(front.duration_ms === null || front.duration_ms <= between + 1000, `${name}.md: ${front.duration_ms} ms is longer than from spawned_at to completed_at`);
  check.permissions(`${name}.md`, front.permissions);
  check.that(/^[0-9a-f]{32}$/.test(front.trace_id), `${name}.md: trace_id ${front.trace_id}`);
  check.that(Array.isArray(front.parent_chain), `${name}.md: parent_chain is no list`);
  if (front.status === "failed") for (const key of ["error_type", "error_message"]) check.that(Boolean(front[key]), `${name}.md: ${key} is empty`);
  if (front.status === "completed") for (const title of ["## Summary", "## Findings"]) check.that(body.split("\n").includes(title), `${name}.md: no ${title}`);
}

/// What metadata.json tells of a subagent, against the subagent's own file.
function checkListed(check, listed, note, is_run) {
  const where = `metadata.json: ${listed.task_id}`;
  check.has(where, listed, listed_keys);
  check.that(is_run || listed.depth === 1, `${where}: depth ${listed.depth}, a subagent's is 1`);
  check.that(listed.model_override === null || typeof listed.model_override === "string", `${where}: model_override`);
  check.that(typeof listed.inherited === "boolean", `${where}: inherited`);
  if (!note) return check.that(check.running && !over.includes(listed.status), `${where}: there is no file ${listed.file}`);
  check.same(`${where}: file`, listed.file, `${note.name}.md`);
  if (check.running) return undefined;  // written one after the other
  for (const key of ["status", "depth", "permissions", "duration_ms", "trace_id"]) check.same(`${where}: ${key} here and in its file`, listed[key], note.front[key]);
  return undefined;
}

function checkLinks(check, { name: folder, session, subagents }, missing) {
  const root = dirname(dirname(dirname(check.dir)));
  let notes;
  const leads = (name) => existsSync(join(check.dir, `${name}.md`)) || existsSync(join(dirname(check.dir), `${name}.md`)) || missing.has(name) || (notes ??= notesUnder(root)).has(name);
  for (const { name, links } of [session, ...subagents]) for (const link of new Set(links)) check.that(leads(link), `${name}.md: [[${link}]] leads nowhere`);
  for (const { name } of subagents) check.that(session.links.some((link) => [name, `${folder}/${name}`].includes(link)), `session.md: no link [[${name}]]`);
}

/// Task ids are the project's: no other session may have one of these.
function checkIds(check, { name: folder, metadata }) {
  const ids = metadata.subagents.map(({ task_id }) => task_id);
  for (const id of ids.filter((one, n) => ids.indexOf(one) !== n)) check.that(false, `metadata.json: the task id ${id} stands twice`);
  for (const other of readdirSync(dirname(check.dir)).filter((name) => name !== folder && existsSync(join(dirname(check.dir), name, "metadata.json")))) {
    const taken = JSON.parse(readFileSync(join(dirname(check.dir), other, "metadata.json"), "utf8")).subagents.map(({ task_id }) => task_id);
    for (const id of ids) check.that(!taken.includes(id), `the task id ${id} is also in ${other}`);
  }
}

/// What is wrong with the folder of a chat, a sentence each. `running`: subagents may be queued or at work, and have no file yet.
export function problemsOf(dir, { running = false } = {}) {
  const check = new Check(dir, { running });
  let read;
  try { read = readSessionFolder(dir); } catch (error) { return [error.message]; }
  const { metadata, session, subagents, name } = read;
  if (!Array.isArray(metadata.subagents)) return ["metadata.json: subagents is missing"];
  for (const file of readdirSync(dir)) check.that(file.endsWith(".md") || file === "metadata.json", `${file}: a file that does not belong here`);
  checkMetadata(check, metadata, session, name);
  for (const note of subagents) checkSubagent(check, note, metadata, name);
  const noteOf = (listed) => subagents.find((note) => note.front.task_id === listed.task_id);
  for (const listed of metadata.subagents) checkListed(check, listed, noteOf(listed), metadata.kind === "run");
  for (const note of subagents) check.that(metadata.subagents.some(({ task_id }) => task_id === note.front.task_id), `metadata.json: ${note.name} is not among the subagents`);
  const spent = subagents.reduce((sum, { front }) => sum + (front.tokens ?? 0), 0);
  if (!running) check.that(metadata.total_tokens >= spent, `metadata.json: total_tokens ${metadata.total_tokens} are less than the ${spent} of its subagents`);
  const missing = new Set(running ? metadata.subagents.filter((listed) => !noteOf(listed)).map(({ file }) => file.replace(/\.md$/, "")) : []);
  checkLinks(check, read, missing);
  checkIds(check, read);
  return check.problems;
}

/// The folder as `readSessionFolder` gives it, if nothing is wrong with it.
export function checkSessionFolder(dir, options) {
  const problems = problemsOf(dir, options);
  if (problems.length) throw new Error(`${basename(dir)}:\n  ${problems.join("\n  ")}`);
  return readSessionFolder(dir);
}
