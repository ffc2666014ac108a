// How events change the questions to the user. Pure.
import type { LogEvent } from "../base/event.ts";
import type { Question } from "./wire.ts";

const isPending = (question: Question): boolean => question.status === "pending";
export const isQuestionEvent = (event: LogEvent): boolean => event.type.includes("question");

/// The questions after these events, in order; the same object if none of the events is about questions.
export function applyQuestions(before: ReadonlyMap<string, Question>, events: readonly LogEvent[]): ReadonlyMap<string, Question> {
  let questions: Map<string, Question> | null = null;
  for (const event of events) {
    if (event.type === "state.snapshot") questions = new Map(((event.data.questions ?? []) as Question[]).map((question) => [question.id, question]));
    else if (isQuestionEvent(event)) applyOne(questions ??= new Map(before), event);
  }
  return questions ?? before;
}

function applyOne(questions: Map<string, Question>, event: LogEvent): void {
  const id = String(event.data.id ?? event.data.question_id ?? "");
  if (!id) return;
  const before = questions.get(id);
  const merged = { status: "pending", prompt: "", task_id: event.entity, ...before, ...event.data, id } as Question;
  if (isPending(merged)) questions.set(id, merged);
  else questions.delete(id);
}

/// The unanswered questions, oldest first.
export function pending(questions: ReadonlyMap<string, Question>): Question[] {
  return [...questions.values()].filter(isPending).sort((a, b) => (a.asked_at ?? "").localeCompare(b.asked_at ?? ""));
}
