import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { default_model, definitions, minds, models, openChat, readMinds, startChat } from "../crew_model.ts";
import { safeText } from "../safe_text.ts";
import { oneLine } from "../words_coordination.ts";
import { noMind } from "../words_crew.ts";
import { sendsByEnter } from "./composer.tsx";
import { useSending } from "./sending.ts";

/// The form for a new chat is shown.
export const is_beginning = signal(false);

/// Says how to get a mind, if there is none.
export function NoMind() {
  const lacking = noMind(minds.value);
  if (!lacking.length) return null;
  return (
    <div class="notice is-whole" role="note">
      <p><b>No mind is configured yet.</b> Any one of these will do:</p>
      <ul>{lacking.map(({ why, fix }) => <li key={why}>{why}{fix && <>. {fix}</>}</li>)}</ul>
    </div>
  );
}

export function ModelField({ value, change }: { value: string; change: (model: string) => void }) {
  return (
    <label class="field">Model
      <select aria-label="Model" value={value} onChange={(event) => change(event.currentTarget.value)}>
        <option value="">the agent's own</option>
        {models.value.map((name) => <option key={name} value={name}>{safeText(name)}{name === default_model.value && " (default)"}</option>)}
      </select>
    </label>
  );
}

/// A person begins a chat. What is typed stays until the daemon has taken it.
export function NewChat() {
  const [agent, setAgent] = useState("");
  const [model, setModel] = useState("");
  const [text, setText] = useState("");
  const { is_sending, trouble, send } = useSending();
  const first = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    void readMinds();
    first.current?.focus();
  }, []);
  const can_send = !is_sending && text.trim() !== "";
  const begin = async () => {
    let id = "";
    const wanted = { message: text, ...(agent && { agent }), ...(model && { model }) };
    if (!(await send(async () => { id = await startChat(wanted); }))) return;
    is_beginning.value = false;
    openChat(id);
  };
  const about = definitions.value.find(({ name }) => name === agent)?.description;
  return (
    <form class="submit is-chat" aria-label="New chat" onSubmit={(event) => { event.preventDefault(); if (can_send) void begin(); }}
      onKeyDown={(event) => { if (event.key === "Escape") is_beginning.value = false; }}>
      <label class="field">Agent
        <select aria-label="Agent" value={agent} onChange={(event) => setAgent(event.currentTarget.value)}>
          <option value="">the plain assistant</option>
          {definitions.value.map(({ name }) => <option key={name} value={name}>{safeText(name)}</option>)}
        </select>
      </label>
      <ModelField value={model} change={setModel} />
      {about && <p class="hint is-whole">{oneLine(about)}</p>}
      <label class="field is-whole">First message
        <textarea ref={first} rows={4} maxLength={1048576} value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={sendsByEnter} />
      </label>
      <NoMind />
      {trouble && <p class="trouble is-whole" role="alert">{safeText(trouble)}</p>}
      <p class="is-whole submit-foot">
        <button type="submit" class="button is-main" disabled={!can_send}>Begin</button>
        <button type="button" class="button" onClick={() => { is_beginning.value = false; }}>Close</button>
      </p>
    </form>
  );
}
