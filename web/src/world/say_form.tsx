import { useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { blamed, Field, FormTrouble } from "../ui/field.tsx";
import { useSending } from "../ui/sending.ts";
import { chosen_agent, roster, sayTo, world, type Audience } from "./model.ts";
import type { Hearers } from "./state.ts";
import { fieldOf, hearersText } from "./words.ts";

const near = "near:", everybody = "everybody:", one = "one:";
const most_listed = 200;

/// What a person says to the live agents, as player_0.
export function SayForm() {
  const [text, setText] = useState("");
  const [wanted, setWanted] = useState<string | null>(null);
  const [heard_by, setHeardBy] = useState<Hearers | null>(null);
  const { is_sending, trouble, field, send } = useSending();
  const chosen = chosen_agent.value;
  const to = wanted?.startsWith(one) && !world.value.agents.has(wanted.slice(one.length)) ? null : wanted;
  const value = to ?? (chosen ? one + chosen.agent_id : near);
  const listed = roster.value.slice(0, most_listed);
  const blame = { trouble, field: fieldOf(field) === "content" ? "message" : fieldOf(field) };
  const go = async () => {
    const hearers: Audience = value === near ? { kind: "near" } : value === everybody ? { kind: "everybody" } : { kind: "one", id: value.slice(one.length) };
    setHeardBy(null);
    if (await send(async () => setHeardBy(await sayTo(hearers, text)))) setText("");
  };
  return (
    <form class="one-line is-say" aria-label="Say something" onSubmit={(event) => { event.preventDefault(); void go(); }}>
      <Field label="To" id="say" name="to" blame={blame}>
        <select id="say-to" {...blamed(blame, "say", "to")} value={value} onChange={(event) => setWanted(event.currentTarget.value)}>
          <option value={near}>everyone nearby</option>
          <option value={everybody}>everyone</option>
          {chosen && !listed.includes(chosen) && <option value={one + chosen.agent_id}>{safeText(chosen.name)}</option>}
          {listed.map((agent) => <option key={agent.agent_id} value={one + agent.agent_id}>{safeText(agent.name)}</option>)}
        </select>
      </Field>
      <Field label="Message (as player_0)" id="say" name="message" blame={blame}>
        <input id="say-message" {...blamed(blame, "say", "message")} maxLength={8000} value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
      </Field>
      <button type="submit" class="button is-main" disabled={is_sending || !text.trim()}>Say</button>
      <FormTrouble blame={blame} fields={["to", "message"]} />
      {heard_by && <p class="hint is-whole" role="status">Said {hearersText(heard_by)}</p>}
    </form>
  );
}
