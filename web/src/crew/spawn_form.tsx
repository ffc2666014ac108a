import { useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { AgentField, MissingMind, ModelField, useFirstField } from "../definitions/fields.tsx";
import { useSending } from "../ui/sending.ts";
import { spawnAgent } from "./model.ts";

/// The form to spawn a subagent. It does not wait for the result. `done` receives the subagent's id, if one was spawned.
export function SpawnForm({ agent: first_agent, done }: { agent: string; done: (subagent?: string) => void }) {
  const [agent, setAgent] = useState(first_agent);
  const [model, setModel] = useState("");
  const [task, setTask] = useState("");
  const { is_sending, error, send } = useSending();
  const first = useFirstField();
  const spawn = async () => {
    let id = "";
    if (await send(async () => { id = (await spawnAgent({ agent, task, ...(model && { model }) })).task_id; })) done(id);
  };
  return (
    <form class="submit is-chat" aria-label="Spawn an agent" onSubmit={(event) => { event.preventDefault(); void spawn(); }}
      onKeyDown={(event) => { if (event.key === "Escape") done(); }}>
      <AgentField value={agent} change={setAgent} />
      <ModelField value={model} change={setModel} />
      <label class="field is-whole">Task (the agent sees only this text)
        <textarea ref={first} required rows={3} maxLength={65536} value={task} onInput={(event) => setTask(event.currentTarget.value)} />
      </label>
      <MissingMind />
      {error && <p class="error is-whole" role="alert">{safeText(error)}</p>}
      <p class="is-whole submit-foot">
        <button type="submit" class="button is-main" disabled={is_sending || !agent || !task.trim()}>Spawn</button>
        <button type="button" class="button" onClick={() => done()}>Close</button>
      </p>
    </form>
  );
}
