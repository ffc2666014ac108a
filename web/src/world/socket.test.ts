import assert from "node:assert/strict";
import { test } from "node:test";
import type { Link } from "../base/connection.ts";
import { RequestFailed, WorldSocket, type SocketLike } from "./socket.ts";
import type { WorldMessage } from "./wire.ts";

class FakeSocket implements SocketLike {
  onopen: SocketLike["onopen"] = null;
  onmessage: SocketLike["onmessage"] = null;
  onclose: SocketLike["onclose"] = null;
  sent: WorldMessage[] = [];
  is_closed = false;
  constructor(readonly since: number) {}
  send(text: string): void { this.sent.push(JSON.parse(text) as WorldMessage); }
  close(): void {
    if (this.is_closed) return;
    this.is_closed = true;
    this.onclose?.call(this as never, {} as CloseEvent);
  }
  open(): void { this.onopen?.call(this as never, {} as Event); }
  say(message: unknown): void { this.onmessage?.call(this as never, { data: typeof message === "string" ? message : JSON.stringify(message) } as MessageEvent); }
  asked(type: string): WorldMessage { return this.sent.find((message) => message.type === type)!; }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

function fixture() {
  const at = { wires: [] as FakeSocket[], delivered: [] as WorldMessage[], links: [] as Link[], waits: [] as number[], cursor: 0, now: 1000, go: () => {} };
  const socket = new WorldSocket({
    connect: (since) => { const wire = new FakeSocket(since); at.wires.push(wire); return wire; },
    cursor: () => at.cursor, deliver: (message) => at.delivered.push(message), onLink: (link) => at.links.push(link), now: () => at.now,
    wait: (ms) => { at.waits.push(ms); return new Promise((resolve) => { at.go = () => resolve(); }); },
  });
  return { at, socket, wire: () => at.wires.at(-1)! };
}

test("a lost connection is retried from the cursor, with growing delays, and reports since when it is disconnected", async () => {
  const { at, socket, wire } = fixture();
  socket.start();
  wire().open();
  wire().say({ type: "world_snapshot", seq: 5 });
  assert.deepEqual([wire().since, at.links.at(-1)], [0, { kind: "connected" }]);
  at.cursor = 5;
  at.now = 9000;
  for (let i = 0; i < 8; ++i) {
    wire().close();
    await settled();
    assert.deepEqual(at.links.at(-1), { kind: "disconnected", since: 1000 });
    at.go();
    await settled();
    assert.equal(wire().since, 5);
  }
  assert.ok(at.waits[0]! < 350 && at.waits.at(-1)! >= 3750 && Math.max(...at.waits) <= 6250, String(at.waits));
  wire().open();
  wire().say({ type: "heartbeat", seq: 6 });
  wire().close();
  await settled();
  assert.ok(at.waits.at(-1)! < 350, "after a connection that worked the delay is short again");
  socket.stop();
  at.go();
});

test("replies are matched to requests; a refusal names the field; invalid JSON is ignored", async () => {
  const { at, socket, wire } = fixture();
  socket.start();
  wire().open();
  const spawned = socket.request("agent_spawn_request", { agent_config: { name: "ada" } });
  const refused = socket.request("move_agent", { agent_id: "a", x: 99, y: 0 });
  wire().say("{");
  wire().say("null");
  wire().say({ type: "error", code: "invalid_argument", field: "x", message: "outside", hint: "0 to 19", request_id: wire().asked("move_agent").request_id });
  wire().say({ type: "agent_spawned", agent_id: "a1", request_id: wire().asked("agent_spawn_request").request_id });
  assert.equal((await spawned).agent_id, "a1");
  await assert.rejects(refused, (error: RequestFailed) => error.field === "x" && error.code === "invalid_argument" && error.message === "outside (0 to 19)");
  assert.deepEqual(at.delivered.map(({ type }) => type), ["error", "agent_spawned"]);
  socket.stop();
});

test("requests fail without a connection, and if it is lost before the reply", async () => {
  const { at, socket, wire } = fixture();
  await assert.rejects(socket.request("ping"), /cannot be reached/);
  socket.start();
  await assert.rejects(socket.request("ping"), /cannot be reached/, "not open yet");
  wire().open();
  const asked = socket.request("assign_task", { agent_id: "a", task_name: "t" });
  wire().close();
  await assert.rejects(asked, /check whether the request was carried out/);
  await settled();
  socket.stop();
  at.go();
});

test("a stopped socket is closed, and continues from its cursor when started again", async () => {
  const { at, socket, wire } = fixture();
  socket.start();
  wire().open();
  at.cursor = 7;
  socket.stop();
  await settled();
  assert.deepEqual([wire().is_closed, at.wires.length], [true, 1]);
  socket.start();
  assert.deepEqual([at.wires.length, wire().since, at.links.at(-1)?.kind], [2, 7, "connecting"]);
  socket.start();
  assert.equal(at.wires.length, 2, "once");
  socket.stop();
});

test("the number of pending requests is limited", async () => {
  const { socket, wire } = fixture();
  socket.start();
  wire().open();
  const many = Array.from({ length: 64 }, () => socket.request("ping").catch((error: RequestFailed) => error.code));
  await assert.rejects(socket.request("ping"), /too many requests/);
  socket.stop();
  assert.deepEqual(new Set(await Promise.all(many)), new Set(["disconnected"]));
});
