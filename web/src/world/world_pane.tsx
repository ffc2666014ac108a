import { useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { LinkState } from "../ui/link_state.tsx";
import { useSending } from "../ui/sending.ts";
import { Sheet } from "../ui/sheet.tsx";
import { LifeCard } from "./life_card.tsx";
import { LifeForm } from "./life_form.tsx";
import { chosen_agent, enter, is_inside, leave, world, world_link } from "./model.ts";
import { Notes } from "./notes.tsx";
import { SayForm } from "./say_form.tsx";
import { WorldMap } from "./world_map.tsx";

/// "3 live, 1 thinking, 1 with errors"
function tally(): string {
  const all = [...world.value.agents.values()];
  const count = (word: string, number: number) => (number ? `, ${number} ${word}` : "");
  return `${all.length} live${count("thinking", all.filter(({ state }) => state === "thinking").length)}${count("speaking", all.filter(({ state }) => state === "speaking").length)}${count("with errors", all.filter(({ error, stuck }) => error || stuck).length)}`;
}

/// The live agents: the map, the one that was chosen, and what is said.
export function WorldPane() {
  const [is_spawning, spawn] = useState(false);
  const [warning, setWarning] = useState("");
  const { is_sending, trouble, send } = useSending();
  const { loaded, agents, warning: layout_warning } = world.value;
  const is_away = world_link.value.kind === "stale" && !loaded;
  const is_empty = !agents.size && !is_inside.value;
  const chosen = chosen_agent.value;
  return (
    <Sheet title="World" count={tally()} loaded={loaded} trouble={is_away ? "the daemon does not respond; retrying" : ""} is_empty={false} nothing=""
      actions={(
        <>
          <LinkState at={world_link.value} id="world-link" />
          <button type="button" class="button" disabled={is_sending} onClick={() => { void send(() => (is_inside.value ? leave() : enter())); }}>{is_inside.value ? "Leave" : "Join"}</button>
          <button type="button" class="button" aria-expanded={is_spawning} onClick={() => { setWarning(""); spawn(!is_spawning); }}>Spawn</button>
        </>
      )}>
      {trouble && <p class="trouble" role="alert">{safeText(trouble)}</p>}
      {is_spawning && <LifeForm done={(told) => { setWarning(told); spawn(false); }} />}
      {layout_warning && <p class="notice" role="note">{safeText(layout_warning)}</p>}
      {warning && <p class="notice" role="status">{safeText(warning)}</p>}
      {is_empty ? !is_spawning && (
        <div class="empty">
          <h2>Nobody here yet</h2>
          <p>Live agents decide, speak and move on their own.</p>
          <pre><code>cru spawn --live NAME</code></pre>
          <button type="button" class="button is-main" onClick={() => spawn(true)}>Spawn an agent</button>
        </div>
      ) : (
        <>
          <WorldMap />
          <SayForm />
          <div class="world-foot">
            {chosen && <LifeCard key={chosen.agent_id} agent={chosen} />}
            <section aria-label="Recent activity" class="life"><h3 class="heading">Activity</h3><Notes /></section>
          </div>
        </>
      )}
    </Sheet>
  );
}
