// Auto mode in a test: minds that say what a test wants, and a socket's view of a conversation.
import { ModelServer } from "../fixtures/model_server.mjs";
import { waitFor } from "./basics.mjs";
import { Live } from "./live.mjs";

/// Minds behind a real model server: `said` are replies (texts or objects of the model server), the last for ever with a number
/// behind it, so that nobody repeats himself.
export async function talkers(t, said) {
  const server = await ModelServer.start({}, t);
  const left = [...said];
  let asked = 0;
  server.script(async (request) => {
    const next = left.length > 1 ? left.shift() : left[0];
    const reply = typeof next === "function" ? await next(request) : next;
    ++asked;
    return typeof reply === "string" ? { text: left.length > 1 || next !== said.at(-1) ? reply : `${reply} (${asked})` } : reply;
  });
  return { server };
}

export const startedAuto = (options, t) => Live.started({ ...options, live: { ...options?.live } }, t);
export const models = ["test-model"];

/// Starts, and gives the message that everybody gets.
export async function begin(socket, wishes = {}) {
  const from = socket.mark;
  await socket.must("autoModeState", { type: "startAutoMode", ...wishes });
  return socket.waitFor("autoModeStarted", { from });
}
export const ended = (socket, from = 0) => socket.waitFor("autoModeEnded", { from });

/// Everybody of the cast stands at its seat and idles.
export const allHome = (live, ids) => waitFor(async () => {
  const { agents, seats } = await live.must(200, live.get("/world"));
  return ids.every((id) => {
    const agent = agents.find(({ agent_id }) => agent_id === id);
    const seat = agent && seats.find(({ uid }) => uid === agent.seat);
    return agent && seat && !agent.walk && agent.state === "idle" && agent.position.x === seat.seatCol && agent.position.y === seat.seatRow;
  });
}, { what: "everybody is back at the seat and idle" });

/// A conversation that is over and whose transcript is written.
export const written = (live, id = "") => waitFor(async () => {
  const conversation = await live.must(200, live.get(`/auto/conversation?id=${id}`));
  return conversation.file && conversation;
}, { what: "the transcript is written" });
