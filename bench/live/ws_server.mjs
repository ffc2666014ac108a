// The peer: npm `ws`, and a POST whose data goes to every client. With a FILE each message is first a line of it,
// appended and synced: the least that node can do to make it durable.
//   ws_server.mjs [FILE]      forked: tells its parent the port, and ends with it
import { fdatasyncSync, openSync, writeSync } from "node:fs";
import http from "node:http";
import { WebSocketServer } from "ws";

const file = process.argv[2] ? openSync(process.argv[2], "a") : null;
let seq = 0;

function broadcast(body) {
  const { data } = JSON.parse(body);
  const text = JSON.stringify({ type: "agent_broadcast", seq: ++seq, agent_id: "player_0", data });
  if (file !== null) {
    writeSync(file, `${text}\n`);
    fdatasyncSync(file);
  }
  const message = Buffer.from(text);
  for (const client of sockets.clients) if (client.readyState === 1) client.send(message, { binary: false });
}

const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part)).on("end", () => {
    broadcast(Buffer.concat(parts));
    const reply = '{"success":true}';
    response.writeHead(202, { "Content-Type": "application/json", "Content-Length": reply.length }).end(reply);
  });
});
const sockets = new WebSocketServer({ server, path: "/ws", maxPayload: 65536 });
sockets.on("connection", (client) => client.on("error", () => {}).send('{"type":"world_snapshot","seq":0}'));
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", 4096, () => process.send({ port: server.address().port }));
process.on("disconnect", () => process.exit(0));
