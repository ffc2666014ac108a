import { useEffect, useRef, useState } from "preact/hooks";
import { ApprovalCard } from "../approvals/approval_card.tsx";
import { approvals } from "../approvals/model.ts";
import { RequestedApproval } from "../approvals/requested.tsx";
import { RuleList } from "../approvals/rule_list.tsx";
import type { Approval } from "../approvals/wire.ts";
import { CallFailed } from "../base/api.ts";
import { now } from "../base/clock.ts";
import { loaded } from "../base/connection.ts";
import { visibleText } from "../base/safe_text.ts";
import { duration, messageOf } from "../base/text.ts";
import { memberWith } from "../members/model.ts";
import { files_to_trust } from "../trust/model.ts";
import { TrustCard } from "../trust/trust_card.tsx";
import { useKeptFocus } from "../ui/keep_focus.ts";
import { Lines } from "../ui/lines.tsx";
import { answer, questions, requested } from "./model.ts";
import { NotificationsButton } from "./notifications.tsx";
import { answersOf, descriptionOf, isShownAsApproval, nameOf, partsToAnswer, toggled } from "./state.ts";
import type { Part, Question } from "./wire.ts";

type OpenAsker = (asker: { member?: string | null; task_id: string }) => void;
const askerOf = ({ member, task_id }: Approval) => ({ member, task_id: task_id ?? "" });

/// Several questions that are asked at once: each with its options and a line for other words, sent together.
function PartsForm({ parts, send }: { parts: Part[]; send: (answers: string[]) => void }) {
  const [chosen, setChosen] = useState<string[][]>([]);
  const [typed, setTyped] = useState<string[]>([]);
  const answers = answersOf(parts, chosen, typed);
  const put = <T,>(list: T[], n: number, value: T): T[] => parts.map((_, at) => (at === n ? value : list[at]) as T);
  return (
    <form class="card-parts" onSubmit={(event) => { event.preventDefault(); if (answers) send(answers); }}>
      {parts.map((part, n) => (
        <fieldset class="card-part" key={n}>
          <legend class="card-prompt">{parts.length > 1 && `${n + 1}. `}<Lines text={part.prompt} /></legend>
          {part.options.map(({ label, description }, at) => (
            <label class="card-choice" key={at}>
              <input type={part.takes_several ? "checkbox" : "radio"} name={`part-${n}`} checked={(chosen[n] ?? []).includes(label)}
                onChange={() => setChosen(put(chosen, n, toggled(part, chosen[n] ?? [], label)))} />
              <span>{at + 1}) {visibleText(label)}{description && <small> — {visibleText(description)}</small>}</span>
            </label>
          ))}
          <input class="card-words" aria-label={`Answer to: ${visibleText(part.prompt)}`} placeholder={part.options.length ? "Or type an answer" : "Your answer"}
            value={typed[n] ?? ""} onInput={(event) => setTyped(put(typed, n, event.currentTarget.value))} />
        </fieldset>
      ))}
      <button type="submit" class="button" disabled={!answers}>{parts.length > 1 ? "Send all answers" : "Send"}</button>
    </form>
  );
}

function Card({ question, openAsker }: { question: Question; openAsker: OpenAsker }) {
  const [text, setText] = useState("");
  const [sending, setSending] = useState(false);
  const [error, setError] = useState("");
  const permission = question.kind === "permission";
  const options = question.options?.length || !permission ? question.options ?? [] : ["allow", "deny"];
  const parts = partsToAnswer(question);
  const asker = memberWith({ by: "member", id: question.member ?? "" });
  const card = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (requested.value !== question.id) return;
    card.current?.scrollIntoView({ block: "start" });
    card.current?.focus();
  }, [requested.value, question.id]);
  useKeptFocus(card);
  // Nothing is disabled meanwhile: that would take the focus away from whoever has it.
  const send = async (...answers: string[]) => {
    if (sending) return;
    setSending(true);
    setError("");
    try {
      const reply = await answer(question.id, answers);
      if (!reply.delivered) setError(`The answer was saved but not delivered: ${reply.delivery_error ?? "the run is not reading its input"}`);
    } catch (error) {
      if (error instanceof CallFailed && error.status === 409 && !/withdrawn/.test(error.message)) setError("This question has already been answered.");
      else setError(messageOf(error));
    } finally {
      setSending(false);
    }
  };
  const asked = Date.parse(question.asked_at ?? "");
  return (
    <li class="card" ref={card} tabIndex={-1} id={`question-${question.id}`} aria-busy={sending}>
      <p class="card-from">
        <button type="button" class="plain" onClick={() => openAsker(question)}>{asker ? visibleText(asker.name) : nameOf(question)}</button>
        <span>{asker?.parent ? `child of ${visibleText(asker.parent)} · ` : ""}{permission ? "asks for permission" : "asks"}{Number.isNaN(asked) ? "" : ` · ${duration(now.value - asked)} ago`}</span>
      </p>
      {asker?.doing && <p class="approval-facts">Task: {visibleText(asker.doing)}</p>}
      {parts.length ? <PartsForm parts={parts} send={(answers) => void send(...answers)} /> : <>
        <p class="card-prompt"><Lines text={question.prompt} /></p>
        {options.length > 0 && (
          <div class="card-options" role="group" aria-label="Options">
            {options.map((option) => (
              <button type="button" class="button" key={option} onClick={() => send(option)}>{visibleText(option)}{descriptionOf(question, option) && <small class="card-about"> — {visibleText(descriptionOf(question, option))}</small>}</button>
            ))}
          </div>
        )}
        <form class="card-form" onSubmit={(event) => { event.preventDefault(); if (text.trim()) void send(permission ? `deny: ${text}` : text); }}>
          <input aria-label={`Answer to ${nameOf(question)}`} placeholder={permission ? "Deny with a reason" : options.length ? "Or type an answer" : "Your answer"}
            value={text} onInput={(event) => setText(event.currentTarget.value)} />
          <button type="submit" class="button is-quiet" disabled={!text.trim()}>{permission ? "Deny" : "Send"}</button>
        </form>
      </>}
      {error && <p class="error" role="alert">{visibleText(error)}</p>}
    </li>
  );
}

/// What waits for the user: approvals, files to trust and questions. `openAsker` shows who asks.
export function Inbox({ openAsker }: { openAsker: OpenAsker }) {
  const asked = questions.value.filter((question) => !isShownAsApproval(question, approvals.value));
  return (
    <section class="inbox" tabIndex={-1} aria-label="Waiting for you">
      <h2 class="heading">Waiting for you</h2>
      <RequestedApproval />
      <TrustCard />
      {approvals.value.length > 0 && <ul class="cards">{approvals.value.map((approval) => <ApprovalCard key={approval.id} approval={approval} open={() => openAsker(askerOf(approval))} />)}</ul>}
      {asked.length
        ? <ul class="cards">{asked.map((question) => <Card key={question.id} question={question} openAsker={openAsker} />)}</ul>
        : !files_to_trust.value.length && !approvals.value.length && <p class="hint">{loaded.value ? "Nothing needs you." : "Loading…"}</p>}
      <RuleList />
      <NotificationsButton />
    </section>
  );
}
