import { useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { Field, FormError, invalidProps } from "../ui/field.tsx";
import { useSending } from "../ui/sending.ts";
import { agents_by_name, say, selected_agent, world, type Audience } from "./model.ts";
import type { Recipients } from "./state.ts";
import { fieldOf, recipientsText } from "./texts.ts";

const near = "near:", everybody = "everybody:", one = "one:";
const max_listed = 200;

/// The form to speak to live agents.
export function SayForm() {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const [recipients, setRecipients] = useState<Recipients | null>(null);
  const { is_sending, error, field, send } = useSending();
  const selected = selected_agent.value;
  const to = chosen?.startsWith(one) && !world.value.agents.has(chosen.slice(one.length)) ? null : chosen;
  const value = to ?? (selected ? one + selected.agent_id : near);
  const listed = agents_by_name.value.slice(0, max_listed);
  const failure = { error, field: fieldOf(field) === "content" ? "message" : fieldOf(field) };
  const submit = async () => {
    const audience: Audience = value === near ? { kind: "near" } : value === everybody ? { kind: "everybody" } : { kind: "one", id: value.slice(one.length) };
    setRecipients(null);
    if (await send(async () => setRecipients(await say(audience, text)))) setText("");
  };
  return (
    <form class="one-line is-say" aria-label="Say something" onSubmit={(event) => { event.preventDefault(); void submit(); }}>
      <Field label="To" id="say" name="to" failure={failure}>
        <select id="say-to" {...invalidProps(failure, "say", "to")} value={value} onChange={(event) => setChosen(event.currentTarget.value)}>
          <option value={near}>everyone nearby</option>
          <option value={everybody}>everyone</option>
          {selected && !listed.includes(selected) && <option value={one + selected.agent_id}>{safeText(selected.name)}</option>}
          {listed.map((agent) => <option key={agent.agent_id} value={one + agent.agent_id}>{safeText(agent.name)}</option>)}
        </select>
      </Field>
      <Field label="Message" id="say" name="message" failure={failure}>
        <input id="say-message" {...invalidProps(failure, "say", "message")} maxLength={8000} value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
      </Field>
      <button type="submit" class="button is-main" disabled={is_sending || !text.trim()}>Say</button>
      <FormError failure={failure} fields={["to", "message"]} />
      {recipients && <p class="hint is-whole" role="status">Said {recipientsText(recipients)}</p>}
    </form>
  );
}
