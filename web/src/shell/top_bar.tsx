import { now } from "../base/clock.ts";
import { last_message_at, link } from "../base/connection.ts";
import { duration } from "../base/text.ts";
import { addressOf, view, views, type View } from "../base/views.ts";
import { busy_chats } from "../crew/model.ts";
import { definitions } from "../definitions/model.ts";
import { chains } from "../handoffs/model.ts";
import { questions } from "../inbox/model.ts";
import { locks } from "../locks/model.ts";
import { members } from "../roster/model.ts";
import { active_count, openRun, runs } from "../runs/model.ts";
import { connected_sessions } from "../sessions/model.ts";
import { LinkState } from "../ui/link_state.tsx";
import { open_work } from "../work/model.ts";
import { live_agents } from "../world/model.ts";

const names: Record<View, string> = { runs: "Runs", board: "Board", agents: "Agents", locks: "Locks", handoffs: "Handoffs", chats: "Chats", crew: "Crew", world: "World", everybody: "Everybody" };

function Views() {
  const counts: Record<View, number> = {
    runs: active_count.value, board: open_work.value, agents: connected_sessions.value, locks: locks.value.length,
    handoffs: chains.value.reduce((sum, chain) => sum + chain.handoffs.length, 0), chats: busy_chats.value, crew: definitions.value.length, world: live_agents.value, everybody: members.value.length,
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
      <span class="spacer" />
      {waiting.length > 0 && (
        <button class="flag" type="button" onClick={() => {
          openRun(waiting[0]!.task_id);
          document.getElementById(`question-${waiting[0]!.id}`)?.querySelector<HTMLElement>("button,input")?.focus();
        }}>
          <span aria-hidden="true">⚑</span> {waiting.length} {waiting.length === 1 ? "needs" : "need"} you
        </button>
      )}
      <p class="tally">
        <b>{active_count.value}</b> running <span aria-hidden="true">·</span> <b>{runs.value.length}</b> {runs.value.length === 1 ? "run" : "runs"}
      </p>
      <LinkState at={link.value} id="link" title={`last message from the daemon ${duration(now.value - last_message_at.value)} ago`} />
    </header>
  );
}
