import { useState } from "preact/hooks";
import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { Badge } from "../ui/badge.tsx";
import { blamed, Field, FormTrouble } from "../ui/field.tsx";
import { Lines } from "../ui/lines.tsx";
import { useSending } from "../ui/sending.ts";
import { TwoPresses } from "../ui/two_presses.tsx";
import { aimed_at, assignTask, chosen, sendTo, terminate, world } from "./model.ts";
import type { AgentRow } from "./state.ts";
import type { Tile } from "./wire.ts";
import { fieldOf, placeText, readPlace, sinceText, tileText, troubleOf } from "./words.ts";

function TaskForm({ agent }: { agent: AgentRow }) {
  const [task, setTask] = useState("");
  const { is_sending, trouble, field, send } = useSending();
  const blame = { trouble, field: fieldOf(field) };
  return (
    <form class="one-line" aria-label={`Give ${safeText(agent.name)} a task`} onSubmit={(event) => { event.preventDefault(); void send(() => assignTask(agent.agent_id, task.trim())).then((is_done) => { if (is_done) setTask(""); }); }}>
      <Field label="Task" id="assign" name="task_name" blame={blame}>
        <input id="assign-task_name" {...blamed(blame, "assign", "task_name")} maxLength={1000} value={task} onInput={(event) => setTask(event.currentTarget.value)} />
      </Field>
      <button type="submit" class="button" disabled={is_sending || !task.trim()}>Assign</button>
      <FormTrouble blame={blame} fields={["task_name"]} />
    </form>
  );
}

function WayForm({ agent }: { agent: AgentRow }) {
  const [typed, setTyped] = useState({ text: "", over: null as Tile | null });
  const [held, setHeld] = useState(false);
  const { is_sending, trouble, field, send } = useSending();
  // A click on the map writes over what was typed before it.
  const text = typed.over === aimed_at.value ? typed.text : aimed_at.value ? tileText(aimed_at.value) : "";
  const place = readPlace(text);
  const blame = text.trim() && !place ? { trouble: "enter two numbers: column,row", field: "x" } : { trouble, field: /^(x|y)$/.test(fieldOf(field)) ? "x" : field };
  const go = async () => {
    if (!place) return;
    setHeld(false);
    setTyped({ text, over: place });
    aimed_at.value = place;
    await send(async () => setHeld(await sendTo(agent.agent_id, place)));
  };
  return (
    <form class="one-line" aria-label={`Send ${safeText(agent.name)} to a tile`} onSubmit={(event) => { event.preventDefault(); void go(); }}>
      <Field label="Send to (column,row)" id="way" name="x" blame={blame}>
        <input id="way-x" {...blamed(blame, "way", "x")} maxLength={12} value={text} placeholder="4,7 or click the map" onInput={(event) => setTyped({ text: event.currentTarget.value, over: aimed_at.value })} />
      </Field>
      <button type="submit" class="button" disabled={is_sending || !place}>Send</button>
      <FormTrouble blame={blame} fields={["x"]} />
      {held && <p class="hint is-whole" role="status">It is speaking, and will move when it has finished.</p>}
    </form>
  );
}

/// The agent that was chosen: all that is known of it, and what a person can do with it.
export function LifeCard({ agent }: { agent: AgentRow }) {
  const at = now.value + world.value.offset;
  const name = safeText(agent.name);
  const facts: [string, string][] = [
    ["id", agent.agent_id], ["position", placeText(agent, at)], ["mind", agent.mind ?? ""], ["definition", agent.definition ?? ""],
    ["thoughts", agent.thoughts === undefined ? "" : String(agent.thoughts)], ["received", agent.received === undefined ? "" : String(agent.received)], ["events behind", agent.lag === undefined ? "" : String(agent.lag)],
  ];
  return (
    <section class="life" aria-label={`Agent ${name}`}>
      <header class="pane-title">
        <h3>{name}</h3>
        <Badge status={agent.state} />
        <span class="pane-since">{sinceText(agent, at)}</span>
        <span class="spring" />
        <TwoPresses key={agent.agent_id} word="Terminate" sure="Terminate it now" act={() => terminate(agent.agent_id)} />
        <button type="button" class="button is-small" onClick={() => { chosen.value = null; }}>Close</button>
      </header>
      {agent.role && <p class="faint">{safeText(agent.role)}</p>}
      {troubleOf(agent) && <p class="pane-why"><span aria-hidden="true">✗ </span>{troubleOf(agent)}</p>}
      {agent.warning && <p class="notice" role="note">{safeText(agent.warning)}</p>}
      <dl class="facts">{facts.filter(([, value]) => value).map(([key, value]) => <div key={key}><dt>{key}</dt><dd title={safeText(value)}>{safeText(value)}</dd></div>)}</dl>
      <p><span class="faint">task: </span>{agent.current_task ? <Lines text={agent.current_task} /> : <span class="faint">none</span>}</p>
      {agent.last_message && <p class="life-words" tabIndex={0}><Lines text={agent.last_message} /></p>}
      <TaskForm key={`task-${agent.agent_id}`} agent={agent} />
      <WayForm key={`way-${agent.agent_id}`} agent={agent} />
    </section>
  );
}
