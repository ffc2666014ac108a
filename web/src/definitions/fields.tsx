import { useEffect, useRef } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { default_model, definitions, minds, models, readMinds } from "./model.ts";
import { missingMinds } from "./texts.ts";

/// Explains how to set up a mind if none works.
export function MissingMind() {
  const missing = missingMinds(minds.value);
  if (!missing.length) return null;
  return (
    <div class="notice is-whole" role="note">
      <p><b>No mind is configured.</b> Set up one of the following:</p>
      <ul>{missing.map(({ why, fix }) => <li key={why}>{why}{fix && <>. {fix}</>}</li>)}</ul>
    </div>
  );
}

interface Choice {
  value: string;
  change: (value: string) => void;
}

/// `none_label` is the label of the option without an agent; without it, there is no such option.
export function AgentField({ value, change, none_label }: Choice & { none_label?: string }) {
  return (
    <label class="field">Agent
      <select aria-label="Agent" value={value} onChange={(event) => change(event.currentTarget.value)}>
        {none_label && <option value="">{none_label}</option>}
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

/// Focuses the first field of a form that needs a mind, and reads the available minds.
export function useFirstField<Kind extends HTMLElement = HTMLTextAreaElement>() {
  const first = useRef<Kind>(null);
  useEffect(() => {
    void readMinds();
    first.current?.focus();
  }, []);
  return first;
}
