// What the daemon says of itself: which project it serves, and what is not well with it.
import { effect, signal } from "@preact/signals";
import { get } from "../base/api.ts";
import { last_message_at, link } from "../base/connection.ts";
import { projectName, titleOf } from "./project_texts.ts";

/// The project's folder; empty as long as it is not known.
export const project = signal("");
export const troubles = signal<readonly string[]>([]);

const min_gap_ms = 5_000;
let asked_at = 0;

async function readVersion(): Promise<void> {
  try {
    const told = await get<{ project?: string; troubles?: string[] }>("/version");
    if (typeof told.project === "string") project.value = told.project;
    troubles.value = Array.isArray(told.troubles) ? told.troubles.filter((text) => typeof text === "string") : [];
  } catch {
    // Whether the daemon can be reached at all is said elsewhere.
  }
}

/// No event reports troubles: they are read again when the daemon has sent something, a heartbeat at least.
export function startDaemon(): void {
  effect(() => {
    const at = last_message_at.value;
    if (link.value.kind !== "connected" || document.hidden || at - asked_at < min_gap_ms) return;
    asked_at = at;
    void readVersion();
  });
  effect(() => { document.title = titleOf(projectName(project.value)); });
}
