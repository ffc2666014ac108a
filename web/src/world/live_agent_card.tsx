import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { ConfirmButton } from "../ui/confirm_button.tsx";
import { Facts } from "../ui/facts.tsx";
import { Field, FormError, invalidProps } from "../ui/field.tsx";
import { Lines } from "../ui/lines.tsx";
import { useSending } from "../ui/sending.ts";
import { assignTask, is_body_shown, moveAgent, selected, target_tile, terminate, world } from "./model.ts";
import type { AgentRow } from "./state.ts";
import type { Tile } from "./wire.ts";
import { SayForm } from "./say_form.tsx";
import { errorOf, fieldOf, parseTile, positionText, sinceText, tileText } from "./texts.ts";

function TaskForm({ agent }: { agent: AgentRow }) {
  const [task, setTask] = useState("");
  const { is_sending, error, field, send } = useSending();
  const failure = { error, field: fieldOf(field) };
  return (
    <form class="one-line" aria-label={`Give ${safeText(agent.name)} a task`} onSubmit={(event) => { event.preventDefault(); void send(() => assignTask(agent.agent_id, task.trim())).then((is_done) => { if (is_done) setTask(""); }); }}>
      <Field label="Task" id="assign" name="task_name" failure={failure}>
        <input id="assign-task_name" {...invalidProps(failure, "assign", "task_name")} maxLength={1000} value={task} onInput={(event) => setTask(event.currentTarget.value)} />
      </Field>
      <button type="submit" class="button" disabled={is_sending || !task.trim()}>Assign</button>
      <FormError failure={failure} fields={["task_name"]} />
    </form>
  );
}

function MoveForm({ agent }: { agent: AgentRow }) {
  const [typed, setTyped] = useState({ text: "", over: null as Tile | null });
  const [is_postponed, setPostponed] = useState(false);
  const { is_sending, error, field, send } = useSending();
  // A click on the map replaces what was typed before it.
  const text = typed.over === target_tile.value ? typed.text : target_tile.value ? tileText(target_tile.value) : "";
  const place = parseTile(text);
  const failure = text.trim() && !place ? { error: "enter two numbers: column,row", field: "x" } : { error, field: /^(x|y)$/.test(fieldOf(field)) ? "x" : field };
  const move = async () => {
    if (!place) return;
    setPostponed(false);
    setTyped({ text, over: place });
    target_tile.value = place;
    await send(async () => setPostponed(await moveAgent(agent.agent_id, place)));
  };
  return (
    <form class="one-line" aria-label={`Send ${safeText(agent.name)} to a tile`} onSubmit={(event) => { event.preventDefault(); void move(); }}>
      <Field label="Send to (column,row)" id="move" name="x" failure={failure}>
        <input id="move-x" {...invalidProps(failure, "move", "x")} maxLength={12} value={text} placeholder="4,7 or click the map" onInput={(event) => setTyped({ text: event.currentTarget.value, over: target_tile.value })} />
      </Field>
      <button type="submit" class="button" disabled={is_sending || !place}>Send</button>
      <FormError failure={failure} fields={["x"]} />
      {is_postponed && <p class="hint is-whole" role="status">It is speaking, and will move when it has finished.</p>}
    </form>
  );
}

/// A live agent with all its details and actions.
export function LiveAgentCard({ agent, actions }: { agent: AgentRow; actions?: ComponentChildren }) {
  const at = now.value + world.value.offset;
  const name = safeText(agent.name);
  const facts: [string, string][] = [
    ["id", agent.agent_id], ["state", `${agent.state} for ${sinceText(agent, at)}`], ["waiting", agent.waiting ?? ""], ["position", positionText(agent, at)], ["mind", agent.mind ?? ""], ["definition", agent.definition ?? ""],
    ["thoughts", agent.thoughts === undefined ? "" : String(agent.thoughts)], ["received", agent.received === undefined ? "" : String(agent.received)], ["events behind", agent.lag === undefined ? "" : String(agent.lag)],
  ];
  return (
    <section class="life" aria-label={`Agent ${name}`}>
      <header class="pane-title">
        <h3>{name}</h3>
        <span class="spacer" />
        <ConfirmButton key={agent.agent_id} label="Terminate" confirm_label="Terminate it now" act={() => terminate(agent.agent_id)} />
        {actions}
      </header>
      {agent.role && <p class="faint">{safeText(agent.role)}</p>}
      {errorOf(agent) && <p class="pane-why"><span aria-hidden="true">✗ </span>{errorOf(agent)}</p>}
      {agent.warning && <p class="notice" role="note">{safeText(agent.warning)}</p>}
      <Facts of={facts} />
      <p><span class="faint">task: </span>{agent.current_task ? <Lines text={agent.current_task} /> : <span class="faint">none</span>}</p>
      {agent.last_message && <p class="life-words" tabIndex={0}><Lines text={agent.last_message} /></p>}
      <TaskForm key={`task-${agent.agent_id}`} agent={agent} />
      <MoveForm key={`move-${agent.agent_id}`} agent={agent} />
    </section>
  );
}

/// A live agent outside the world's own view.
export function BodyPane({ id }: { id: string }) {
  useEffect(() => { selected.value = id; }, [id]);
  useEffect(() => {
    is_body_shown.value = true;
    return () => { is_body_shown.value = false; };
  }, []);
  const agent = world.value.agents.get(id);
  if (!agent) return <p class="hint">{world.value.loaded ? "It has left the world." : "Loading…"}</p>;
  return (
    <>
      <LiveAgentCard agent={agent} actions={<a href="#view=world">Show on the map</a>} />
      <SayForm />
    </>
  );
}
