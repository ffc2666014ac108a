// Signals and actions for questions to the user.
import { computed, signal } from "@preact/signals";
import { post } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { applyQuestions, pending } from "./state.ts";
import type { Question } from "./wire.ts";

const known = signal<ReadonlyMap<string, Question>>(new Map());
/// The question that a link names; it has the focus as soon as it is there.
export const requested = signal("");
export const questions = computed(() => pending(known.value));

export function applyQuestionEvents(events: readonly LogEvent[]): void {
  known.value = applyQuestions(known.peek(), events);
}

export const answer = (id: string, answers: string[]) =>
  post<{ delivered: boolean; delivery_error?: string | null }>(`/questions/${encodeURIComponent(id)}/answer`, { answers });
