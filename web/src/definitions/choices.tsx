import { useEffect, useRef } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { default_model, definitions, minds, models, readMinds } from "./model.ts";
import { noMind } from "./words.ts";

/// Says how to get a mind, if there is none.
export function NoMind() {
  const lacking = noMind(minds.value);
  if (!lacking.length) return null;
  return (
    <div class="notice is-whole" role="note">
      <p><b>No mind is configured.</b> Set up one of the following:</p>
      <ul>{lacking.map(({ why, fix }) => <li key={why}>{why}{fix && <>. {fix}</>}</li>)}</ul>
    </div>
  );
}

interface Choice {
  value: string;
  change: (value: string) => void;
}

/// `otherwise` is what it is called to choose none.
export function AgentField({ value, change, otherwise }: Choice & { otherwise?: string }) {
  return (
    <label class="field">Agent
      <select aria-label="Agent" value={value} onChange={(event) => change(event.currentTarget.value)}>
        {otherwise && <option value="">{otherwise}</option>}
        {definitions.value.map(({ name }) => <option key={name} value={name}>{safeText(name)}</option>)}
      </select>
    </label>
  );
}

export function ModelField({ value, change }: Choice) {
  return (
    <label class="field">Model
      <select aria-label="Model" value={value} onChange={(event) => change(event.currentTarget.value)}>
        <option value="">the agent's default</option>
        {models.value.map((name) => <option key={name} value={name}>{safeText(name)}{name === default_model.value && " (default)"}</option>)}
      </select>
    </label>
  );
}

/// The field to begin with, of a form that asks for a mind.
export function useFirstField<Kind extends HTMLElement = HTMLTextAreaElement>() {
  const first = useRef<Kind>(null);
  useEffect(() => {
    void readMinds();
    first.current?.focus();
  }, []);
  return first;
}
