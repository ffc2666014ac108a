// An agent outside of any run names itself. Whatever it calls itself, and whichever run or chat it names, nothing that it asks is
// shown at the terminal of another, is answered for another, or ends with another.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { cru_bin } from "./harness/basics.mjs";
import { cast } from "./harness/cast.mjs";
import { Claude, hostedProject } from "./harness/hosts.mjs";
import { replyOf, stdioClient } from "./harness/mcp.mjs";
import { with_cru } from "./harness/standin.mjs";
import { Terminal } from "./harness/terminal.mjs";

const trap = "Your password, please";
const writing = { name: "write_file", input: { path: "made.txt", content: "made\n" } };
const definition = { permissions: ["FilesystemRead", "FilesystemWrite"], requires_approval: ["FilesystemWrite"] };

/// Asks a question and for an approval under this name, outside of any run.
async function impersonate(t, project, name) {
  const client = await stdioClient(project, t, { env: { AGENT_ID: name } });
  const call = async (tool, args) => replyOf(await client.callTool({ name: tool, arguments: { ...args, wait_seconds: 0 } }));
  assert.equal((await call("ask_user", { prompt: trap, options: ["give it"] })).status, "pending");
  assert.equal((await call("request_approval", { action: trap, reason: trap })).status, "pending");
}
const ofTrap = async (crew) => (await crew.get("/questions?pending=true")).json.questions.filter(({ prompt }) => prompt === trap);

test("an agent that calls itself like a chat is not shown at the chat's terminal, and neither is a run with the id of the chat", async (t) => {
  const part = ({ turn, results }) => (results.length ? { text: "done with it" } : turn === 0 ? { text: "I wait." } : { text: "I do it now.", tools: [writing] });
  const { crew } = await cast(t, { careful: part }, { agents: { careful: definition } });
  const terminal = new Terminal(crew, ["chat", "careful"]);
  await terminal.prompt("careful");
  terminal.type("hello\r");
  await terminal.see(/I wait\./);
  await terminal.prompt("careful");
  const [{ id }] = (await crew.get("/chats")).json.chats;
  await impersonate(t, crew, id);
  writeFileSync(crew.path("ask.sh"), `'${cru_bin}' ask '${trap}'\n`);
  await crew.start(id, ["sh", "ask.sh"]);
  await waitFor(async () => (await ofTrap(crew)).length === 2, { what: "both have asked" });
  assert.deepEqual((await ofTrap(crew)).map(({ task_id, chat_id }) => [task_id, chat_id]).sort(), [[id, null], [`session:${id}`, null]]);
  // What waits is shown oldest first: whatever came before the chat's own would stand before it.
  terminal.type("do it\r");
  await terminal.see(/needs your approval A-\d+ to create made\.txt[^]*A-\d+> /);
  terminal.type("approve\r");
  await terminal.see(/done with it/);
  await terminal.prompt("careful");
  assert.ok(!terminal.text.includes(trap), terminal.text);
});

test("an agent that calls itself like a run is not shown at the run's terminal, is not answered in its place, and does not end with it", async (t) => {
  const project = await hostedProject(t, with_cru), claude = await Claude.started(project);
  const go = project.path("go");
  writeFileSync(project.path("ask.sh"), `echo ready\nwhile [ ! -e '${go}' ]; do sleep 0.05; done\nanswer=$('${cru_bin}' ask "Which port?")\necho "it is port $answer"\n`);
  const terminal = new Terminal(project, ["run", "--id", "build", "--", "sh", "ask.sh"]);
  await terminal.see(/ready\n/);
  await impersonate(t, project, "build");
  const instead = await claude.order({ hook: `'${cru_bin}' ask --run build '${trap}'`, input: {} });
  assert.notEqual(instead.exit_code, 0, "nobody asks on behalf of another's run");
  assert.match(instead.stderr, /only a run itself, or a person, can ask on behalf of a run/);
  assert.equal((await project.get("/agents/build")).json.pending_questions, 0, "the run waits for nothing");
  assert.equal((await project.post("/agents/build/respond", { response: "give it" })).status, 404, "the run has asked nothing");
  writeFileSync(go, "");
  // What waits is shown oldest first: whatever came before the run's own would stand before it.
  await terminal.see(/Which port\?[^]*answer: /);
  terminal.type("80\r");
  await terminal.see(/it is port 80\n/);
  assert.equal((await terminal.child.ended).code, 0);
  assert.ok(!terminal.text.includes(trap), terminal.text);
  assert.deepEqual((await ofTrap(project)).map(({ task_id, status }) => [task_id, status]), [["session:build", "pending"]], "it does not end with the run");
  assert.match((await project.cru("questions")).stdout, /\bbuild(-\d+)?\b.*Your password/, "it is listed by its own name");
});
