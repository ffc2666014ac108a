// The socket itself: who gets in, what is refused, snapshots in pages, resuming, subscriptions, clients that do not read.
import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";
import { assertBetween, waitFor } from "./harness.mjs";
import { Live, LiveSocket, longest_message } from "./harness/live.mjs";

const say = (message, to) => ({ type: "chat_message", message, ...(to ? { to } : {}) });

test("a wrong token, Origin or Host gets no 101; the right token does, in the address or in a header", async (t) => {
  const live = await Live.started({}, t);
  const { host, port } = live.tcp;
  const refused = async (options, status) => {
    const error = await LiveSocket.open(live, options).then(() => null, (trouble) => trouble);
    assert.ok(error, `let in: ${JSON.stringify(options)}`);
    assert.ok(status.includes(error.status), `${JSON.stringify(options)}: ${error.message}`);
  };
  await refused({ token: null }, [401]);
  await refused({ token: "" }, [401]);
  await refused({ token: "wrong" }, [401]);
  await refused({ token: `${live.token}x` }, [401]);
  await refused({ token: null, headers: { authorization: "Bearer wrong" } }, [401]);
  await refused({ headers: { origin: "http://evil.example" } }, [401, 403]);
  await refused({ headers: { origin: "null" } }, [401, 403]);
  await refused({ headers: { host: "evil.example" } }, [400, 401, 403, 421]);
  await refused({ query: { since: "-1" } }, [400]);
  await refused({ query: { since: "soon" } }, [400]);
  for (const good of [{}, { token: null, headers: { authorization: `Bearer ${live.token}` } }, { headers: { origin: `http://${host}:${port}` } }]) {
    const socket = await live.connect(good);
    await socket.snapshot();
    await socket.close();
  }
  const plain = await live.get("/ws");
  assert.ok([400, 426].includes(plain.status), `${plain.status}`);
});

