import { heard, link } from "../connection.ts";
import { live_count, now, questions, runs, select } from "../model.ts";
import { duration } from "../words.ts";

function LinkState() {
  const at = link.value;
  const text =
    at.kind === "live" ? "live"
    : at.kind === "connecting" ? "connecting"
    : at.kind === "refused" ? "refused"
    : `stale ${duration(now.value - at.since)}`;
  return (
    <span class={`link is-${at.kind}`} role="status" aria-live={at.kind === "stale" ? "off" : "polite"}
      title={`last heard ${duration(now.value - heard.value)} ago`} data-testid="link">
      <span class="link-dot" aria-hidden="true" />{text}
    </span>
  );
}

export function TopBar() {
  const waiting = questions.value;
  return (
    <header class="top">
      <h1 class="mark">cru</h1>
      <LinkState />
      <p class="tally">
        <b>{live_count.value}</b> running <span aria-hidden="true">·</span> <b>{runs.value.length}</b> {runs.value.length === 1 ? "run" : "runs"}
      </p>
      {waiting.length > 0 && (
        <button class="flag" type="button" onClick={() => {
          select(waiting[0]!.task_id);
          document.getElementById(`question-${waiting[0]!.id}`)?.querySelector<HTMLElement>("button,input")?.focus();
        }}>
          <span aria-hidden="true">⚑</span> {waiting.length} {waiting.length === 1 ? "needs" : "need"} you
        </button>
      )}
    </header>
  );
}
