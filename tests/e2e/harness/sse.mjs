// A reader of GET /events that goes on from its cursor.
import http from "node:http";
import { sleep } from "./basics.mjs";

/// Reads GET /events for as long as it is wanted. Reconnects from the last event it saw, for ever.
/// `events` holds everything with a number, in the order of arrival; `frames` everything.
export class EventStream {
  constructor(where, { query = "", headers = {}, keep = true, each } = {}) {
    Object.assign(this, { where, query, headers, keep, each, events: [], frames: [], cursor: null, connections: 0, stopped: false });
    this.done = this.#follow();
  }

  async #follow() {
    while (!this.stopped) {
      await this.#once().catch(() => {});
      if (!this.stopped) await sleep(20);
    }
  }

  #once() {
    return new Promise((resolve) => {
      const resume = this.cursor === null ? {} : { "Last-Event-ID": String(this.cursor) };
      const { key, ...at } = typeof this.where === "function" ? this.where() : this.where;
      const request = http.request({
        ...at, path: `/events${this.query}`, agent: false,
        headers: { Accept: "text/event-stream", ...(key && { Authorization: `Bearer ${key}` }), ...this.headers, ...resume },
      }, (response) => {
        this.status = response.statusCode;
        if (response.statusCode !== 200) {
          response.resume();
          response.on("close", resolve);
          return;
        }
        ++this.connections;
        response.setEncoding("utf8");
        let rest = "";
        response.on("data", (text) => {
          const whole = (rest + text).split("\n\n");
          rest = whole.pop();
          whole.forEach((frame) => this.#take(frame));
        });
        response.on("error", () => {});
        response.on("close", resolve);
      });
      this.request = request;
      request.on("error", resolve);
      request.end();
    });
  }

  #take(text) {
    const frame = { event: "message", id: null, data: "" };
    for (const line of text.split("\n")) {
      const at = line.indexOf(":");
      if (at === 0) continue;
      const [name, value] = [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
      if (name === "data") frame.data += value;
      else if (name in frame) frame[name] = value;
    }
    if (!frame.data) return;
    const body = JSON.parse(frame.data);
    const event = { id: frame.id === null ? null : Number(frame.id), type: frame.event, ...body };
    event.id = frame.id === null ? null : Number(frame.id);
    if (this.keep) this.frames.push(event);
    if (event.type === "state.snapshot") {
      if (this.cursor === null && event.id !== null) this.cursor = event.id;
      return;
    }
    if (event.id !== null) {
      this.cursor = event.id;
      if (event.type !== "heartbeat") {
        if (this.keep) this.events.push(event);
        this.each?.(event);
      }
    }
  }

  /// The lines of one run as the stream told them.
  lines(id) {
    return this.events.filter((event) => event.type === "agent.output" && entityOf(event) === id).flatMap((event) => event.data.lines ?? []);
  }

  async stop() {
    this.stopped = true;
    this.request?.destroy();
    await this.done;
  }
}

export const entityOf = (event) => event.entity_id ?? event.data?.task_id;
