// The WebSocket connection to the live agents. Reconnects without limit, from the last event it received, and matches
// replies to requests. It does not interpret the messages.
import { jittered, max_retry_ms, min_retry_ms, pause, silence_timeout_ms, type Link } from "../base/connection.ts";
import type { SocketError, WorldMessage } from "./wire.ts";

/// A request that was refused or not answered. `field` names the invalid field of the request, if any.
export class RequestFailed extends Error {
  readonly field: string;
  constructor(readonly code: string, { message, hint, field }: SocketError) {
    super(`${message || code}${hint ? ` (${hint})` : ""}`);
    this.field = field ?? "";
  }
}

/// The part of WebSocket that is used here.
export type SocketLike = Pick<WebSocket, "send" | "close" | "onopen" | "onmessage" | "onclose">;

export interface SocketOptions {
  /// Opens a connection that continues after event `since`; 0 requests a snapshot.
  connect: (since: number) => SocketLike;
  cursor: () => number;
  deliver: (message: WorldMessage) => void;
  onLink: (link: Link) => void;
  /// Called when a connection is open.
  onOpen?: () => void;
  now?: () => number;
  wait?: (ms: number) => Promise<void>;
}

interface Pending {
  resolve: (reply: WorldMessage) => void;
  reject: (error: RequestFailed) => void;
  timer: ReturnType<typeof setTimeout>;
}

const reply_timeout_ms = 20_000;
const max_pending = 64;

export class WorldSocket {
  #options: SocketOptions;
  #socket: SocketLike | null = null;
  #is_open = false;
  #is_wanted = false;
  #is_running = false;
  #last_message_at = 0;
  #next = 0;
  #pending = new Map<string, Pending>();

  constructor(options: SocketOptions) {
    this.#options = options;
  }

  /// Connects, and reconnects whenever the connection is lost, until `stop`.
  start(): void {
    this.#is_wanted = true;
    if (!this.#is_open) this.#options.onLink({ kind: "connecting" });
    if (!this.#is_running) void this.#run();
  }

  stop(): void {
    this.#is_wanted = false;
    this.#socket?.close();
  }

  /// Sends a request and resolves with its reply. Rejects with RequestFailed if it is refused, the connection is lost, or
  /// there is no reply in time.
  request(type: string, fields: Record<string, unknown> = {}): Promise<WorldMessage> {
    if (!this.#is_open || !this.#socket) return Promise.reject(new RequestFailed("disconnected", { message: "the daemon cannot be reached", hint: "retrying" }));
    if (this.#pending.size >= max_pending) return Promise.reject(new RequestFailed("busy", { message: "too many requests are waiting for an answer" }));
    const request_id = `page-${++this.#next}`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#fail(request_id, "no_answer", "the daemon did not answer in time"), reply_timeout_ms);
      this.#pending.set(request_id, { resolve, reject, timer });
      this.send(type, { ...fields, request_id });
    });
  }

  /// Sends a message without waiting for a reply. Does nothing if there is no connection.
  send(type: string, fields: Record<string, unknown> = {}): void {
    if (this.#is_open) this.#socket?.send(JSON.stringify({ type, ...fields }));
  }

  async #run(): Promise<void> {
    const now = this.#options.now ?? Date.now;
    this.#is_running = true;
    this.#last_message_at = now();
    let wait = min_retry_ms;
    while (this.#is_wanted) {
      if (await this.#runConnection()) wait = min_retry_ms;
      if (!this.#is_wanted) break;
      this.#options.onLink({ kind: "disconnected", since: this.#last_message_at });
      await (this.#options.wait ?? pause)(jittered(wait));
      wait = Math.min(max_retry_ms, wait * 2);
    }
    this.#is_running = false;
  }

  /// Runs one connection until it ends. Resolves with true if a message was received.
  #runConnection(): Promise<boolean> {
    return new Promise((done) => {
      let has_received = false;
      let socket: SocketLike;
      try {
        socket = this.#options.connect(this.#options.cursor());
      } catch {
        return done(false);
      }
      this.#socket = socket;
      let watchdog = setTimeout(() => end(), silence_timeout_ms);
      const end = () => {
        clearTimeout(watchdog);
        socket.onopen = socket.onmessage = socket.onclose = null;
        socket.close();
        this.#is_open = false;
        this.#socket = null;
        for (const id of [...this.#pending.keys()]) this.#fail(id, "disconnected", "the connection was lost before the daemon answered; check whether the request was carried out");
        done(has_received);
      };
      socket.onopen = () => {
        this.#is_open = true;
        this.#markReceived();
        // A connection that continues from a cursor may receive nothing at first: the reply shows that it works, and the time.
        this.send("ping");
        this.#options.onOpen?.();
      };
      socket.onmessage = ({ data }: MessageEvent) => {
        has_received = true;
        clearTimeout(watchdog);
        watchdog = setTimeout(() => end(), silence_timeout_ms);
        this.#markReceived();
        this.#receive(data);
      };
      socket.onclose = end;
    });
  }

  #markReceived(): void {
    this.#last_message_at = (this.#options.now ?? Date.now)();
    this.#options.onLink({ kind: "connected" });
  }

  #receive(data: unknown): void {
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
    if (message.type === "error") pending.reject(new RequestFailed(String(message.code ?? "refused"), message as SocketError));
    else pending.resolve(message);
  }

  #fail(request_id: string, code: string, message: string): void {
    const pending = this.#pending.get(request_id);
    if (!pending) return;
    this.#pending.delete(request_id);
    clearTimeout(pending.timer);
    pending.reject(new RequestFailed(code, { message }));
  }
}
