// The current time, updated every second while the page is visible.
import { signal } from "@preact/signals";

export const now = signal(Date.now());

export function startClock(): void {
  setInterval(() => { if (!document.hidden) now.value = Date.now(); }, 1000);
  document.addEventListener("visibilitychange", () => { now.value = Date.now(); });
}
