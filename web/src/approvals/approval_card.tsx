import { useEffect, useRef, useState } from "preact/hooks";
import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { diffLines } from "../trust/state.ts";
import { useSending } from "../ui/sending.ts";
import { approve, ask, deny, hold, requested } from "./model.ts";
import { RuleForm } from "./rule_form.tsx";
import { changesOf, fieldsOf, folded, mayApprove, timeLeft } from "./state.ts";
import type { Approval } from "./wire.ts";

function Shown({ preview, id }: { preview: Approval["preview"]; id: string }) {
  const lines = preview.kind === "diff" && preview.text.startsWith("--- ") ? diffLines(preview.text) : preview.text.replace(/\n$/, "").split("\n").map((text) => ({ kind: "same", text }));
  const { first, rest } = folded(lines);
  const block = (part: typeof first, label: string) => <pre class="trust-diff" tabIndex={0} aria-label={label}>{part.map(({ kind, text }, i) => <span key={i} class={`is-${kind}`}>{safeText(text)}{"\n"}</span>)}</pre>;
  const [is_open, setOpen] = useState(false);  // what is folded is not drawn
  return (
    <>
      {block(first, `What ${id} would do`)}
      {rest.length > 0 && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{rest.length} more lines of {lines.length}</summary>
          {is_open && block(rest, `The rest of what ${id} would do`)}
        </details>
      )}
      {preview.is_cut && <p class="error">There is more than can be shown.</p>}
    </>
  );
}

/// One approval that waits: what it would do, and the person's ways to decide.
export function ApprovalCard({ approval, open }: { approval: Approval; open: () => void }) {
  const [words, setWords] = useState("");
  const [typed_id, setTypedId] = useState("");
  const [typed, setTyped] = useState<Record<string, string>>({});
  const { is_sending, error, send } = useSending();
  const { id, reversible } = approval;
  const set = changesOf(approval, typed);
  const has_changes = Object.keys(set).length > 0;
  const can_ask = approval.checked === "at execution";
  const card = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (requested.value !== id) return;
    card.current?.scrollIntoView({ block: "start" });
    card.current?.focus();
  }, [requested.value, id]);
  const say = (act: (text: string) => Promise<void>) => void send(() => act(words)).then((done) => { if (done) setWords(""); });
  return (
    <li class="card approval" ref={card} tabIndex={-1} id={`approval-${id}`} aria-label={`Approval ${id}`}>
      <p class="card-from">
        <button type="button" class="plain" onClick={open}>{safeText(approval.agent)}</button>
        <span>asks for approval {id} · {timeLeft(approval, now.value)}</span>
      </p>
      <p class="card-prompt">{safeText(approval.what)}</p>
      <p class="approval-facts"><strong class={reversible ? "is-added" : "is-removed"}>{reversible ? "reversible" : "irreversible"}</strong> ({safeText(approval.undo_why)}). {safeText(approval.impact)}</p>
      {approval.reason && <p class="approval-facts">Why: {safeText(approval.reason)}</p>}
      <p class="approval-facts">{safeText(approval.parent_chain.join(" → "))}{approval.task ? ` · ${safeText(approval.task)}` : ""}{approval.checked === "at answer" ? " · checked at answer" : ""}{approval.rule ? ` · you are asked because of your rule ${approval.rule}` : ""}{approval.replaces ? ` · instead of ${approval.replaces}, for something changed` : ""}</p>
      <Shown preview={approval.preview} id={id} />
      {approval.context.map(({ question, answer }, i) => <p key={i} class="approval-facts">You asked: {safeText(question)}<br />{answer === null ? "No answer yet." : safeText(answer)}</p>)}
      {can_ask && fieldsOf(approval).length > 0 && (
        <details>
          <summary>Change it first</summary>
          <div class="approval-fields">
            {fieldsOf(approval).map(({ name, text, hint }) => (
              <label key={name}>{name}
                <textarea rows={Math.min(8, text.split("\n").length)} title={hint} value={typed[name] ?? text} disabled={is_sending} onInput={(event) => setTyped({ ...typed, [name]: event.currentTarget.value })} />
              </label>
            ))}
          </div>
        </details>
      )}
      {!reversible && (
        <label class="approval-confirm">Type {id} to approve what cannot be undone
          <input value={typed_id} disabled={is_sending} autocomplete="off" onInput={(event) => setTypedId(event.currentTarget.value)} />
        </label>
      )}
      <div class="card-options">
        <button type="button" class="button" disabled={is_sending || !mayApprove(approval, typed_id)} onClick={() => void send(() => approve(id, set, typed_id.trim()))}>{has_changes ? "Approve with changes" : "Approve"}</button>
        <button type="button" class="button is-quiet" disabled={is_sending || approval.status === "asking"} onClick={() => void send(() => hold(id, approval.status === "held"))}>{approval.status === "held" ? "Start the clock" : "Hold"}</button>
      </div>
      <form class="card-form" onSubmit={(event) => { event.preventDefault(); say((text) => deny(id, text)); }}>
        <input aria-label={`Reason or question for ${id}`} placeholder={can_ask ? "A reason, or a question" : "A reason"} value={words} disabled={is_sending} onInput={(event) => setWords(event.currentTarget.value)} />
        <button type="submit" class="button is-quiet" disabled={is_sending}>Deny</button>
        {can_ask && <button type="button" class="button is-quiet" disabled={is_sending || !words.trim() || approval.status === "asking"} onClick={() => say((text) => ask(id, text))}>Ask</button>}
      </form>
      <RuleForm approval={approval} confirm={typed_id.trim()} reason={words} />
      {error && <p class="error" role="alert">{error}</p>}
    </li>
  );
}
