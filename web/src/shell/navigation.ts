// Keeps the address and the shown view in step, and handles the keyboard shortcuts.
import { batch, effect } from "@preact/signals";
import { loaded } from "../base/connection.ts";
import type { LogEvent } from "../base/event.ts";
import { addressOf, parameterIn, view, viewIn } from "../base/views.ts";
import { crew, focused_subagent, openChat } from "../crew/model.ts";
import { chatAddress } from "../crew/texts.ts";
import { isRun, openRun, select, selected } from "../runs/model.ts";
import { viewOf, viewOfKey } from "./routes.ts";

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/// Opens the view of what an event is about.
export function openEventSubject(event: LogEvent): void {
  const where = viewOf(event);
  if (where === "chats") location.hash = chatAddress(event.entity, typeof event.data.task_id === "string" ? event.data.task_id : "");
  else if (where && where !== "runs") location.hash = addressOf(where);
  else openRun(event.entity);
}

function applyAddress(): void {
  const { hash } = location;
  const requested_chat = parameterIn(hash, "chat");
  batch(() => {
    view.value = viewIn(hash);
    if (requested_chat) openChat(requested_chat);
    focused_subagent.value = parameterIn(hash, "subagent");
  });
}

function address(): string {
  if (view.value === "chats" && crew.value.open) return chatAddress(crew.value.open);
  if (view.value !== "runs") return addressOf(view.value);
  return selected.value ? `#run=${encodeURIComponent(selected.value)}` : "";
}

export function startNavigation(): void {
  applyAddress();
  addEventListener("hashchange", () => {
    const requested = parameterIn(location.hash, "run");
    if (requested && isRun(requested)) select(requested);
    applyAddress();
  });
  effect(() => {
    if (!loaded.value) return;
    const shown = address();
    if (shown && shown !== location.hash) history.replaceState(null, "", shown);
  });
  addEventListener("keydown", (event) => {
    const requested = viewOfKey(event, isField(event.target));
    if (!requested) return;
    event.preventDefault();
    location.hash = addressOf(requested);
    document.getElementById("main")?.focus();
  });
}
