// An agent that tries every door to approve its own: only a person decides, and only a person sees the inbox.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { ModelServer } from "./fixtures/model_server.mjs";
import { cast, play, served } from "./harness/cast.mjs";
import { key, toMarkdown, toYaml } from "./harness/crew.mjs";
import { httpClient, stdioClient } from "./harness/mcp.mjs";
import { giveAway, UserProject } from "./harness/ordinary_user.mjs";

/// A project of an ordinary user in which a write waits for approval, and what its doors are.
async function beset(t, { confine = "off" } = {}) {
  const server = await ModelServer.start({ keys: [key] }, t);
  play(server, { careful: ({ turn }) => (turn === 0 ? { text: "I write.", tools: [{ name: "write_file", input: { path: "made.txt", content: "made\n" } }] } : { text: "done" }) });
  const project = new UserProject({ config: toYaml({ models: { sonnet: served() } }), user_config: toYaml({ confine, providers: { anthropic: { base_url: server.url } } }) });
  t.after(() => project.close());
  mkdirSync(project.path(".crucible/agents"), { recursive: true });
  writeFileSync(project.path(".crucible/agents/careful.md"), toMarkdown({ name: "careful", description: "careful", permissions: ["FilesystemRead", "FilesystemWrite"], requires_approval: ["FilesystemWrite"] }, "You are careful."));
  const keys = `${project.env.XDG_CONFIG_HOME}/crucible/keys`;
  mkdirSync(keys, { recursive: true, mode: 0o700 });
  writeFileSync(`${keys}/anthropic`, `${key}\n`, { mode: 0o600 });
  giveAway(project.root);
  giveAway(project.home);
  await project.startDaemon();
  const { waiting } = (await project.get("/trust")).json;
  await project.post("/trust", { items: Object.fromEntries(waiting.map(({ path, sha256 }) => [path, sha256])) });
  const begun = await project.post("/chats", { agent: "careful", message: "write it" });
  assert.equal(begun.status, 201, begun.text);
  const approval = await waitFor(async () => (await project.get("/approvals?pending=true")).json.approvals[0], { what: "an approval waits" });
  return { project, approval, token: readFileSync(project.path(".coven/token"), "utf8").trim(), doors: { tcp: `tcp:${project.tcp.port}`, unix: `unix:${project.path(".coven/covend.sock")}` } };
}
async function inRun(project, id, words, flags = []) {
  const { code, stdout, stderr } = await project.cru("run", "--id", id, "--detach", ...flags, "--", ...words);
  assert.equal(code, 0, `${stdout}${stderr}`);
  await waitFor(async () => ["completed", "failed", "killed"].includes((await project.json("show", id)).status), { what: `${id} ends` });
  return (await project.cru("logs", id)).stdout;
}
async function stillWaits(project, { id }) {
  assert.equal((await project.get(`/approvals/${id}`)).json.status, "pending");
  assert.deepEqual((await project.get("/approval-rules")).json.rules, []);
  assert.ok(!existsSync(project.path("made.txt")));
}

const verbs = (id) => [["POST", `/approvals/${id}/approve`, `{"confirm":"${id}"}`], ["POST", `/approvals/${id}/deny`, "{}"], ["POST", `/approvals/${id}/hold`, "{}"], ["POST", `/approvals/${id}/ask`, '{"question":"?"}'],
  ["POST", `/approvals/${id}/rule`, '{"verdict":"allow","for":"project"}'], ["POST", `/approvals/${id}/rule/preview`, '{"verdict":"allow","for":"project"}'], ["POST", `/approvals/${id}/approve`, '{"for":"project"}'], ["POST", `/approvals/${id}/preview`, '{"set":{"path":"x"}}'],
  ["GET", "/approval-rules"], ["GET", "/approval-rules/R-00000000"], ["POST", "/approval-rules/R-00000000/revoke", "{}"]];

