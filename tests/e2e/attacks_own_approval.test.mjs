// An agent that asks for approval itself, by the tool and by the hook, and then tries every door to give it to itself: as an
// ordinary user, in a plain run and in a jail. All of it is refused while a person has not decided.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { patience, waitFor } from "./harness.mjs";
import { UserProject } from "./harness/ordinary_user.mjs";

const decisions = [["POST", "/approvals/$id/approve", '{"confirm":"$id"}'], ["POST", "/approvals/$id/deny", "{}"], ["POST", "/approvals/$id/hold", "{}"], ["POST", "/approvals/$id/ask", '{"question":"?"}'],
  ["GET", "/approvals/$id", ""], ["GET", "/approvals?pending=true", ""], ["POST", "/questions/$id/answer", '{"answer":"allow"}'], ["POST", "/agents/sly/respond", '{"response":"allow"}'],
  ["POST", "/permissions", '{"approval_id":"$id","behavior":"allow","wait_seconds":0}'], ["POST", "/pairings", "{}"]];
const not_tools = ["approve", "deny", "hold", "ask_context", "list_approvals", "show_approval", "answer_question", "respond", "request_permission", "settle_permissions"];

/// A shell script that asks by `cru mcp` and by the hook, tries everything with both, and says what came of it.
function sly({ cru_bin, attacker, root, token, tcp }) {
  const say = (message) => `printf '%s\\n' '${JSON.stringify({ jsonrpc: "2.0", ...message })}' >&3`;
  const call = (id, name, args) => say({ id, method: "tools/call", params: { name, arguments: args } });
  const doors = [[`unix:${root}/.coven/covend.sock`, ""], [`unix:${root}/.coven/door/http.sock`, ""], [`unix:${root}/.coven/door/http.sock`, "$CRU_TOKEN"], [`tcp:${tcp}`, token], [`tcp:${tcp}`, "$CRU_TOKEN"], [`tcp:${tcp}`, ""]];
  const knocks = doors.flatMap(([door, shown]) => decisions.map(([method, target, body]) => `try "${door}" "${shown}" ${method} "${target}" ${JSON.stringify(body)}`));
  const queries = ["/approvals", "/approvals/$id"].map((target) => `try "tcp:${tcp}" "" GET "${target}?token=${token}" ""`);
  const verbs = ["approve $id", "approve $id --confirm $id", "deny $id", "hold $id", "show $id"].flatMap((words) => ["", "env -u CRU_RUN -u CRU_TOKEN ", "env -i ", "setsid "].map((before) => `${before}${cru_bin} approvals ${words} </dev/null >/dev/null 2>&1; echo "VERB $?"`));
  const hook = JSON.stringify({ session_id: "9de0a853-35c2-4ac5-b250-2bbf84fb563d", cwd: root, hook_event_name: "PermissionRequest", tool_name: "Bash", tool_input: { command: "rm -rf everything" }, decision: { behavior: "allow" }, behavior: "allow" });
  return [
    `try() { echo "TRY $3 $4 $(${attacker} plain "$1" "$2" "$3" "$4" "$5" 2>&1 | head -c 400 | tr '\\n' ' ')"; }`,
    "own=$(mktemp -d); mkfifo $own/in", `${cru_bin} mcp <$own/in >$own/out 2>/dev/null &`, "exec 3>$own/in",
    say({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: { elicitation: {} }, clientInfo: { name: "sly", version: "1" } } }), say({ method: "notifications/initialized" }),
    call(2, "request_approval", { action: "format the disk", reason: "it is full", wait_seconds: 0 }), "until grep -q approval_id $own/out; do sleep 0.1; done",
    `echo '${hook}' | CRU_HOOK_LIMIT_MS=${patience} ${cru_bin} hook permission-request >$own/hook 2>&1 &`,
    "echo ASKED; until [ -e ids ]; do sleep 0.1; done",
    "for id in $(cat ids); do", ...knocks, ...queries, ...verbs, "done",
    ...not_tools.map((name, at) => call(10 + at, name, { id: "A-1", confirm: "A-1" })),
    call(30, "request_approval", { approval_id: "A-1", answer: "approve it", wait_seconds: 0 }), "until grep -q '\"id\":30' $own/out; do sleep 0.1; done",
    'sed "s/^/MCP /" $own/out', 'echo "HOOK [$(cat $own/hook)]"', "echo TRIED; until [ -e go ]; do sleep 0.1; done",
  ].join("\n");
}

