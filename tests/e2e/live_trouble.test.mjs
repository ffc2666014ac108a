// When something breaks under live agents: a full disk, and a daemon that dies while people are in the world.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { codeOf, waitFor } from "./harness.mjs";
import { Live } from "./harness/live.mjs";
import { onSmallDisk } from "./harness/small_disk.mjs";

const say = (message, ...to) => ({ type: "chat_message", message, to });

test("kill -9 while people are in the world: a client that resumes is told once that they left", async (t) => {
  const live = await Live.started({}, t);
  const join = async (user_id) => {
    const socket = await live.connect();
    await socket.must("space_state", { type: "join_space", user_id, name: user_id.toUpperCase(), x: 7, y: 5 });
    return socket;
  };
  const watcher = await live.connect();
  await join("ann");
  await join("ben");
  await (await join("early")).must("space_left", { type: "leave_space" });
  await watcher.waitFor("user_left");
  const { cursor } = watcher;
  assert.deepEqual(watcher.of("user_left").map(({ user_id }) => user_id), ["early"]);
  await live.restartDaemon();

  const resumed = await live.connect({ query: { since: String(cursor) } });
  await resumed.until(() => resumed.of("user_left").length >= 2, { what: "two have left" });
  assert.deepEqual(resumed.of("user_left").map(({ user_id, name, position }) => [user_id, name, position]).sort(), ["ann", "ben"].map((id) => [id, id.toUpperCase(), { x: 7, y: 5 }]));
  assert.equal(resumed.of("world_snapshot").length, 0, "it has resumed");
  assert.deepEqual((await (await live.connect()).snapshot()).users, []);
  // Whoever comes again is there; another restart tells of nobody but her.
  await join("ann");
  await resumed.waitFor("user_joined");
  const later = resumed.cursor;
  await live.restartDaemon();
  const again = await live.connect({ query: { since: String(later) } });
  await again.waitFor("user_left");
  await live.bring(again, { name: "Ada" });
  await again.waitFor("agent_joined");
  assert.deepEqual(again.of("user_left").map(({ user_id }) => user_id), ["ann"]);
});

test("a full disk: what is said is refused, the world is still shown, and with space the agents go on", async (t) => {
  const live = new (onSmallDisk(Live))({ settings: { runs: { min_free_disk: 0 } } });
  live.size = "16m";
  t.after(() => live.close());
  await live.startDaemon();
  const socket = await live.connect();
  const ada = await live.bring(socket, { name: "Ada", initial_position: { x: 7, y: 5 } });
  await socket.must("message_accepted", say("before", ada));
  await socket.waitFor("agent_speech");
  await socket.state(ada, "idle");

  live.fill("ballast", 32 << 20);
  // Refused, and not kept waiting for space: all of this is answered while the disk is full.
  const refused = await waitFor(async () => {
    const reply = await live.post("/world/say", { content: `lost ${"x".repeat(7000)}`, to: [ada] });
    return reply.status !== 202 && reply;
  }, { what: "words are refused" });
  assert.deepEqual([refused.status, codeOf(refused.json)], [507, "disk_full"], refused.text);
  const by_socket = await socket.ask(say("also lost", ada));
  assert.deepEqual([by_socket.type, by_socket.code], ["error", "disk_full"]);
  assert.equal((await live.post("/live", { name: "Late" })).status, 507);
  assert.equal((await live.post(`/live/${ada}/move`, { x: 9, y: 5 })).status, 507);

  // Reading goes on.
  const world = await live.get("/world");
  assert.equal(world.status, 200, world.text);
  assert.deepEqual(world.json.agents.map(({ agent_id }) => agent_id), [ada]);

  assert.equal((await live.agent(ada)).name, "Ada");
  const late = await live.connect();
  assert.deepEqual((await late.snapshot()).agents.map(({ agent_id, position }) => [agent_id, position]), [[ada, { x: 7, y: 5 }]]);
  await late.must("pong", { type: "ping" });

  rmSync(live.path(".coven/ballast"));
  await waitFor(async () => (await live.post("/world/say", { content: "after", to: [ada] })).status === 202, { what: "words are taken again" });
  const answered = await waitFor(async () => {
    const rows = await live.conversation(ada);
    const heard = rows.findIndex(({ content }) => content === "after");
    return heard >= 0 && rows.slice(heard).some(({ sender }) => sender === ada) && rows;
  }, { what: "it answers" });
  assert.deepEqual(answered.filter(({ content }) => ["before", "after"].includes(content)).map(({ content }) => content), ["before", "after"]);
  assert.ok(!answered.some(({ content }) => content === "also lost"), "what was refused at once is not said later");
  await waitFor(async () => (await live.agent(ada)).state === "idle");
  await late.must("move_accepted", { type: "move_agent", agent_id: ada, x: 9, y: 5 });
  await late.waitFor(({ type, x }) => type === "agent_moved" && x === 9);
  assert.deepEqual(late.problems(), []);
});
