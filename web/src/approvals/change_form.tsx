import { useRef } from "preact/hooks";
import { visibleText } from "../base/safe_text.ts";
import { useSending } from "../ui/sending.ts";
import { preview } from "./model.ts";
import { Shown } from "./shown.tsx";
import { changesOf, fieldsOf, undoText } from "./state.ts";
import type { Approval } from "./wire.ts";

/// The tool's input as a form. What the changes would do is shown before they can be approved: `seen` is what was shown.
export function ChangeForm({ approval, typed, seen, change, see }: {
  approval: Approval; typed: Readonly<Record<string, string>>; seen: Approval | null;
  change: (name: string, text: string) => void; see: (shown: Approval) => void;
}) {
  const { is_sending, error, send } = useSending();
  const set = changesOf(approval, typed);
  const fields = fieldsOf(approval);
  const latest = useRef(set);
  latest.current = set;
  if (!fields.length) return null;
  const show = () => void (!is_sending && send(async () => {
    const shown = await preview(approval.id, set);
    if (JSON.stringify(latest.current) === JSON.stringify(set)) see(shown);  // not what was typed meanwhile
  }));
  return (
    <details>
      <summary>Change it first</summary>
      <form class="approval-fields" onSubmit={(event) => { event.preventDefault(); show(); }}>
        {fields.map(({ name, text, hint }) => (
          <label key={name}>{name}
            <textarea rows={Math.min(8, text.split("\n").length)} title={hint} value={typed[name] ?? text} onInput={(event) => change(name, event.currentTarget.value)} />
          </label>
        ))}
        {Object.keys(set).length > 0 && <div class="card-options"><button type="submit" class="button is-quiet">Show what it would do</button></div>}
        <div role="status">
          {seen && <p class="approval-facts">With these changes it would {visibleText(seen.what)}; <strong class={seen.reversible ? "is-added" : "is-removed"}>{undoText(seen)}</strong>. {visibleText(seen.impact)}</p>}
        </div>
        {seen && <Shown preview={seen.preview} what={`${approval.id} with these changes`} />}
        {error && <p class="error" role="alert">{visibleText(error)}</p>}
      </form>
    </details>
  );
}
