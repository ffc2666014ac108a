import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { oneLine } from "../base/text.ts";
import { AgentField, ModelField, NoMind, useFirstField } from "../definitions/choices.tsx";
import { definitions } from "../definitions/model.ts";
import { useSending } from "../ui/sending.ts";
import { sendsByEnter } from "./composer.tsx";
import { openChat, startChat } from "./model.ts";

/// The form for a new chat is shown.
export const is_beginning = signal(false);

/// A person begins a chat. What is typed stays until the daemon has taken it.
export function NewChat() {
  const [agent, setAgent] = useState("");
  const [model, setModel] = useState("");
  const [text, setText] = useState("");
  const { is_sending, trouble, send } = useSending();
  const first = useFirstField();
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
      <AgentField value={agent} change={setAgent} otherwise="default assistant" />
      <ModelField value={model} change={setModel} />
      {about && <p class="hint is-whole">{oneLine(about)}</p>}
      <label class="field is-whole">First message
        <textarea ref={first} rows={4} maxLength={1048576} value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={sendsByEnter} />
      </label>
      <NoMind />
      {trouble && <p class="trouble is-whole" role="alert">{safeText(trouble)}</p>}
      <p class="is-whole submit-foot">
        <button type="submit" class="button is-main" disabled={!can_send}>Start chat</button>
        <button type="button" class="button" onClick={() => { is_beginning.value = false; }}>Close</button>
      </p>
    </form>
  );
}
