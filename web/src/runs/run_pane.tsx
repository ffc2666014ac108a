import { useEffect } from "preact/hooks";
import { loaded } from "../base/connection.ts";
import { oneLine } from "../base/text.ts";
import { ConfirmButton } from "../ui/confirm_button.tsx";
import { Facts } from "../ui/facts.tsx";
import { kill, runWith, select, selected } from "./model.ts";
import { Output } from "./output.tsx";
import { isActive } from "./state.ts";
import { command } from "./texts.ts";

/// A run with its output.
export function RunPane({ id }: { id: string }) {
  useEffect(() => {
    select(id);
    return () => select(null);
  }, [id]);
  const at = runWith(id);
  if (!at || selected.value !== id) return <p class="hint">{loaded.value && !at ? "The record of this run has been deleted." : "Loading…"}</p>;
  return (
    <>
      <header class="pane-head">
        <div class="pane-title">
          <p class="pane-command"><code>{command(at)}</code></p>
          {isActive(at) && <ConfirmButton key={id} label="Kill" confirm_label="Kill it now" act={() => kill(id)} />}
        </div>
        {at.error_detail && <p class="pane-why">{oneLine(at.error_detail)}</p>}
        <Facts of={[["pid", at.pid && isActive(at) ? String(at.pid) : ""], ["branch", at.branch], ["folder", at.worktree], ["confined", at.confined ?? ""]]} />
      </header>
      <Output />
    </>
  );
}

/// The newest line of a run's output, if it is known.
export function LastLine({ id }: { id: string }) {
  const line = runWith(id)?.last_line;
  return line ? <span class="member-line is-output">{line}</span> : null;
}
