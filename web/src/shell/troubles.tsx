// What the daemon says is not well with it: shown over everything else, for as long as it lasts.
import { effect, signal } from "@preact/signals";
import { get } from "../base/api.ts";
import { last_message_at, link } from "../base/connection.ts";

const troubles = signal<readonly string[]>([]);

const min_gap_ms = 5_000;
let asked_at = 0;

async function readTroubles(): Promise<void> {
  try {
    const told = (await get<{ troubles?: string[] }>("/version")).troubles;
    troubles.value = Array.isArray(told) ? told.filter((text) => typeof text === "string") : [];
  } catch {
    // Whether the daemon can be reached at all is said elsewhere.
  }
}

/// No event reports them: they are read again when the daemon has sent something, a heartbeat at least.
export function startTroubles(): void {
  effect(() => {
    const at = last_message_at.value;
    if (link.value.kind !== "connected" || document.hidden || at - asked_at < min_gap_ms) return;
    asked_at = at;
    void readTroubles();
  });
}

export function Troubles() {
  if (!troubles.value.length) return null;
  return <div class="troubles" role="status">{troubles.value.map((text) => <p key={text}>{text}</p>)}</div>;
}
