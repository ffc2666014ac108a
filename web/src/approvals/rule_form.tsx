import { useState } from "preact/hooks";
import { visibleText } from "../base/safe_text.ts";
import { useSending } from "../ui/sending.ts";
import { approve, deny, makeRule, previewRule } from "./model.ts";
import { mayApprove, patternsIn } from "./state.ts";
import type { Approval, Rule, RuleWish } from "./wire.ts";

const labels = { allow: "Approve and make this rule", ask: "Make this rule", deny: "Deny and make this rule" } as const;

/// Decides not only this one: the user sees what the rule covers before it is made.
export function RuleForm({ approval, confirm, reason }: { approval: Approval; confirm: string; reason: string }) {
  const [wish, setWish] = useState<Omit<RuleWish, "covers">>({ verdict: "allow", for: "session" });
  const [patterns, setPatterns] = useState("");
  const [shown, setShown] = useState<Rule | null>(null);
  const { is_sending, error, send } = useSending();
  const { id } = approval;
  const whole = (): RuleWish => ({ ...wish, covers: patternsIn(patterns) });
  const change = (act: () => void) => { act(); setShown(null); };  // what was shown is what is made
  const make = () => void (!is_sending && send(() => {
    const { verdict, ...rule } = whole();
    if (verdict === "allow") return approve(id, {}, confirm, rule);
    return verdict === "deny" ? deny(id, reason, rule) : makeRule(id, whole());
  }));
  return (
    <details class="rule-form">
      <summary>Decide this from now on</summary>
      <form class="approval-fields" onSubmit={(event) => { event.preventDefault(); if (!is_sending) void send(async () => setShown(await previewRule(id, whole()))); }}>
        <label>The rule
          <select aria-label="The rule" value={wish.verdict} onChange={(event) => change(() => setWish({ ...wish, verdict: event.currentTarget.value as RuleWish["verdict"] }))}>
            <option value="allow">allows it</option><option value="ask">always asks me</option><option value="deny">denies it</option>
          </select>
        </label>
        <label>For
          <select aria-label="For" value={wish.for} onChange={(event) => change(() => setWish({ ...wish, for: event.currentTarget.value as RuleWish["for"] }))}>
            <option value="session">this session</option><option value="project">this project</option>
          </select>
        </label>
        <label>Covers, one pattern in a line (src/**, or npm test *)
          <textarea rows={2} value={patterns} placeholder="exactly this" onInput={(event) => change(() => setPatterns(event.currentTarget.value))} />
        </label>
        <div class="card-options">
          <button type="submit" class="button is-quiet">Show what it covers</button>
        </div>
        <p class="approval-facts" role="status">{shown ? `This rule ${visibleText(shown.coverage)}.` : ""}</p>
        {shown && <div class="card-options"><button type="button" class="button" disabled={wish.verdict === "allow" && !mayApprove(approval, confirm)} onClick={make}>{labels[wish.verdict]}</button></div>}
        {error && <p class="error" role="alert">{visibleText(error)}</p>}
      </form>
    </details>
  );
}
