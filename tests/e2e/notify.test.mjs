// notify: the person is told elsewhere, at once, who waits for what, and nothing that the tool was given.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { cru_bin } from "./harness/basics.mjs";
import { cast } from "./harness/cast.mjs";
import { stdioClient } from "./harness/mcp.mjs";

/// A server that keeps what it is sent and answers with `status`.
async function listener(t) {
  const heard = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => { body += part; });
    request.on("end", () => {
      heard.push({ method: request.method, url: request.url, headers: request.headers, body, at: Date.now() });
      response.writeHead(state.status);
      response.end();
    });
  });
  const state = { heard, status: 200 };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => { server.close(); server.closeAllConnections(); });
  state.url = `http://127.0.0.1:${server.address().port}/hook-s3cret`;
  state.close = () => { server.close(); server.closeAllConnections(); };
  return state;
}
const secret = "sk-very-secret";
const begin = async (t, notify, options = {}) => {
  const part = ({ turn }) => (turn === 0 ? { text: `I write ${secret}.`, tools: [{ name: "write_file", input: { path: "made.txt", content: `${secret}\n` } }] } : { text: "done" });
  const { crew } = await cast(t, { careful: part }, { agents: { careful: { permissions: ["FilesystemRead", "FilesystemWrite"], requires_approval: ["FilesystemWrite"] } }, user_settings: { notify }, ...options });
  return { crew, chat: await crew.chat({ agent: "careful", message: "note the fix" }, { wait: false }) };
};
const pending = (crew) => waitFor(async () => (await crew.get("/approvals?pending=true")).json.approvals[0], { what: "an approval waits" });

