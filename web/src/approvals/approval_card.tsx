import { useEffect, useRef, useState } from "preact/hooks";
import { now } from "../base/clock.ts";
import { visibleText } from "../base/safe_text.ts";
import { useKeptFocus } from "../ui/keep_focus.ts";
import { useSending } from "../ui/sending.ts";
import { ChangeForm } from "./change_form.tsx";
import { approve, ask, deny, hold, requested } from "./model.ts";
import { RuleForm } from "./rule_form.tsx";
import { Shown } from "./shown.tsx";
import { canBeAsked, changesOf, descentOf, mayApprove, timeLeft, undoText } from "./state.ts";
import type { Approval } from "./wire.ts";

/// One approval that waits: what it would do, and the person's ways to decide.
export function ApprovalCard({ approval, open }: { approval: Approval; open: () => void }) {
  const [words, setWords] = useState("");
  const [typed_id, setTypedId] = useState("");
  const [typed, setTyped] = useState<Record<string, string>>({});
  const [seen, see] = useState<Approval | null>(null);  // with the changes, as it was shown
  const { is_sending, error, field, send } = useSending();
  const { id, reversible } = approval;
  // A change may make of it what cannot be undone.
  const needs_id = field === "confirm" || !(seen ?? approval).reversible;
  useEffect(() => { if (field === "digest") see(null); }, [field]);  // what was shown does not hold any more
  const set = changesOf(approval, typed);
  const has_changes = Object.keys(set).length > 0;
  const can_ask = canBeAsked(approval);
  const card = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (requested.value !== id) return;
    card.current?.scrollIntoView({ block: "start" });
    card.current?.focus();
  }, [requested.value, id]);
  useKeptFocus(card);
  // Nothing is disabled while it is sent: that would take the focus away from whoever has it.
  const act = async (request: () => Promise<void>) => !is_sending && await send(request);
  const askAbout = async () => {
    if (!(await act(() => ask(id, words)))) return;
    setWords("");
    card.current?.focus();  // the answer will be here; the button has nothing to send any more
  };
  return (
    <li class="card approval" ref={card} tabIndex={-1} id={`approval-${id}`} aria-label={`Approval ${id}`} aria-busy={is_sending}>
      <p class="card-from">
        <button type="button" class="plain" onClick={open}>{visibleText(approval.asker ?? approval.agent)}</button>
        <span>{visibleText(descentOf(approval))} · asks for approval {id} · {timeLeft(approval, now.value)}</span>
      </p>
      {approval.task && <p class="approval-facts">Task: {visibleText(approval.task)}</p>}
      <p class="card-prompt">{visibleText(approval.what)}</p>
      <p class="approval-facts"><strong class={reversible ? "is-added" : "is-removed"}>{undoText(approval)}</strong> ({visibleText(approval.undo_why)}). {visibleText(approval.impact)}</p>
      {approval.reason && <p class="approval-facts">Why: {visibleText(approval.reason)}</p>}
      {approval.checked === "at answer" && <p class="approval-facts">Checked when you answer: the program itself carries it out.</p>}
      {approval.why_asked && <p class="approval-facts">You decide: {visibleText(approval.why_asked)}</p>}
      {approval.replaces && <p class="approval-facts">It is asked instead of {approval.replaces}, because something changed.</p>}
      <Shown preview={approval.preview} what={id} />
      {approval.context.map(({ question, answer }, i) => <p key={i} class="approval-facts">You asked: {visibleText(question)}<br />{answer === null ? "No answer yet." : visibleText(answer)}</p>)}
      <ChangeForm approval={approval} typed={typed} seen={seen} see={see} change={(name, text) => { setTyped({ ...typed, [name]: text }); see(null); }} />
      <div class="approval-actions">
        {needs_id && (
          <label class="approval-confirm">Type {id} to approve it: {reversible ? "with these changes it cannot be undone" : undoText(approval)}
            <input value={typed_id} autocomplete="off" onInput={(event) => setTypedId(event.currentTarget.value)} />
          </label>
        )}
        <div class="card-options">
          <button type="button" class="button" disabled={(has_changes && !seen) || !mayApprove({ ...approval, reversible: !needs_id }, typed_id)} onClick={() => void act(() => approve(id, set, typed_id.trim(), { digest: seen?.digest }))}>{has_changes ? "Approve with changes" : "Approve"}</button>
          <button type="button" class="button is-quiet" disabled={approval.status === "asking"} onClick={() => void act(() => hold(id, approval.status === "held"))}>{approval.status === "held" ? "Release" : "Hold"}</button>
        </div>
        {has_changes && !seen && <p class="approval-facts">Look at what your changes would do before you approve them.</p>}
        {/* Enter decides nothing: who typed a question must not have denied. */}
        <form class="card-form" onSubmit={(event) => event.preventDefault()}>
          <input aria-label={`Reason or question for ${id}`} placeholder={can_ask ? "A reason, or a question" : "A reason"} value={words} onInput={(event) => setWords(event.currentTarget.value)} />
          <button type="button" class="button is-quiet" onClick={() => void act(() => deny(id, words))}>Deny</button>
          {can_ask && <button type="button" class="button is-quiet" disabled={!words.trim() || approval.status === "asking"} onClick={() => void askAbout()}>Ask</button>}
        </form>
      </div>
      <RuleForm approval={approval} confirm={typed_id.trim()} reason={words} />
      {error && <p class="error" role="alert">{visibleText(error)}</p>}
    </li>
  );
}
