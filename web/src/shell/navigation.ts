// What is shown follows from the address, and the other way round; keys and events lead to views.
import { batch, effect } from "@preact/signals";
import { loaded } from "../base/connection.ts";
import type { LogEvent } from "../base/event.ts";
import { addressOf, view, viewIn, wordIn } from "../base/views.ts";
import { crew, openChat, pointed_at } from "../crew/model.ts";
import { chatAddress } from "../crew/words.ts";
import { isRun, openRun, select, selected } from "../runs/model.ts";
import { viewOf, viewOfKey } from "./routes.ts";

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/// Goes to what an event is about.
export function openSubject(event: LogEvent): void {
  const where = viewOf(event);
  if (where === "chats") location.hash = chatAddress(event.entity, typeof event.data.task_id === "string" ? event.data.task_id : "");
  else if (where && where !== "runs") location.hash = addressOf(where);
  else openRun(event.entity);
}

function takeAddress(): void {
  const { hash } = location;
  const wanted_chat = wordIn(hash, "chat");
  batch(() => {
    view.value = viewIn(hash);
    if (wanted_chat) openChat(wanted_chat);
    pointed_at.value = wordIn(hash, "subagent");
  });
}

function address(): string {
  if (view.value === "chats" && crew.value.open) return chatAddress(crew.value.open);
  if (view.value !== "runs") return addressOf(view.value);
  return selected.value ? `#run=${encodeURIComponent(selected.value)}` : "";
}

export function startNavigation(): void {
  takeAddress();
  addEventListener("hashchange", () => {
    const wanted = wordIn(location.hash, "run");
    if (wanted && isRun(wanted)) select(wanted);
    takeAddress();
  });
  effect(() => {
    if (!loaded.value) return;
    const shown = address();
    if (shown && shown !== location.hash) history.replaceState(null, "", shown);
  });
  addEventListener("keydown", (event) => {
    const wanted = viewOfKey(event, isField(event.target));
    if (!wanted) return;
    event.preventDefault();
    location.hash = addressOf(wanted);
    document.getElementById("main")?.focus();
  });
}
