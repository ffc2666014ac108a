import { useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { AgentField, ModelField, NoMind, useFirstField } from "../definitions/choices.tsx";
import { useSending } from "../ui/sending.ts";
import { spawnAgent } from "./model.ts";

/// A person hands a task to an agent. It is not waited for: its card tells how it goes.
export function SpawnForm({ agent: first_agent, done }: { agent: string; done: () => void }) {
  const [agent, setAgent] = useState(first_agent);
  const [model, setModel] = useState("");
  const [task, setTask] = useState("");
  const { is_sending, trouble, send } = useSending();
  const first = useFirstField();
  const go = async () => {
    if (await send(() => spawnAgent({ agent, task, ...(model && { model }) }))) done();
  };
  return (
    <form class="submit is-chat" aria-label="Spawn an agent" onSubmit={(event) => { event.preventDefault(); void go(); }}
      onKeyDown={(event) => { if (event.key === "Escape") done(); }}>
      <AgentField value={agent} change={setAgent} />
      <ModelField value={model} change={setModel} />
      <label class="field is-whole">Task (the agent sees only this text)
        <textarea ref={first} required rows={3} maxLength={65536} value={task} onInput={(event) => setTask(event.currentTarget.value)} />
      </label>
      <NoMind />
      {trouble && <p class="trouble is-whole" role="alert">{safeText(trouble)}</p>}
      <p class="is-whole submit-foot">
        <button type="submit" class="button is-main" disabled={is_sending || !agent || !task.trim()}>Spawn</button>
        <button type="button" class="button" onClick={done}>Close</button>
      </p>
    </form>
  );
}