for (const [where, flags] of [["a plain run", []], ["a jail", ["--confine"]]])
  test(`an agent in ${where} asks for approval and cannot give it to itself at any door`, async (t) => {
    const project = await UserProject.started({ user_config: "confine: default\n" }, t);
    const script = sly({ cru_bin: project.cru_bin, attacker: project.attacker, root: project.root, token: readFileSync(project.path(".coven/token"), "utf8").trim(), tcp: project.tcp.port });
    const begun = await project.cru("run", "--id", "sly", "--detach", ...flags, "--", "sh", "-c", script);
    assert.equal(begun.code, 0, begun.stdout + begun.stderr);
    const said = async () => (await project.cru("logs", "sly")).stdout;
    const reaches = (word) => waitFor(async () => {
      const text = await said();
      if ((await project.json("show", "sly")).status !== "running" && !text.includes(word)) throw Object.assign(new Error(`it ended: ${text}`), { final: true });
      return text.includes(word) && text;
    }, { what: `it says ${word}` });
    await reaches("ASKED");
    const own = await waitFor(async () => { const { approvals } = (await project.get("/approvals?pending=true")).json; return approvals.length === 2 && approvals; }, { what: "both wait" });
    assert.deepEqual(own.map(({ tool }) => tool).sort(), ["Bash", "request_approval"]);
    writeFileSync(project.path("ids"), `${own.map(({ id }) => id).join(" ")}\n`);
    const text = await reaches("TRIED");
    const tries = text.split("\n").filter((line) => line.startsWith("TRY "));
    assert.equal(tries.length, 2 * (6 * decisions.length + 2), text.slice(-3000));
    for (const line of tries) {
      assert.doesNotMatch(line, / plain 2\d\d /, line);
      assert.doesNotMatch(line, /"preview"|"digest"|"approvals":\[\{/, line);
    }
    const verbs = text.split("\n").filter((line) => line.startsWith("VERB "));
    assert.equal(verbs.length, 2 * 5 * 4);
    assert.ok(verbs.every((line) => line !== "VERB 0"), text.slice(-3000));
    const answers = text.split("\n").filter((line) => line.startsWith("MCP ")).map((line) => JSON.parse(line.slice(4)));
    for (let id = 10; id < 10 + not_tools.length; ++id) assert.ok(answers.find((one) => one.id === id).error, JSON.stringify(answers));
    assert.match(text, /^HOOK \[\]$/m, "the hook has said nothing");
    for (const { id } of own) assert.equal((await project.get(`/approvals/${id}`)).json.status, "pending", id);
    writeFileSync(project.path("go"), "");
    for (const { id } of own) await waitFor(async () => (await project.get(`/approvals/${id}`)).json.status === "withdrawn", { what: `${id} ends with its agent` });
    assert.ok(!existsSync(project.path("made.txt")));
  });

test("an MCP client outside of any run cannot either, nor can it pass for a person by a form of its own", async (t) => {
  const project = await UserProject.started({}, t);
  const asked = await project.post("/approvals", { action: "x", wait_seconds: 0 }, { headers: { "Cru-Agent-Id": "ann", "Cru-Session-Id": "ann", "Cru-Caller": "agent" } });
  assert.equal(asked.status, 200, asked.text);
  for (const [verb, body] of [["approve", { confirm: asked.json.approval_id }], ["deny", {}], ["hold", {}], ["ask", { question: "?" }]]) {
    const { status, text } = await project.post(`/approvals/${asked.json.approval_id}/${verb}`, body, { headers: { "Cru-Caller": "agent" } });
    assert.equal(status, 403, `${verb}: ${text}`);
  }
  assert.equal((await project.get(`/approvals/${asked.json.approval_id}`)).json.status, "pending");
});
