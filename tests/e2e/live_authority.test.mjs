// Who may do what in the world: a run does not become a person by the socket, and hears no words that were meant for others.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cru_bin, waitFor } from "./harness.mjs";
import { Live } from "./harness/live.mjs";

// `node knock.mjs tcp|unix AGENT`: says all it can on /ws with the project's own token, prints what came of it, then what it hears.
const knock = `import { readFileSync } from "node:fs";
import WebSocket from ${JSON.stringify(import.meta.resolve("ws"))};
const [, , door, agent_id] = process.argv;
const content = (path) => readFileSync(path, "utf8").trim();
const [host] = /[^/]+:\\d+/.exec(content(".coven/url"));
const ws = new WebSocket(door === "tcp" ? \`ws://\${host}/ws?token=\${content(".coven/token")}\` : \`ws+unix:\${process.cwd()}/.coven/covend.sock:/ws\`);
const asked = [
  { type: "agent_spawn_request", agent_config: { name: "Mine" } }, { type: "agent_terminate_request", agent_id }, { type: "move_agent", agent_id, x: 3, y: 3 },
  { type: "assign_task", agent_id, task_name: "obey" }, { type: "complete_task", agent_id, task_id: "t" }, { type: "join_space", user_id: "ann" },
  { type: "update_position", x: 3, y: 3 }, { type: "chat_message", message: "from a run" }, { type: "get_agent_state", agent_id }, { type: "get_snapshot" }, { type: "ping" },
];
const answers = {};
ws.on("error", ({ message }) => console.log("trouble " + message));
ws.on("message", (data) => {
  const message = JSON.parse(data);
  if (message.type === "world_snapshot" && !message.request_id) asked.forEach((each) => ws.send(JSON.stringify({ ...each, request_id: each.type })));
  if (message.request_id) answers[message.request_id] = { code: message.code ?? message.type, hint: message.hint };
  if (message.request_id && Object.keys(answers).length === asked.length) console.log("answers " + JSON.stringify(answers));
  if (["agent_speech", "chat_broadcast"].includes(message.type)) console.log("heard " + (message.content ?? message.message));
});
`;
const lines = async (live, id) => (await live.output(id)).map(({ data }) => data);
const persons = ["agent_spawn_request", "agent_terminate_request", "move_agent", "assign_task", "complete_task", "join_space", "update_position"];

for (const door of ["tcp", "unix"]) {
  test(`a run may look on at /ws over ${door}, and do nothing that is a person's`, async (t) => {
    const live = await Live.started({}, t);
    live.write("knock.mjs", knock);
    const person = await live.connect();
    const agent_id = await live.bring(person, { name: "Ada" });
    await live.start("sly", [process.execPath, "knock.mjs", door, agent_id]);
    await live.outputWith("sly", "answers ");
    const answers = JSON.parse((await lines(live, "sly")).find((line) => line.startsWith("answers ")).slice(8));
    for (const type of persons) assert.deepEqual(answers[type], { code: "forbidden", hint: "ask the user to do this" }, type);
    assert.equal(answers.chat_message.code, "message_accepted");
    assert.deepEqual(["get_agent_state", "get_snapshot", "ping"].map((type) => answers[type].code), ["agent_state", "world_snapshot", "pong"]);
    const { agents } = (await live.get("/live")).json;
    assert.deepEqual(agents.map(({ name }) => name), ["Ada"]);
    assert.deepEqual((await live.get("/world")).json.users, []);
    assert.deepEqual(await live.tasks(agent_id), []);

    await person.must("message_accepted", { type: "chat_message", message: "between us", to: [agent_id] });
    await person.must("message_accepted", { type: "chat_message", message: "to all" });
    await live.outputWith("sly", "heard to all");
    assert.ok(!(await lines(live, "sly")).some((line) => line.includes("between us")), "what was meant for Ada is not the run's to hear");
    const said = person.of("chat_broadcast").map(({ user_id, message }) => [user_id, message]);
    assert.deepEqual(said, [["sly", "from a run"], ["player_0", "between us"], ["player_0", "to all"]]);
  });
}

test("a run does not read in the events what was said to somebody", async (t) => {
  const live = await Live.started({}, t);
  const person = await live.connect();
  const agent_id = await live.bring(person, { name: "Ada" });
  await person.must("message_accepted", { type: "chat_message", message: "between us", to: [agent_id] });
  await person.must("message_accepted", { type: "chat_message", message: "to all" });
  await live.sh("sly", `${cru_bin} say "my own" --to ${agent_id}; ${cru_bin} events --json; echo the end`);
  await live.outputWith("sly", "the end");
  const printed = (await lines(live, "sly")).join("\n");
  assert.match(printed, /to all/);
  assert.match(printed, /"content":"my own"/);
  assert.doesNotMatch(printed, /between us/);
  assert.ok((await live.events("?type=live.agent_spoke")).some(({ data }) => data.content === "between us"), "a person does");
});

test("whoever comes back before its old connection is gone is still in the world", async (t) => {
  const live = await Live.started({}, t);
  const users = async () => (await live.get("/world")).json.users.map(({ user_id }) => user_id);
  let old = await live.connect();
  await old.must("space_state", { type: "join_space", user_id: "bob" });
  for (let n = 0; n < 10; ++n) {
    const fresh = await live.connect();
    await fresh.snapshot();
    const joined = fresh.must("space_state", { type: "join_space", user_id: "bob" });
    old.ws.terminate();
    await joined;
    await waitFor(() => old.closed);
    await fresh.must("pong", { type: "ping" });
    assert.deepEqual(await users(), ["bob"], `the ${n}th time`);
    old = fresh;
  }
  await old.close();
  await waitFor(async () => (await users()).length === 0);
});

test("an idempotency_key brings one agent, however often it is said; a request_id is an echo", async (t) => {
  const live = await Live.started({}, t);
  const spawn = (key) => ({ type: "agent_spawn_request", agent_config: { name: "Ada" }, ...(key ? { idempotency_key: key } : {}) });
  const [a, b] = [await live.connect(), await live.connect()];
  const first = await a.must("agent_spawned", spawn("once"));
  const again = await b.must("agent_spawned", spawn("once"));
  assert.equal(again.agent_id, first.agent_id);
  await a.must("agent_spawned", spawn());
  assert.equal((await live.get("/live")).json.agents.length, 2);
  const other = await a.ask({ ...spawn("once"), agent_config: { name: "Bob" } });
  assert.deepEqual([other.code, other.field], ["conflict", "idempotency_key"]);
});
