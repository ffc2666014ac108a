import { useRef, useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { LinkState } from "../ui/link_state.tsx";
import { useSending } from "../ui/sending.ts";
import { Sheet } from "../ui/sheet.tsx";
import { ActivityList } from "./activity_list.tsx";
import { AutoForm } from "./auto_form.tsx";
import { AutoButton, AutoPanel, showPanel } from "./auto_panel.tsx";
import { LiveAgentCard } from "./live_agent_card.tsx";
import { has_joined, join, leave, selected, selected_agent, world, world_link } from "./model.ts";
import { SayForm } from "./say_form.tsx";
import { SpawnLiveForm } from "./spawn_live_form.tsx";
import { WorldMap } from "./world_map.tsx";

/// The view of the world: the map, the selected agent, and the activity.
export function WorldPane() {
  const [is_spawning, spawn] = useState(false);
  const [is_choosing, choose] = useState(false);
  const chooser = useRef<HTMLButtonElement>(null);
  const [warning, setWarning] = useState("");
  const [auto_error, setAutoError] = useState("");
  const { is_sending, error, send } = useSending();
  const { loaded, agents, warning: layout_warning } = world.value;
  const is_unreachable = world_link.value.kind === "disconnected" && !loaded;
  const is_empty = !agents.size && !has_joined.value;
  const chosen = selected_agent.value;
  return (
    <Sheet title="World" count={`${agents.size} live`} loaded={loaded} error={is_unreachable ? "the daemon does not respond; retrying" : ""} is_empty={false} empty=""
      actions={(
        <>
          <AutoButton failed={setAutoError} />
          <button ref={chooser} type="button" class="button" aria-expanded={is_choosing} onClick={() => { spawn(false); choose(!is_choosing); }}>Topic and cast</button>
          <LinkState at={world_link.value} id="world-link" />
          <button type="button" class="button" disabled={is_sending} onClick={() => { void send(() => (has_joined.value ? leave() : join())); }}>{has_joined.value ? "Leave" : "Join"}</button>
          <button type="button" class="button" aria-expanded={is_spawning} onClick={() => { setWarning(""); choose(false); spawn(!is_spawning); }}>Spawn</button>
        </>
      )}>
      {auto_error && <p class="error" role="alert">{safeText(auto_error)}</p>}
      {error && <p class="error" role="alert">{safeText(error)}</p>}
      {is_choosing && <AutoForm started={() => { choose(false); requestAnimationFrame(showPanel); }} close={() => { choose(false); chooser.current?.focus(); }} />}
      {is_spawning && <SpawnLiveForm done={(text) => { setWarning(text); spawn(false); }} />}
      {layout_warning && <p class="notice" role="note">{safeText(layout_warning)}</p>}
      {warning && <p class="notice" role="status">{safeText(warning)}</p>}
      {is_empty ? !is_spawning && !is_choosing && (
        <>
          <div class="empty">
            <h2>Nobody here yet</h2>
            <p>Live agents decide, speak and move on their own.</p>
            <pre><code>cru spawn --live NAME</code></pre>
            <button type="button" class="button is-main" onClick={() => spawn(true)}>Spawn an agent</button>
          </div>
          <AutoPanel />
        </>
      ) : (
        <>
          <WorldMap />
          <SayForm />
          <div class="world-foot">
            <AutoPanel />
            {chosen && <LiveAgentCard key={chosen.agent_id} agent={chosen} actions={<button type="button" class="button is-small" onClick={() => { selected.value = null; }}>Close</button>} />}
            <section aria-label="Recent activity" class="life"><h3 class="heading">Activity</h3><ActivityList /></section>
          </div>
        </>
      )}
    </Sheet>
  );
}
