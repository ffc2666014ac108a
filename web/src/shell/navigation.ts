// Keeps the address and the shown view in step, and handles the keyboard shortcuts.
import { batch, effect } from "@preact/signals";
import type { LogEvent } from "../base/event.ts";
import { requested as requested_approval } from "../approvals/model.ts";
import { addressOf, parameterIn, view, viewIn } from "../base/views.ts";
import { requested as requested_question } from "../inbox/model.ts";
import type { Question } from "../inbox/wire.ts";
import { memberAddress } from "../members/texts.ts";
import { member, open, requested_tab, select, tab, tabs, target } from "../roster/model.ts";
import { placeOf, targetIn, viewOfKey } from "./routes.ts";

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/// Shows what an event is about.
export function openEventSubject(event: LogEvent): void {
  const where = placeOf(event);
  if (typeof where === "string") location.hash = addressOf(where);
  else open(where);
}

/// Shows who asked a question.
export const openAsker = (question: Pick<Question, "member" | "task_id">): void => open(question.member ? { by: "member", id: question.member } : { by: "run", id: question.task_id });

/// The address that was last applied or shown. The browser reports a change of the address only later; until then, the new one
/// is not overwritten.
let known_hash = "";

function applyAddress(): void {
  known_hash = location.hash;
  const parameter = (name: Parameters<typeof parameterIn>[1]) => parameterIn(location.hash, name);
  const requested = targetIn(parameter);
  const approval = parameter("approval");
  const question = parameter("question");
  batch(() => {
    view.value = viewIn(location.hash);
    if (approval) requested_approval.value = approval;
    if (question) requested_question.value = question;
    if (requested) {
      select(requested);
      requested_tab.value = parameter("tab") ?? (parameter("thread") ? "thread" : parameter("run") ? "output" : null);
    }
  });
}

/// The address of what is shown; empty as long as that is not known.
function address(): string {
  if (view.value !== "crew") return addressOf(view.value);
  if (!target.value) return addressOf("crew");
  return member.value ? memberAddress(member.value.id, tab.value && tab.value !== tabs.value[0] ? tab.value : "") : "";
}

function showAddress(): void {
  const shown = address();
  if (!shown || shown === known_hash || location.hash !== known_hash) return;
  history.replaceState(null, "", shown);
  known_hash = location.hash;
}

/// From the first moment: a key that is pressed while the page is still loading counts, too.
export function startKeys(): void {
  addEventListener("keydown", (event) => {
    const requested = viewOfKey(event, isField(event.target));
    if (!requested) return;
    event.preventDefault();
    location.hash = addressOf(requested);
    document.getElementById("main")?.focus();
  });
}

export function startNavigation(): void {
  applyAddress();
  addEventListener("hashchange", () => {
    applyAddress();
    showAddress();
  });
  effect(showAddress);
}
