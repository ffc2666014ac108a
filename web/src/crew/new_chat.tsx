import { useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { oneLine } from "../base/text.ts";
import { AgentField, MissingMind, ModelField, useFirstField } from "../definitions/fields.tsx";
import { definitions } from "../definitions/model.ts";
import { useSending } from "../ui/sending.ts";
import { submitByEnter } from "./composer.tsx";
import { startChat } from "./model.ts";

/// The form to start a chat. It keeps its contents until the daemon has accepted them. `done` receives the chat's id, if one
/// was started.
export function NewChat({ done }: { done: (chat?: string) => void }) {
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
    done(id);
  };
  const about = definitions.value.find(({ name }) => name === agent)?.description;
  return (
    <form class="submit is-chat" aria-label="New chat" onSubmit={(event) => { event.preventDefault(); if (can_send) void start(); }}
      onKeyDown={(event) => { if (event.key === "Escape") done(); }}>
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
        <button type="button" class="button" onClick={() => done()}>Close</button>
      </p>
    </form>
  );
}
