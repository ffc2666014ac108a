import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { oneLine } from "../base/text.ts";
import { AgentField, MissingMind, ModelField, useFirstField } from "../definitions/fields.tsx";
import { definitions } from "../definitions/model.ts";
import { useSending } from "../ui/sending.ts";
import { submitByEnter } from "./composer.tsx";
import { openChat, startChat } from "./model.ts";

/// Whether the form for a new chat is shown.
export const is_new_chat_open = signal(false);

/// The form to start a chat. It keeps its contents until the daemon has accepted them.
export function NewChat() {
  const [agent, setAgent] = useState("");
  const [model, setModel] = useState("");
  const [text, setText] = useState("");
  const { is_sending, error, send } = useSending();
  const first = useFirstField();
  const can_send = !is_sending && text.trim() !== "";
  const start = async () => {
    let id = "";
    const request = { message: text, ...(agent && { agent }), ...(model && { model }) };
    if (!(await send(async () => { id = await startChat(request); }))) return;
    is_new_chat_open.value = false;
    openChat(id);
  };
  const about = definitions.value.find(({ name }) => name === agent)?.description;
  return (
    <form class="submit is-chat" aria-label="New chat" onSubmit={(event) => { event.preventDefault(); if (can_send) void start(); }}
      onKeyDown={(event) => { if (event.key === "Escape") is_new_chat_open.value = false; }}>
      <AgentField value={agent} change={setAgent} none_label="default assistant" />
      <ModelField value={model} change={setModel} />
      {about && <p class="hint is-whole">{oneLine(about)}</p>}
      <label class="field is-whole">First message
        <textarea ref={first} rows={4} maxLength={1048576} value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={submitByEnter} />
      </label>
      <MissingMind />
      {error && <p class="error is-whole" role="alert">{safeText(error)}</p>}
      <p class="is-whole submit-foot">
        <button type="submit" class="button is-main" disabled={!can_send}>Start chat</button>
        <button type="button" class="button" onClick={() => { is_new_chat_open.value = false; }}>Close</button>
      </p>
    </form>
  );
}
