// The page's connection to the event stream. Reconnects without limit, from the last event it received, and reports since
// when it has been disconnected.
import { signal } from "@preact/signals";
import { headers } from "./api.ts";
import { readEvent, type LogEvent } from "./event.ts";
import { FrameParser } from "./sse.ts";

export type Link = { kind: "connecting" } | { kind: "connected" } | { kind: "disconnected"; since: number } | { kind: "refused"; why: string };

export const link = signal<Link>({ kind: "connecting" });
/// True once the first snapshot has arrived, so that an empty list means that there is nothing.
export const loaded = signal(false);
/// When the daemon last sent something.
export const last_message_at = signal(Date.now());

export const silence_timeout_ms = 45_000;  // the daemon sends a heartbeat well within this
export const min_retry_ms = 250;
export const max_retry_ms = 5_000;

/// Reads the stream as long as the page is open. `cursor` returns the last event received, `deliver` receives new events.
export async function follow(cursor: () => number, deliver: (events: LogEvent[]) => void): Promise<never> {
  let wait = min_retry_ms;
  for (;;) {
    try {
      await readOnce(cursor(), (events) => {
        wait = min_retry_ms;
        deliver(events);
      });
    } catch {
      // The daemon is unreachable; `link` says so below.
    }
    if (link.value.kind !== "refused") link.value = { kind: "disconnected", since: last_message_at.value };
    await pause(jittered(wait));
    wait = Math.min(max_retry_ms, wait * 2);
  }
}

async function readOnce(cursor: number, deliver: (events: LogEvent[]) => void): Promise<void> {
  const abort = new AbortController();
  let watchdog = setTimeout(() => abort.abort(), silence_timeout_ms);
  try {
    const response = await fetch("/events", {
      headers: headers({ Accept: "text/event-stream", ...(cursor ? { "Last-Event-ID": String(cursor) } : {}) }),
      signal: abort.signal,
      cache: "no-store",
    });
    if (response.status === 401 || response.status === 403) {
      link.value = { kind: "refused", why: "This page needs a link from the project." };
      return;
    }
    if (!response.ok || !response.body) return;
    const parser = new FrameParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(), silence_timeout_ms);
      last_message_at.value = Date.now();
      if (link.value.kind !== "connected") link.value = { kind: "connected" };
      const events = parser.push(value).map(readEvent).filter((event): event is LogEvent => event !== null);
      if (events.length) deliver(events);
    }
  } finally {
    clearTimeout(watchdog);
    abort.abort();
  }
}

/// Spreads out the reconnections of many pages when a daemon comes back.
export const jittered = (ms: number): number => ms * (0.75 + Math.random() / 2);

/// Waits, but no longer than until the tab becomes visible or the network returns.
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", wake);
      removeEventListener("online", go);
      resolve();
    };
    const wake = () => { if (!document.hidden) go(); };
    const timer = setTimeout(go, ms);
    document.addEventListener("visibilitychange", wake);
    addEventListener("online", go);
  });
}
