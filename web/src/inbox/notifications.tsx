import { effect, signal } from "@preact/signals";
import { approvals, requested as requested_approval } from "../approvals/model.ts";
import { loaded } from "../base/connection.ts";
import { questions, requested as requested_question } from "./model.ts";
import { news, waitingOf, type Waiting } from "./state.ts";

const key = "cru.notify";
const is_supported = "Notification" in globalThis;
const permission = signal(is_supported ? Notification.permission : "denied");
const wanted = signal(localStorage.getItem(key) === "yes");

async function turnOn(): Promise<void> {
  permission.value = await Notification.requestPermission();
  wanted.value = permission.value === "granted";
  localStorage.setItem(key, wanted.value ? "yes" : "no");
}
function turnOff(): void {
  wanted.value = false;
  localStorage.setItem(key, "no");
}

function show({ id, kind, title, text }: Waiting): void {
  const notification = new Notification(title, { body: text, tag: id });
  notification.onclick = () => {
    focus();
    (kind === "approval" ? requested_approval : requested_question).value = id;
    notification.close();
  };
}

/// Tells on the desktop what begins to wait for the user, if the user wants that. What waited when the page was opened is not told.
export function startNotifications(): void {
  let known: ReadonlySet<string> | null = null;
  effect(() => {
    const waiting = waitingOf(questions.value, approvals.value);
    if (!loaded.value) return;
    if (known && wanted.value && permission.value === "granted") news(known, waiting).forEach(show);
    known = new Set(waiting.map(({ id }) => id));
  });
}

export function NotificationsButton() {
  if (!is_supported) return null;
  if (permission.value === "denied") return <p class="hint">This browser does not allow notifications from this page.</p>;
  const is_on = wanted.value && permission.value === "granted";
  return <button type="button" class="button is-quiet inbox-notify" aria-pressed={is_on} onClick={() => { if (is_on) turnOff(); else void turnOn(); }}>{is_on ? "Desktop notifications are on" : "Notify me on the desktop"}</button>;
}