test("a run's process approves nothing and reads nothing, at any door, with the page's token, the run's own or none", async (t) => {
  const { project, approval, token, doors } = await beset(t);
  const tries = [["unix", ""], ["tcp", token], ["tcp", "$CRU_TOKEN"]].flatMap(([door, shown]) => [...verbs(approval.id), ["GET", `/approvals/${approval.id}`], ["GET", "/approvals"]]
    .map(([method, target, body]) => `${project.attacker} plain ${doors[door]} "${shown}" ${method} ${target} ${body ? `'${body}'` : ""}`));
  const printed = await inRun(project, "sly", ["sh", "-c", tries.join("; ")]);
  const answers = printed.split("\n").filter((line) => line.startsWith("plain "));
  assert.equal(answers.length, tries.length, printed);
  for (const answer of answers) assert.match(answer, /^plain 40[13] /);
  assert.doesNotMatch(printed, /made\.txt/);
  await stillWaits(project, approval);
});

for (const mode of ["hidden", "in_flight", "own_table"])
  test(`nor one that is ${mode} while it knocks`, async (t) => {
    const { project, approval, token, doors } = await beset(t);
    const [[method, target, body]] = verbs(approval.id);
    assert.match(await inRun(project, "sly", [project.attacker, mode, doors.tcp, token, method, target, body]), new RegExp(`^${mode} 40[13] `));
    await stillWaits(project, approval);
  });

test("nor the command line inside a run, plain or confined, nor a definition's own words", async (t) => {
  const { project, approval } = await beset(t, { confine: "default" });
  const words = (verb, ...more) => `${project.cru_bin} approvals ${verb} ${approval.id} ${more.join(" ")}; echo "code $?"`;
  const script = [words("approve"), words("approve", "--confirm", approval.id), words("deny"), words("hold"), words("show"), `env -u CRU_RUN -u CRU_TOKEN ${words("approve")}`, `env -i ${words("approve")}`, `setsid ${words("approve")}`].join("; ");
  for (const [id, flags] of [["plain", []], ["confined", ["--confine"]]]) {
    const printed = await inRun(project, id, ["sh", "-c", script], flags);
    assert.doesNotMatch(printed, /code 0/, printed);
    assert.equal(printed.match(/code [1-9]/g)?.length, 8, printed);
    await stillWaits(project, approval);
  }
});

test("nor an MCP client: there is no tool for it, and its connection is an agent's", async (t) => {
  const { crew } = await cast(t, { careful: { text: "I write.", tools: [{ name: "write_file", input: { path: "made.txt", content: "made\n" } }] } }, { agents: { careful: { permissions: ["FilesystemRead", "FilesystemWrite"], requires_approval: ["FilesystemWrite"] } } });
  await crew.chat({ agent: "careful", message: "write it" }, { wait: false });
  const approval = await waitFor(async () => (await crew.get("/approvals?pending=true")).json.approvals[0], { what: "an approval waits" });
  for (const connect of [stdioClient, httpClient]) {
    const client = await connect(crew, t);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    for (const name of ["approve", "deny", "hold", "ask_context", "list_approvals", "show_approval", "make_rule", "propose_rule", "preview_approval", "list_rules", "show_rule", "revoke_rule"]) assert.ok(!names.includes(name), name);
    const tried = await client.callTool({ name: "approve", arguments: { id: approval.id } }).catch((error) => ({ isError: true, error }));
    assert.ok(tried.isError, JSON.stringify(tried));
  }
  await stillWaits(crew, approval);
});

test("nor does it hear of approvals: their events are a person's", async (t) => {
  const { project, token, doors } = await beset(t);
  const printed = await inRun(project, "ear", ["sh", "-c", `${project.attacker} plain ${doors.tcp} ${token} GET '/events?since=0'; ${project.attacker} plain ${doors.unix} '' GET '/events?since=0'`]);
  assert.doesNotMatch(printed, /approval\.requested/);
});
