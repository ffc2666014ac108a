// A tab that is opened beside one that is signed in, by a link of a notification for example, gets a code of its own
// from that one. Only pages of the same origin hear each other, and what is handed over is a code that the daemon makes
// for it, never a key.
import { post, tokenOfTab } from "./api.ts";

type Message = { ask: string } | { for: string; code: string } | { taken: string };

const patience_ms = 800;
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("cru.tabs") : null;

/// A code from another tab, or null if none answers.
export async function codeOfOtherTab(): Promise<string | null> {
  if (!channel) return null;
  const id = crypto.randomUUID();
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(null), patience_ms);
    const hear = ({ data }: MessageEvent<Message>) => { if ("for" in data && data.for === id) done(data.code); };
    const done = (code: string | null) => {
      clearTimeout(timer);
      channel.removeEventListener("message", hear);
      if (code) channel.postMessage({ taken: id } satisfies Message);
      resolve(code);
    };
    channel.addEventListener("message", hear);
    channel.postMessage({ ask: id } satisfies Message);
  });
}

/// Answers other tabs. Where several could, one does: each waits a moment of its own.
export function answerOtherTabs(): void {
  const taken = new Set<string>();
  channel?.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if ("taken" in data) { taken.add(data.taken); return; }
    if (!("ask" in data) || !tokenOfTab()) return;
    setTimeout(() => {
      if (taken.delete(data.ask)) return;
      void post<{ code: string }>("/pairings", { label: "another tab of the page" })
        .then(({ code }) => channel.postMessage({ for: data.ask, code } satisfies Message))
        .catch(() => undefined);  // the other one says how to sign in
    }, Math.random() * 100);
  });
}
