import { useRef } from "preact/hooks";
import { visibleText } from "../base/safe_text.ts";
import { ConfirmButton } from "../ui/confirm_button.tsx";
import { useKeptFocus } from "../ui/keep_focus.ts";
import { revokeRule, rules } from "./model.ts";
import type { Rule } from "./wire.ts";

function RuleCard({ rule: { id, coverage } }: { rule: Rule }) {
  const card = useRef<HTMLLIElement>(null);
  useKeptFocus(card);
  return (
    <li class="card rule" ref={card} tabIndex={-1} aria-label={`Rule ${id}`}>
      <p class="approval-facts"><strong>{visibleText(id)}</strong> {visibleText(coverage)}</p>
      <div class="card-options"><ConfirmButton label="Revoke" confirm_label="Revoke it" about={id} act={() => revokeRule(id)} /></div>
    </li>
  );
}

/// The rules that decide by themselves, each with what it covers.
export function RuleList() {
  if (!rules.value.length) return null;
  return (
    <details class="rule-list">
      <summary>{rules.value.length === 1 ? "1 rule decides" : `${rules.value.length} rules decide`} for you</summary>
      <ul class="cards">
        {rules.value.map((rule) => <RuleCard key={rule.id} rule={rule} />)}
      </ul>
    </details>
  );
}
