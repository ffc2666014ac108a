import { useState } from "preact/hooks";
import { ApprovalCard } from "../approvals/approval_card.tsx";
import { approvals } from "../approvals/model.ts";
import type { Approval } from "../approvals/wire.ts";
import { CallFailed } from "../base/api.ts";
import { now } from "../base/clock.ts";
import { loaded } from "../base/connection.ts";
import { safeText } from "../base/safe_text.ts";
import { duration, messageOf } from "../base/text.ts";
import { files_to_trust } from "../trust/model.ts";
import { TrustCard } from "../trust/trust_card.tsx";
import { Lines } from "../ui/lines.tsx";
import { answer, questions } from "./model.ts";
import type { Question } from "./wire.ts";

type OpenAsker = (asker: { member?: string | null; task_id: string }) => void;
const askerOf = ({ member, task_id }: Approval) => ({ member, task_id: task_id ?? "" });
/// A permission that is shown as an approval is not shown twice.
const isShownAsApproval = (question: Question) => question.kind === "permission" && approvals.value.some(({ checked, task_id }) => checked === "at answer" && task_id === question.task_id);

function Card({ question, openAsker }: { question: Question; openAsker: OpenAsker }) {
  const [text, setText] = useState("");
  const [sending, setSending] = useState(false);
  const [error, setError] = useState("");
  const permission = question.kind === "permission";
  const options = question.options?.length || !permission ? question.options ?? [] : ["allow", "deny"];
  const send = async (choice: string) => {
    setSending(true);
    setError("");
    try {
      const reply = await answer(question.id, choice);
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
    <li class="card" id={`question-${question.id}`}>
      <p class="card-from">
        <button type="button" class="plain" onClick={() => openAsker(question)}>{question.task_id}</button>
        <span>{permission ? "asks for permission" : "asks"}{Number.isNaN(asked) ? "" : ` · ${duration(now.value - asked)} ago`}</span>
      </p>
      <p class="card-prompt"><Lines text={question.prompt} /></p>
      {options.length > 0 && (
        <div class="card-options" role="group" aria-label="Options">
          {options.map((option) => (
            <button type="button" class="button" key={option} disabled={sending} onClick={() => send(option)}>{safeText(option)}</button>
          ))}
        </div>
      )}
      <form class="card-form" onSubmit={(event) => { event.preventDefault(); if (text.trim()) void send(permission ? `deny: ${text}` : text); }}>
        <input aria-label={`Answer to ${question.task_id}`} placeholder={permission ? "Deny with a reason" : options.length ? "Or type an answer" : "Your answer"}
          value={text} disabled={sending} onInput={(event) => setText(event.currentTarget.value)} />
        <button type="submit" class="button is-quiet" disabled={sending || !text.trim()}>{permission ? "Deny" : "Send"}</button>
      </form>
      {error && <p class="error" role="alert">{error}</p>}
    </li>
  );
}

/// The questions to the user. `openAsker` shows who asks.
export function Inbox({ openAsker }: { openAsker: OpenAsker }) {
  const asked = questions.value.filter((question) => !isShownAsApproval(question));
  return (
    <section class="inbox" aria-label="Questions for you">
      <h2 class="heading">Questions for you</h2>
      <TrustCard />
      {approvals.value.length > 0 && <ul class="cards">{approvals.value.map((approval) => <ApprovalCard key={approval.id} approval={approval} open={() => openAsker(askerOf(approval))} />)}</ul>}
      {asked.length
        ? <ul class="cards">{asked.map((question) => <Card key={question.id} question={question} openAsker={openAsker} />)}</ul>
        : !files_to_trust.value.length && !approvals.value.length && <p class="hint">{loaded.value ? "Nothing needs you." : "Loading…"}</p>}
    </section>
  );
}
