import { useState } from "preact/hooks";
import { visibleText } from "../base/safe_text.ts";
import { diffLines } from "../trust/state.ts";
import { folded } from "./state.ts";
import type { Approval } from "./wire.ts";

/// What would be done: a difference, a command, a statement. `what` names it for screen readers.
export function Shown({ preview, what }: { preview: Approval["preview"]; what: string }) {
  const lines = preview.kind === "diff" && preview.text.startsWith("--- ") ? diffLines(preview.text) : preview.text.replace(/\n$/, "").split("\n").map((text) => ({ kind: "same", text }));
  const { first, rest } = folded(lines);
  const block = (part: typeof first, label: string) => <pre class="trust-diff" tabIndex={0} aria-label={label}>{part.map(({ kind, text }, i) => <span key={i} class={`is-${kind}`}>{visibleText(text) || "\u00a0"}</span>)}</pre>;
  const [is_open, setOpen] = useState(false);  // what is folded is not drawn
  return (
    <>
      {block(first, `What ${what} would do`)}
      {rest.length > 0 && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{rest.length} more lines of {lines.length}</summary>
          {is_open && block(rest, `The rest of what ${what} would do`)}
        </details>
      )}
      {preview.is_cut && <p class="error">There is more than can be shown.</p>}
    </>
  );
}
