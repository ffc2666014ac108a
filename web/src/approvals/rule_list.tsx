import { safeText } from "../base/safe_text.ts";
import { ConfirmButton } from "../ui/confirm_button.tsx";
import { revokeRule, rules } from "./model.ts";

/// The rules that decide by themselves, each with what it covers.
export function RuleList() {
  if (!rules.value.length) return null;
  return (
    <details class="rule-list">
      <summary>{rules.value.length === 1 ? "1 rule decides" : `${rules.value.length} rules decide`} for you</summary>
      <ul class="cards">
        {rules.value.map(({ id, coverage }) => (
          <li key={id} class="card rule" aria-label={`Rule ${id}`}>
            <p class="approval-facts"><strong>{safeText(id)}</strong> {safeText(coverage)}</p>
            <div class="card-options"><ConfirmButton label="Revoke" confirm_label="Revoke it" about={id} act={() => revokeRule(id)} /></div>
          </li>
        ))}
      </ul>
    </details>
  );
}