test("a webhook is sent when an approval begins to wait: member, task, kind of action and a link, and nothing of what would be done", async (t) => {
  const hook = await listener(t);
  const { crew } = await begin(t, { url: hook.url });
  const [{ method, url, headers, body, at }] = await waitFor(() => hook.heard.length > 0 && hook.heard, { what: "it is told" });
  assert.deepEqual([method, url, headers["content-type"]], ["POST", "/hook-s3cret", "application/json"]);
  const approval = await pending(crew);
  const { text, url: link, ...told } = JSON.parse(body);
  assert.deepEqual([told.type, told.id, told.agent, told.task, told.action, told.reversible], ["approval", "A-1", "careful", "note the fix", "write_file", true]);
  assert.equal(told.member, approval.member);
  assert.ok(!("impact" in told) && !body.includes("made.txt"), `not even the name of the file: ${body}`);
  assert.match(text, /careful \(task: note the fix\) needs your approval A-1 to use write_file/);
  assert.equal(link, `http://127.0.0.1:${crew.tcp.port}/#approval=A-1`);
  assert.ok(!body.includes(secret), body);
  t.diagnostic(`told ${at - Date.parse(approval.requested_at)} ms after it was asked for`);
  const alone = await fetch(link.replace(/#.*/, "approvals/A-1/approve"), { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  assert.ok([401, 403].includes(alone.status), `the link alone answers nothing: ${alone.status}`);
  assert.equal((await pending(crew)).id, "A-1");
  assert.match((await crew.cru("config", "--all")).stdout, /notify\.url +http:\/\/127\.0\.0\.1:\d+\/…/);
  assert.doesNotMatch((await crew.cru("config", "--all")).stdout, /s3cret/);
  assert.equal(hook.heard.length, 1, "once");
});

test("the task of a notification is the person's, however deep the agent that asks: what agents write for each other is not sent", async (t) => {
  const hook = await listener(t);
  const definition = { permissions: ["FilesystemRead", "FilesystemWrite"] };
  const lead = ({ turn }) => (turn === 0 ? { text: "I delegate.", tools: [{ name: "spawn_agent", input: { agent: "worker", task: `write ${secret} down` } }] } : { text: "done" });
  const worker = ({ turn }) => (turn === 0 ? { text: "I write.", tools: [{ name: "write_file", input: { path: "made.txt", content: "made\n" } }] } : { text: "done" });
  const { crew } = await cast(t, { lead, worker }, { agents: { lead: definition, worker: { ...definition, requires_approval: ["FilesystemWrite"] } }, user_settings: { notify: { url: hook.url } } });
  await crew.chat({ agent: "lead", message: "note the fix\nand be quick" }, { wait: false });
  const approval = await pending(crew);
  assert.equal(approval.task, `write ${secret} down`, "at the daemon the whole chain is told");
  const [{ body }] = await waitFor(() => hook.heard.length > 0 && hook.heard, { what: "it is told" });
  assert.deepEqual([JSON.parse(body).agent, JSON.parse(body).task], ["worker", "note the fix"]);
  assert.match(JSON.parse(body).text, /^worker \(task: note the fix\) needs your approval A-1 to use write_file\./);
  assert.ok(!body.includes(secret), body);
  // Of an agent outside of any run the task is its own words, too.
  const client = await stdioClient(crew, t, { env: { AGENT_ID: "ada" } });
  await client.callTool({ name: "register_session", arguments: { current_task: secret } });
  await client.callTool({ name: "request_approval", arguments: { action: "deploy", reason: secret, wait_seconds: 0 } });
  const told = await waitFor(() => hook.heard.find((one) => JSON.parse(one.body).agent === "ada"), { what: "the client's is told" });
  assert.deepEqual([JSON.parse(told.body).task, JSON.parse(told.body).task_id], [null, "session:ada"]);
  assert.match(JSON.parse(told.body).text, /^ada needs your approval A-2 to use request_approval\./);
  assert.ok(!told.body.includes(secret), told.body);
});

test("ntfy gets a text with a title and a link; a question is told without its words", async (t) => {
  const hook = await listener(t);
  const { crew } = await begin(t, { url: hook.url, format: "ntfy", link: "https://me.example/page/" });
  const [first] = await waitFor(() => hook.heard.length > 0 && hook.heard, { what: "it is told" });
  assert.deepEqual([first.headers.click, first.headers.title.startsWith("cru: approval A-1 in ")], ["https://me.example/page/#approval=A-1", true]);
  assert.match(first.body, /careful \(task: note the fix\) needs your approval A-1/);
  crew.spawn(["run", "--id", "asker", "--", "sh", "-c", `"$0" ask 'Is it ${secret}?'`, cru_bin]);
  const [, second] = await waitFor(() => hook.heard.length > 1 && hook.heard, { what: "the question is told" });
  assert.match(second.body, /^asker \(task: asker\) asks you a question\.$/);
  assert.ok(!JSON.stringify(second).includes(secret));
});

test("an address that fails holds nobody up, and cru doctor and the log say so; one of a project is ignored", async (t) => {
  const hook = await listener(t);
  hook.status = 404;
  const { crew, chat } = await begin(t, { url: hook.url }, { settings: { notify: { url: "http://127.0.0.1:9/" } } });
  await pending(crew);
  const doctor = await waitFor(async () => { const { stdout, stderr } = await crew.cru("doctor"); return /you were not notified of A-1/.test(stdout + stderr) && stdout + stderr; }, { what: "doctor says so" });
  assert.match(doctor, /at http:\/\/127\.0\.0\.1:\d+\/… \(notify\.url\): it answered with status 404/);
  assert.ok(!doctor.includes("s3cret"));
  assert.equal(hook.heard.length, 1, "what the server refuses for good is not repeated");
  assert.match((await crew.cru("daemon", "logs")).stdout, /cannot notify the user/);
  hook.close();
  await crew.must(200, crew.post("/approvals/A-1/approve"));
  await chat.idle();
});

test("what could not be told before the daemon died is told by the next one, if it still waits", async (t) => {
  const hook = await listener(t);
  hook.status = 503;
  const { crew } = await begin(t, { url: hook.url });
  await waitFor(() => hook.heard.length > 0, { what: "it was tried" });
  await crew.killDaemon();
  hook.status = 200;
  const before = hook.heard.length;
  await crew.startDaemon();
  const again = await waitFor(() => hook.heard.slice(before).find(({ body }) => JSON.parse(body).id === "A-1"), { what: "it is told by the next daemon" });
  assert.equal(JSON.parse(again.body).agent, "careful");
});

test("what was asked while no daemon ran is told by the next one", async (t) => {
  const hook = await listener(t);
  const { crew } = await begin(t, { url: hook.url });
  await waitFor(() => hook.heard.length > 0, { what: "the approval is told" });
  const go = crew.path("go"), asked = crew.path("asked");
  crew.spawn(["run", "--id", "asker", "--", "sh", "-c", `while [ ! -e '${go}' ]; do sleep 0.05; done; echo '::cru-ask {"prompt":"Which?"}'; touch '${asked}'; read answer`]);
  await waitFor(async () => (await crew.get("/agents/asker")).json.status === "running", { what: "it runs" });
  await crew.killDaemon();
  writeFileSync(go, "");
  await waitFor(() => existsSync(asked), { what: "it has asked nobody" });
  await crew.startDaemon();
  await waitFor(() => hook.heard.some(({ body }) => JSON.parse(body).type === "question" && JSON.parse(body).task_id === "asker"), { what: "the question is told" });
});