test("a handshake that is none is refused as HTTP", async (t) => {
  const live = await Live.started({}, t);
  const shake = (headers) => new Promise((resolve, reject) => {
    const request = http.request({ ...live.tcp, path: `/ws?token=${live.token}`, headers, agent: false }, (response) => { response.resume(); resolve(response); });
    request.on("upgrade", (response, socket) => { socket.destroy(); resolve(response); }).on("error", reject).end();
  });
  const good = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
  assert.equal((await shake(good)).headers["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  const old = await shake({ ...good, "sec-websocket-version": "8" });
  assert.deepEqual([old.statusCode, old.headers["sec-websocket-version"]], [426, "13"]);
  assert.equal((await shake({ ...good, "sec-websocket-key": "short" })).statusCode, 400);
});

test("bad JSON, an unknown type, a bad field: an error that names it, and the connection stays", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  await socket.snapshot();
  const trouble = async (text) => {
    const from = socket.mark;
    socket.send(text);
    return socket.waitFor("error", { from });
  };
  for (const text of ["{", "", "hello", "[1,2]", "7", "null", '{"type":7}', "{}", '{"type":"dance"}', '{"type":"ping","request_id":7}', `{"type":"ping","request_id":"${"x".repeat(65)}"}`, `${"[".repeat(5000)}`, '{"type":"get_agent_state","agent_id":{}}', '{"type":"subscribe","agents":"all"}', '{"type":"subscribe","area":{"x":1}}', '{"type":"subscribe","types":["noise"]}', '{"type":"move_agent","agent_id":"a","x":1.5,"y":2}']) {
    const error = await trouble(text);
    assert.ok(error.code && error.message, `${text.slice(0, 40)}: ${JSON.stringify(error)}`);
    if (/^\{"type":"(dance|get|sub|move)/.test(text)) assert.ok(error.field, `${text}: ${JSON.stringify(error)}`);
  }
  const unknown = await socket.ask({ type: "agent_spwan_request" });
  assert.deepEqual([unknown.type, unknown.code, unknown.field], ["error", "invalid_argument", "type"]);
  assert.match(`${unknown.message} ${unknown.hint ?? ""}`, /agent_spawn_request/, "did you mean");
  const before = Date.now();
  const pong = await socket.must("pong", { type: "ping" });
  assertBetween(pong.now_ms, before);
  assert.equal(Date.parse(pong.now), pong.now_ms);
  assert.equal(socket.closed, null);
});

test("a message over 64 KiB ends its connection with 1009, and no other; binary is refused", async (t) => {
  const live = await Live.started({}, t);
  const [socket, other, third] = [await live.connect(), await live.connect(), await live.connect()];
  socket.send(JSON.stringify({ type: "ping", request_id: "x".repeat(70_000) }));
  await waitFor(() => socket.closed, { what: "it is closed" });
  assert.equal(socket.closed.code, 1009);
  third.send(Buffer.from([1, 2, 3]));
  await waitFor(() => third.closed || third.of("error").length, { what: "binary is refused" });
  if (third.closed) assert.equal(third.closed.code, 1003);
  await other.must("pong", { type: "ping" });
});

test("a snapshot comes first, with the number from which the deltas go on", async (t) => {
  const live = await Live.started({}, t);
  const before = Date.now();
  const first = await live.connect();
  const empty = await first.snapshot();
  assert.equal(first.messages[0].type, "world_snapshot");
  assert.deepEqual([empty.page, empty.pages, empty.space_id, empty.agents, empty.users], [1, 1, "office", [], []]);
  assert.deepEqual([empty.layout.version, empty.layout.cols, empty.layout.rows, empty.layout.tiles.length], [1, 20, 11, 220]);
  assert.ok(empty.seats.length > 0 && empty.seats.every((seat) => "uid" in seat && "seatCol" in seat && "seatRow" in seat && "facingDir" in seat && "assigned" in seat));
  assertBetween(empty.now_ms, before);
  const ids = await Promise.all(["Ada", "Bob"].map((name) => live.bring(first, { name })));
  const second = await live.connect();
  const { seq, agents } = await second.snapshot();
  assert.deepEqual(agents.map(({ agent_id }) => agent_id).sort(), ids.sort());
  const later = await live.bring(first, { name: "Eve" });
  const joined = await second.waitFor("agent_joined");
  assert.equal(joined.agent.agent_id, later, "no delta of what the snapshot held");
  assert.ok(joined.seq > seq);
  const from = second.mark;
  second.send({ type: "get_snapshot", request_id: "again" });
  const again = await second.snapshot({ from });
  assert.equal(again.agents.length, 3);
  assert.equal(again.request_id, "again");
});

test("a cursor resumes: the deltas since, all of them, no snapshot; one that is too old gets a snapshot", async (t) => {
  const live = await Live.started({}, t);
  const whole = await live.connect();
  const id = await live.bring(whole, { name: "Ada" });
  for (let n = 0; n < 10; ++n) {
    await whole.must("message_accepted", say(`word ${n}`, [id]));
    await whole.waitFor(({ type, seq }) => type === "agent_speech" && seq > whole.of("chat_broadcast").at(-1).seq);
  }
  const last_words = whole.of("agent_speech").at(-1).seq;
  await whole.waitFor(({ type, agent_id, state, seq }) => type === "agent_state_update" && agent_id === id && state === "idle" && seq > last_words);
  const seqs = whole.deltas.map(({ seq }) => seq);
  for (const since of [seqs[0], seqs[Math.floor(seqs.length / 2)], seqs.at(-2)]) {
    const resumed = await live.connect({ query: { since: String(since) } });
    const wanted = seqs.filter((seq) => seq > since);
    await resumed.until(() => resumed.deltas.length >= wanted.length, { what: "the rest comes" });
    await resumed.must("pong", { type: "ping" });
    assert.deepEqual(resumed.deltas.map(({ seq }) => seq).slice(0, wanted.length), wanted);
    assert.equal(resumed.of("world_snapshot").length, 0);
    assert.deepEqual(resumed.problems(), []);
    const [{ at: _, ...first }] = resumed.deltas;
    const { at: __, ...same } = whole.deltas.find(({ seq }) => seq === first.seq);
    assert.deepEqual(first, same, "the same message");
    await resumed.close();
  }
  const ahead = await live.connect({ query: { since: "999999999" } });
  await ahead.snapshot();
  assert.equal(ahead.messages[0].type, "log_truncated");
  assert.ok(Number.isInteger(ahead.messages[0].floor) && Number.isInteger(ahead.messages[0].last));
});

test("500 agents: a snapshot in pages, no message over 60,000 bytes", async (t) => {
  const live = await Live.started({}, t);
  const socket = await live.connect();
  const ids = [];
  for (let n = 0; n < 10; ++n) ids.push(...await Promise.all(Array.from({ length: 50 }, (_, m) => live.bring(socket, { name: `Agent ${n * 50 + m} ${"n".repeat(40)}`, role: `${"ä".repeat(100)}` }))));
  assert.equal(new Set(ids).size, 500);
  const late = await live.connect();
  const { agents, pages, all_pages } = await late.snapshot();
  assert.ok(pages > 1, `${pages} pages`);
  assert.deepEqual(all_pages.map(({ page }) => page), Array.from({ length: pages }, (_, n) => n + 1));
  assert.ok(all_pages.slice(1).every((page) => !("layout" in page) && !("users" in page) && !("seats" in page)));
  assert.equal(new Set(all_pages.map(({ seq }) => seq)).size, 1, "one moment");
  assert.deepEqual(agents.map(({ agent_id }) => agent_id).sort(), [...ids].sort());
  await live.must(202, live.post("/world/say", { content: "x".repeat(8000), everybody: true }));
  const spoken = await late.waitFor("chat_broadcast");
  assert.equal(spoken.message.length, 8000);
  await late.must("message_accepted", say('"\\\u0001'.repeat(2000), ids.slice(0, 100)));
  for (const one of [socket, late]) assert.deepEqual(one.problems(), []);
  t.diagnostic(`the longest of ${late.bytes.length} messages: ${Math.max(...late.bytes)} bytes`);
  assert.ok(Math.max(...late.bytes) <= longest_message);
  // Those who fit stand on a tile each; the others are there without a place.
  const places = agents.filter(({ position }) => position).map(({ position }) => `${position.x},${position.y}`);
  assert.equal(new Set(places).size, places.length);
});

test("a client is told of the agents, the area and the types that it subscribed to, and of who comes and goes", async (t) => {
  const live = await Live.started({ live: { hearing_distance: 0 } }, t);
  const [all, some, here, types] = [await live.connect(), await live.connect(), await live.connect(), await live.connect()];
  const ada = await live.bring(all, { name: "Ada", initial_position: { x: 3, y: 5 } });
  const bob = await live.bring(all, { name: "Bob", initial_position: { x: 16, y: 7 } });
  assert.deepEqual((await some.must("subscribed", { type: "subscribe", agents: [ada] })).agents, [ada]);
  assert.deepEqual((await here.must("subscribed", { type: "subscribe", area: { x: 14, y: 6, width: 5, height: 4 } })).area, { x: 14, y: 6, width: 5, height: 4 });
  assert.deepEqual((await types.must("subscribed", { type: "subscribe", types: ["agent_speech"] })).types, ["agent_speech"]);
  const marks = [all, some, here, types].map((socket) => socket.mark);
  for (const id of [ada, bob]) {
    await all.must("message_accepted", say("hello", [id]));
    await all.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === id);
  }
  const eve = await live.bring(all, { name: "Eve", initial_position: { x: 7, y: 5 } });
  for (const [n, socket] of [all, some, here].entries()) await socket.waitFor(({ type, agent }) => type === "agent_joined" && agent.agent_id === eve, { from: marks[n] });
  await types.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === bob);
  const since = (socket, n) => socket.messages.slice(marks[n]).filter(({ seq }) => seq !== undefined);
  const about = (socket, n) => new Set(since(socket, n).filter(({ type }) => type.startsWith("agent_") && type !== "agent_joined").map(({ agent_id }) => agent_id));
  assert.deepEqual(about(all, 0), new Set([ada, bob]));
  assert.deepEqual(about(some, 1), new Set([ada]));
  assert.deepEqual(about(here, 2), new Set([bob]));
  assert.deepEqual(new Set(since(types, 3).map(({ type }) => type)), new Set(["agent_speech"]));
  const everything = await some.must("subscribed", { type: "unsubscribe" });
  assert.deepEqual([everything.agents, everything.area, everything.types], [null, null, null]);
  const from = some.mark;
  await all.must("message_accepted", say("and again", [bob]));
  await some.waitFor(({ type, agent_id }) => type === "agent_speech" && agent_id === bob, { from });
});

test("a client that does not read is in nobody's way, and goes on where it stood", async (t) => {
  const live = await Live.started({}, t);
  const fast = await live.connect();
  let slow = await live.connect();
  await Promise.all([fast.snapshot(), slow.snapshot()]);
  slow.ws.pause();
  const text = "x".repeat(7900);
  const count = 1500;
  for (let n = 0; n < count; n += 25) await Promise.all(Array.from({ length: 25 }, (_, m) => fast.must("message_accepted", say(`${n + m} ${text}`))));
  await fast.until(() => fast.of("chat_broadcast").length === count);
  t.diagnostic(`${count} messages of 8 kB; ${slow.messages.length} were read by the sleeper`);
  assert.ok(slow.of("chat_broadcast").length < count, "the other had all of them before it");
  const heard = [];
  for (; ;) {
    slow.ws.resume();
    await slow.until(() => heard.length + slow.of("chat_broadcast").length === count || slow.closed, { what: "the sleeper has all" });
    heard.push(...slow.of("chat_broadcast").map(({ message }) => Number(message.split(" ")[0])));
    assert.deepEqual(slow.problems(), []);
    if (heard.length === count) break;
    // After half a minute without reading it is hung up on, which takes a machine that is slow itself: it resumes by its cursor.
    slow = await live.connect({ query: { since: String(slow.cursor) } });
  }
  assert.deepEqual(heard, Array.from({ length: count }, (_, n) => n));
  assert.deepEqual(fast.problems(), []);
  assert.ok(slow.of("world_snapshot").length <= 1);
});
