import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { oneLine } from "../base/text.ts";
import { moveByKey } from "../ui/arrow_keys.ts";
import { Badge } from "../ui/badge.tsx";
import { filter, roster, selected, target_tile, world } from "./model.ts";
import type { AgentRow } from "./state.ts";
import { behind, errorOf, positionText, sinceText } from "./texts.ts";

const max_shown = 200;
const filtered_from = 8;

function Row({ agent }: { agent: AgentRow }) {
  const at = now.value + world.value.offset;
  const error = errorOf(agent);
  return (
    <li>
      <button type="button" class={`run is-${agent.state}`} aria-current={agent.agent_id === selected.value ? "true" : undefined}
        onClick={() => { selected.value = agent.agent_id; target_tile.value = null; }}>
        <span class="run-id">{safeText(agent.name)}</span>
        <span class="run-since">{sinceText(agent, at)}</span>
        <Badge status={agent.state} />
        <span class="run-line">{positionText(agent, at)}</span>
        <span class="run-line is-facts">{[agent.role, agent.mind].filter(Boolean).map((fact) => safeText(fact!)).join(" · ")}</span>
        {behind(agent) && <span class="life-line is-late">{behind(agent)}</span>}
        {agent.current_task && <span class="life-line">task: {oneLine(agent.current_task, 120)}</span>}
        {error && <span class="life-line is-error"><span aria-hidden="true">✗ </span>{error}</span>}
        {agent.last_message && <span class="life-line is-words">“{oneLine(agent.last_message, 160)}”</span>}
      </button>
    </li>
  );
}

/// The list of live agents, with all the information of the map.
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
      {all.length > 0 && <ul class="run-list" onKeyDown={moveByKey}>{all.slice(0, max_shown).map((agent) => <Row key={agent.agent_id} agent={agent} />)}</ul>}
      {all.length > max_shown && <p class="hint">{all.length - max_shown} more. Use the filter to find them.</p>}
    </nav>
  );
}
