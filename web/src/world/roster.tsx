import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { oneLine } from "../base/text.ts";
import { move } from "../ui/arrow_keys.ts";
import { Badge } from "../ui/badge.tsx";
import { aimed_at, chosen, filter, roster, world } from "./model.ts";
import type { AgentRow } from "./state.ts";
import { behind, placeText, sinceText, troubleOf } from "./words.ts";

const most_shown = 200;
const filtered_from = 8;

function Row({ agent }: { agent: AgentRow }) {
  const at = now.value + world.value.offset;
  const trouble = troubleOf(agent);
  return (
    <li>
      <button type="button" class={`run is-${agent.state}`} aria-current={agent.agent_id === chosen.value ? "true" : undefined}
        onClick={() => { chosen.value = agent.agent_id; aimed_at.value = null; }}>
        <span class="run-id">{safeText(agent.name)}</span>
        <span class="run-since">{sinceText(agent, at)}</span>
        <Badge status={agent.state} />
        <span class="run-line">{placeText(agent, at)}</span>
        <span class="run-line is-facts">{[agent.role, agent.mind].filter(Boolean).map((fact) => safeText(fact!)).join(" · ")}</span>
        {behind(agent) && <span class="life-line is-late">{behind(agent)}</span>}
        {agent.current_task && <span class="life-line">task: {oneLine(agent.current_task, 120)}</span>}
        {trouble && <span class="life-line is-troubled"><span aria-hidden="true">✗ </span>{trouble}</span>}
        {agent.last_message && <span class="life-line is-words">“{oneLine(agent.last_message, 160)}”</span>}
      </button>
    </li>
  );
}

/// Who lives here: all that the map shows, in words.
export function Roster() {
  const all = roster.value;
  const { loaded, agents } = world.value;
  return (
    <nav class="runs" aria-label="Live agents">
      <div class="list-head"><h2 class="heading">Live agents</h2></div>
      {(agents.size >= filtered_from || filter.value) && (
        <p class="life-filter"><input type="search" aria-label="Filter live agents" placeholder="Filter" value={filter.value} onInput={(event) => { filter.value = event.currentTarget.value; }} /></p>
      )}
      {!all.length && <p class="hint">{!loaded ? "Loading…" : agents.size ? "No matches." : "No live agents yet."}</p>}
      {all.length > 0 && <ul class="run-list" onKeyDown={move}>{all.slice(0, most_shown).map((agent) => <Row key={agent.agent_id} agent={agent} />)}</ul>}
      {all.length > most_shown && <p class="hint">{all.length - most_shown} more. Use the filter to find them.</p>}
    </nav>
  );
}
