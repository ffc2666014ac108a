// The page's one stream of events. Reconnects for ever, from the last event it saw; says how
// stale the page is while it cannot.
import { signal } from "@preact/signals";
import { headers } from "./api.ts";
import { readEvent, type LogEvent } from "./event.ts";
import { FrameParser } from "./sse.ts";

export type Link = { kind: "connecting" } | { kind: "live" } | { kind: "stale"; since: number } | { kind: "refused"; why: string };

export const link = signal<Link>({ kind: "connecting" });
/// The first snapshot has come: what the page shows is what there is.
export const loaded = signal(false);
/// When the daemon was last heard.
export const heard = signal(Date.now());

export const silence_ms = 45_000;  // the daemon sends a heartbeat well within this
export const soonest_ms = 250;
export const latest_ms = 5_000;

/// Reads the stream for as long as the page lives. `cursor` says where to go on, `deliver` takes what came.
export async function follow(cursor: () => number, deliver: (events: LogEvent[]) => void): Promise<never> {
  let wait = soonest_ms;
  for (;;) {
    try {
      await readOnce(cursor(), (events) => {
        wait = soonest_ms;
        deliver(events);
      });
    } catch {
      // The daemon is away; the state below says so.
    }
    if (link.value.kind !== "refused") link.value = { kind: "stale", since: heard.value };
    await pause(jittered(wait));
    wait = Math.min(latest_ms, wait * 2);
  }
}

async function readOnce(cursor: number, deliver: (events: LogEvent[]) => void): Promise<void> {
  const abort = new AbortController();
  let watchdog = setTimeout(() => abort.abort(), silence_ms);
  try {
    const response = await fetch("/events", {
      headers: headers({ Accept: "text/event-stream", ...(cursor ? { "Last-Event-ID": String(cursor) } : {}) }),
      signal: abort.signal,
      cache: "no-store",
    });
    if (response.status === 401 || response.status === 403) {
      link.value = { kind: "refused", why: "This page needs an access token." };
      return;
    }
    if (!response.ok || !response.body) return;
    const parser = new FrameParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(), silence_ms);
      heard.value = Date.now();
      if (link.value.kind !== "live") link.value = { kind: "live" };
      const events = parser.push(value).map(readEvent).filter((event): event is LogEvent => event !== null);
      if (events.length) deliver(events);
    }
  } finally {
    clearTimeout(watchdog);
    abort.abort();
  }
}

/// Not all pages at once, when a daemon comes back.
export const jittered = (ms: number): number => ms * (0.75 + Math.random() / 2);

/// Waits, or less when the tab comes back to the front or the network returns.
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
