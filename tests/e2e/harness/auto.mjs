// Auto mode in a test: minds that say what a test wants, and a socket's view of a conversation.
import { ModelServer } from "../fixtures/model_server.mjs";
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
