// The page's socket to the live agents: reconnects for ever from the last event it saw, and matches answers to what was
// asked. Knows nothing of what the messages mean.
import { jittered, latest_ms, pause, silence_ms, soonest_ms, type Link } from "../base/connection.ts";
import type { SocketError, WorldMessage } from "./wire.ts";

/// A request that was refused, or whose answer did not come. `field` is the request's, where one is to blame.
export class AskFailed extends Error {
  readonly field: string;
  constructor(readonly code: string, { message, hint, field }: SocketError) {
    super(`${message || code}${hint ? ` (${hint})` : ""}`);
    this.field = field ?? "";
  }
}

/// As much of a WebSocket as is used here.
export type Wire = Pick<WebSocket, "send" | "close" | "onopen" | "onmessage" | "onclose">;

export interface SocketOptions {
  /// A connection that goes on after event `since`; 0 asks for a snapshot.
  connect: (since: number) => Wire;
  cursor: () => number;
  deliver: (message: WorldMessage) => void;
  tell: (link: Link) => void;
  /// Called for each connection as soon as it can be written to.
  opened?: () => void;
  now?: () => number;
  wait?: (ms: number) => Promise<void>;
}

interface Pending {
  resolve: (answer: WorldMessage) => void;
  reject: (error: AskFailed) => void;
  timer: ReturnType<typeof setTimeout>;
}

const answer_ms = 20_000;
const most_pending = 64;

export class WorldSocket {
  #options: SocketOptions;
  #wire: Wire | null = null;
  #is_open = false;
  #is_wanted = false;
  #is_running = false;
  #heard = 0;
  #next = 0;
  #pending = new Map<string, Pending>();

  constructor(options: SocketOptions) {
    this.#options = options;
  }

  /// Connects, and again whenever the connection is lost, until `stop`.
  start(): void {
    this.#is_wanted = true;
    if (!this.#is_open) this.#options.tell({ kind: "connecting" });
    if (!this.#is_running) void this.#run();
  }

  stop(): void {
    this.#is_wanted = false;
    this.#wire?.close();
  }

  /// Asks for something. Rejects with AskFailed: refused, lost on the way, or not answered in time.
  ask(type: string, fields: Record<string, unknown> = {}): Promise<WorldMessage> {
    if (!this.#is_open || !this.#wire) return Promise.reject(new AskFailed("disconnected", { message: "the daemon cannot be reached", hint: "retrying" }));
    if (this.#pending.size >= most_pending) return Promise.reject(new AskFailed("busy", { message: "too many requests are waiting for an answer" }));
    const request_id = `page-${++this.#next}`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#fail(request_id, "no_answer", "the daemon did not answer in time"), answer_ms);
      this.#pending.set(request_id, { resolve, reject, timer });
      this.send(type, { ...fields, request_id });
    });
  }

  /// Says something that is not answered, if there is a connection.
  send(type: string, fields: Record<string, unknown> = {}): void {
    if (this.#is_open) this.#wire?.send(JSON.stringify({ type, ...fields }));
  }

  async #run(): Promise<void> {
    const now = this.#options.now ?? Date.now;
    this.#is_running = true;
    this.#heard = now();
    let wait = soonest_ms;
    while (this.#is_wanted) {
      if (await this.#live()) wait = soonest_ms;
      if (!this.#is_wanted) break;
      this.#options.tell({ kind: "stale", since: this.#heard });
      await (this.#options.wait ?? pause)(jittered(wait));
      wait = Math.min(latest_ms, wait * 2);
    }
    this.#is_running = false;
  }

  /// One connection, from its beginning to its end. True if anything was heard on it.
  #live(): Promise<boolean> {
    return new Promise((done) => {
      let was_heard = false;
      let wire: Wire;
      try {
        wire = this.#options.connect(this.#options.cursor());
      } catch {
        return done(false);
      }
      this.#wire = wire;
      let watchdog = setTimeout(() => end(), silence_ms);
      const end = () => {
        clearTimeout(watchdog);
        wire.onopen = wire.onmessage = wire.onclose = null;
        wire.close();
        this.#is_open = false;
        this.#wire = null;
        for (const id of [...this.#pending.keys()]) this.#fail(id, "disconnected", "the connection was lost before the daemon answered; check whether the request was carried out");
        done(was_heard);
      };
      wire.onopen = () => {
        this.#is_open = true;
        this.#hear();
        // A connection that goes on from a cursor may have nothing to tell: an answer shows that it works, and the time.
        this.send("ping");
        this.#options.opened?.();
      };
      wire.onmessage = ({ data }: MessageEvent) => {
        was_heard = true;
        clearTimeout(watchdog);
        watchdog = setTimeout(() => end(), silence_ms);
        this.#hear();
        this.#take(data);
      };
      wire.onclose = end;
    });
  }

  #hear(): void {
    this.#heard = (this.#options.now ?? Date.now)();
    this.#options.tell({ kind: "live" });
  }

  #take(data: unknown): void {
    let message: WorldMessage;
    try {
      message = JSON.parse(String(data)) as WorldMessage;
    } catch {
      return;
    }
    if (!message || typeof message.type !== "string") return;
    this.#options.deliver(message);
    const pending = this.#pending.get(message.request_id ?? "");
    if (!pending) return;
    this.#pending.delete(message.request_id!);
    clearTimeout(pending.timer);
    if (message.type === "error") pending.reject(new AskFailed(String(message.code ?? "refused"), message as SocketError));
    else pending.resolve(message);
  }

  #fail(request_id: string, code: string, message: string): void {
    const pending = this.#pending.get(request_id);
    if (!pending) return;
    this.#pending.delete(request_id);
    clearTimeout(pending.timer);
    pending.reject(new AskFailed(code, { message }));
  }
}
