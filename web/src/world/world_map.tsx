import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { useSending } from "../ui/sending.ts";
import { WorldCanvas } from "./canvas.ts";
import { has_joined, moveAgent, moveTo, hovered, selected, selected_agent, target_tile, world } from "./model.ts";
import { oneLine } from "../base/text.ts";
import { tileText } from "./texts.ts";

/// The map of the office. The list shows the same information, and the forms offer the same actions.
export function WorldMap() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const map = useRef<WorldCanvas | null>(null);
  const [is_postponed, setPostponed] = useState(false);
  const { error, send } = useSending();
  useEffect(() => {
    const drawing = new WorldCanvas(canvas.current!, () => ({ world: world.peek(), selected: selected.peek(), target_tile: target_tile.peek() }));
    map.current = drawing;
    const stop = effect(() => {
      void [world.value, selected.value, target_tile.value];
      drawing.redraw();
    });
    return () => {
      stop();
      drawing.close();
    };
  }, []);
  const click = (event: MouseEvent) => {
    const at = map.current?.tileAt(event.clientX, event.clientY);
    if (!at) return;
    setPostponed(false);
    if (at.body && world.peek().agents.has(at.body.id)) {
      selected.value = at.body.id;
      target_tile.value = null;
      return;
    }
    const agent = selected_agent.peek();
    if (!agent && !has_joined.peek()) return;
    target_tile.value = at.tile;
    void send(async () => (agent ? setPostponed(await moveAgent(agent.agent_id, at.tile)) : moveTo(at.tile)));
  };
  const hover = (event: MouseEvent) => {
    const body = map.current?.tileAt(event.clientX, event.clientY)?.body;
    hovered.value = body && world.peek().agents.has(body.id) ? body.id : null;
  };
  const { agents, layout } = world.value;
  const shown = agents.get(hovered.value ?? "") ?? selected_agent.value;
  const selected_name = selected_agent.value && safeText(selected_agent.value.name);
  return (
    <div class="map">
      <canvas ref={canvas} role="img" aria-label={`Map of the office, ${layout?.cols ?? 0} by ${layout?.rows ?? 0} tiles, with ${agents.size} live agents. The list of live agents contains the same information.`} onClick={click} onMouseMove={hover} onMouseLeave={() => { hovered.value = null; }} data-testid="map" />
      {shown?.last_message && <p class="map-words" data-testid="last-words"><strong>{safeText(shown.name)}:</strong> {oneLine(shown.last_message, 400)}</p>}
      <p class="hint">
        {selected_name ? `Click a tile to send ${selected_name} there` : has_joined.value ? "Click a tile to move there, or an agent to select it" : "Click an agent to select it"}
        {target_tile.value && ` · ${tileText(target_tile.value)}`}
        {is_postponed && <span role="status"> · it is speaking, and will move when it has finished</span>}
      </p>
      {error && <p class="error" role="alert">{safeText(error)}</p>}
    </div>
  );
}
