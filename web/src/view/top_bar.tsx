import { heard, link } from "../connection.ts";
import { busy_chats, definitions } from "../crew_model.ts";
import { live_count, now, openRun, questions, runs } from "../model.ts";
import { chains, live_sessions, locks, open_work } from "../shared_model.ts";
import { addressOf, view, views, type View } from "../views.ts";
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

const names: Record<View, string> = { runs: "Runs", board: "Board", agents: "Agents", locks: "Locks", handoffs: "Handoffs", chats: "Chats", crew: "Crew" };

function Views() {
  const counts: Record<View, number> = {
    runs: live_count.value, board: open_work.value, agents: live_sessions.value, locks: locks.value.length,
    handoffs: chains.value.reduce((sum, chain) => sum + chain.handoffs.length, 0), chats: busy_chats.value, crew: definitions.value.length,
  };
  return (
    <nav class="views" aria-label="Views">
      {views.map((name, i) => (
        <a key={name} href={addressOf(name)} aria-current={view.value === name ? "page" : undefined} aria-keyshortcuts={String(i + 1)}>
          <kbd aria-hidden="true">{i + 1}</kbd>{names[name]}<span class="views-count">{counts[name] || ""}</span>
        </a>
      ))}
    </nav>
  );
}

export function TopBar() {
  const waiting = questions.value;
  return (
    <header class="top">
      <h1 class="mark">cru</h1>
      <Views />
      <span class="spring" />
      {waiting.length > 0 && (
        <button class="flag" type="button" onClick={() => {
          openRun(waiting[0]!.task_id);
          document.getElementById(`question-${waiting[0]!.id}`)?.querySelector<HTMLElement>("button,input")?.focus();
        }}>
          <span aria-hidden="true">⚑</span> {waiting.length} {waiting.length === 1 ? "needs" : "need"} you
        </button>
      )}
      <p class="tally">
        <b>{live_count.value}</b> running <span aria-hidden="true">·</span> <b>{runs.value.length}</b> {runs.value.length === 1 ? "run" : "runs"}
      </p>
      <LinkState />
    </header>
  );
}
