// How events change the questions to the user. Pure.
import type { Approval } from "../approvals/wire.ts";
import type { LogEvent } from "../base/event.ts";
import { visibleText } from "../base/safe_text.ts";
import type { Part, Question } from "./wire.ts";

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

/// What is answered in a form: several questions, or several options of one. Otherwise none, and the options are buttons.
export function partsToAnswer(question: Question): Part[] {
  const parts = question.questions ?? [];
  return parts.length > 1 || parts.some(({ takes_several }) => takes_several) ? parts : [];
}

/// What the asker says of an option of its only question.
export const descriptionOf = (question: Question, label: string): string =>
  question.questions?.[0]?.options.find((option) => option.label === label)?.description ?? "";

/// The choice after a click on an option: the only one, or one more or less of several, in the order of the options.
export function toggled(part: Part, chosen: readonly string[], label: string): string[] {
  if (!part.takes_several) return [label];
  const next = chosen.includes(label) ? chosen.filter((each) => each !== label) : [...chosen, label];
  return part.options.map((option) => option.label).filter((each) => next.includes(each));
}

/// The answer to each part: what is typed, else what is chosen; null while one has neither.
export function answersOf(parts: readonly Part[], chosen: readonly (readonly string[])[], typed: readonly string[]): string[] | null {
  const answers = parts.map((_, n) => typed[n]?.trim() || (chosen[n] ?? []).join(", "));
  return answers.every(Boolean) ? answers : null;
}

/// A permission that is shown as an approval is not shown twice.
export const isShownAsApproval = (question: Question, approvals: readonly Approval[]): boolean =>
  question.kind === "permission" && approvals.some(({ question_id }) => question_id === question.id);

/// Who asks, where no member is known for it: a run by its id, and a session outside of any run by its name.
export const nameOf = ({ task_id }: Pick<Question, "task_id">): string => visibleText(task_id.replace(/^session:/, ""));

export interface Waiting { id: string; kind: "approval" | "question"; title: string; text: string }

const cut = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/// Everything that waits for the user, in words for a notification.
export function waitingOf(questions: readonly Question[], approvals: readonly Approval[]): Waiting[] {
  return [
    ...approvals.map(({ id, agent, what }): Waiting => ({ id, kind: "approval", title: `${visibleText(agent)} needs your approval ${id}`, text: visibleText(what) })),
    ...questions.filter(({ kind }) => kind !== "permission").map((question): Waiting => ({ id: question.id, kind: "question", title: `${nameOf(question)} asks you`, text: cut(visibleText(question.prompt)) })),
  ];
}

/// What was not there before.
export const news = (known: ReadonlySet<string>, waiting: readonly Waiting[]): Waiting[] => waiting.filter(({ id }) => !known.has(id));
