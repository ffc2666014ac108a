import { useEffect, useState } from "preact/hooks";
import { loaded } from "../base/connection.ts";
import { oneLine } from "../base/text.ts";
import { ConfirmButton } from "../ui/confirm_button.tsx";
import { Facts } from "../ui/facts.tsx";
import { is_raw, kill, readRun, runWith, select, selected, showRaw } from "./model.ts";
import { Output } from "./output.tsx";
import { isActive, printsWork } from "./state.ts";
import { TerminalPane } from "./terminal_pane.tsx";
import { command } from "./texts.ts";

function Toggle({ label, is_on, set }: { label: string; is_on: boolean; set: (is_on: boolean) => void }) {
  return <label class="toggle"><input type="checkbox" checked={is_on} onChange={(event) => set(event.currentTarget.checked)} />{label}</label>;
}

/// A run with its output: a terminal if it has one, else lines.
export function RunPane({ id }: { id: string }) {
  useEffect(() => {
    select(id);
    return () => select(null);
  }, [id]);
  const at = runWith(id);
  useEffect(() => { if (at && at.pty === undefined) void readRun(id); }, [id, !at, at?.pty]);
  const [as_text, setAsText] = useState(false);
  const [trouble, setTrouble] = useState("");
  if (!at || selected.value !== id) return <p class="hint">{loaded.value && !at ? "The record of this run has been deleted." : "Loading…"}</p>;
  return (
    <>
      <header class="pane-head">
        <div class="pane-title">
          <p class="pane-command"><code>{command(at)}</code></p>
          {at.pty && !trouble && <Toggle label="As text" is_on={as_text} set={setAsText} />}
          {printsWork(at) && <Toggle label="Raw" is_on={is_raw.value} set={showRaw} />}
          {isActive(at) && <ConfirmButton key={id} label="Kill" confirm_label="Kill it now" act={() => kill(id)} />}
        </div>
        {at.waits_for && isActive(at) && (/disk|output file/.test(at.waits_for)
          ? <p class="pane-why">It waits, because {oneLine(at.waits_for)}. Free some space, or kill it.</p>
          : <p class="pane-why">It waits: {oneLine(at.waits_for)}.</p>)}
        {at.waits_for && !isActive(at) && <p class="pane-why">Its agent resumes automatically after this: {oneLine(at.waits_for)}.</p>}
        {at.error_detail && <p class="pane-why">{oneLine(at.error_detail)}</p>}
        {trouble && <p class="pane-why">The terminal cannot be shown, so its output is shown as text: {oneLine(trouble)}</p>}
        <Facts of={[["pid", at.pid && isActive(at) ? String(at.pid) : ""], ["branch", at.branch], ["folder", at.worktree], ["confined", at.confined ?? ""]]} />
      </header>
      {at.pty && !as_text && !trouble ? <TerminalPane key={id} id={id} failed={setTrouble} /> : <Output />}
    </>
  );
}

/// The newest line of a run's output, if it is known.
export function LastLine({ id }: { id: string }) {
  const line = runWith(id)?.last_line;
  return line ? <span class="member-line is-output">{line}</span> : null;
}
