import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { useSending } from "../ui/sending.ts";
import { WorldCanvas } from "./canvas.ts";
import { aimed_at, chosen, chosen_agent, goTo, is_inside, sendTo, world } from "./model.ts";
import { tileText } from "./words.ts";

/// The office from above. All that it shows is in the roster, and all that a click does is in the forms.
export function WorldMap() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<WorldCanvas | null>(null);
  const [held, setHeld] = useState(false);
  const { trouble, send } = useSending();
  useEffect(() => {
    const shown = new WorldCanvas(canvas.current!, () => ({ world: world.peek(), chosen: chosen.peek(), aimed_at: aimed_at.peek() }));
    drawing.current = shown;
    const stop = effect(() => {
      void [world.value, chosen.value, aimed_at.value];
      shown.changed();
    });
    return () => {
      stop();
      shown.close();
    };
  }, []);
  const click = (event: MouseEvent) => {
    const at = drawing.current?.under(event.clientX, event.clientY);
    if (!at) return;
    setHeld(false);
    if (at.body && world.peek().agents.has(at.body.id)) {
      chosen.value = at.body.id;
      aimed_at.value = null;
      return;
    }
    const agent = chosen_agent.peek();
    if (!agent && !is_inside.peek()) return;
    aimed_at.value = at.tile;
    void send(async () => (agent ? setHeld(await sendTo(agent.agent_id, at.tile)) : goTo(at.tile)));
  };
  const { agents, layout } = world.value;
  const chosen_name = chosen_agent.value && safeText(chosen_agent.value.name);
  return (
    <div class="map">
      <canvas ref={canvas} role="img" aria-label={`Map of the office, ${layout?.cols ?? 0} by ${layout?.rows ?? 0} tiles, with ${agents.size} live agents. The list of live agents contains the same information.`} onClick={click} data-testid="map" />
      <p class="hint">
        {chosen_name ? `Click a tile to send ${chosen_name} there` : is_inside.value ? "Click a tile to move there, or an agent to select it" : "Click an agent to select it"}
        {aimed_at.value && ` · ${tileText(aimed_at.value)}`}
        {held && <span role="status"> · it is speaking, and will move when it has finished</span>}
      </p>
      {trouble && <p class="trouble" role="alert">{safeText(trouble)}</p>}
    </div>
  );
}
