import { useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { useFirstField } from "../definitions/fields.tsx";
import { definitions, minds, models } from "../definitions/model.ts";
import { Field, FormError, invalidProps } from "../ui/field.tsx";
import { useSending } from "../ui/sending.ts";
import { selected, spawnLive, type LiveAgentConfig } from "./model.ts";
import { fieldOf, parseTile } from "./texts.ts";

const fields = ["name", "role", "cli_backend", "definition", "task", "initial_position"];
const id = "life";

/// The form to spawn a live agent. `done` receives the daemon's warning, if any.
export function SpawnLiveForm({ done }: { done: (warning: string) => void }) {
  const [values, setValues] = useState({ name: "", role: "", cli_backend: "", definition: "", task: "", place: "" });
  const { is_sending, error, field, send } = useSending();
  const first = useFirstField<HTMLInputElement>();
  const set = (name: keyof typeof values) => (event: { currentTarget: { value: string } }) => setValues({ ...values, [name]: event.currentTarget.value });
  const place = parseTile(values.place);
  const place_is_bad = values.place.trim() !== "" && !place;
  const failure = place_is_bad ? { error: "enter two numbers: column,row", field: "initial_position" } : { error, field: /initial_position/.test(field) ? "initial_position" : fieldOf(field) };
  const backends = [...new Set(["mock", ...models.value, ...minds.value.map(({ provider }) => provider)])];
  const spawn = async () => {
    const config: LiveAgentConfig = { name: values.name.trim(), ...(place && { initial_position: place }) };
    for (const name of ["role", "cli_backend", "definition", "task"] as const) if (values[name].trim()) config[name] = values[name].trim();
    await send(async () => {
      const { agent_id, warning } = await spawnLive(config);
      selected.value = agent_id;
      done(warning);
    });
  };
  const common = (name: string) => ({ id: `${id}-${name}`, ...invalidProps(failure, id, name) });
  return (
    <form class="submit is-chat" aria-label="Spawn a live agent" onSubmit={(event) => { event.preventDefault(); void spawn(); }} onKeyDown={(event) => { if (event.key === "Escape") done(""); }}>
      <Field label="Name" id={id} name="name" failure={failure}><input ref={first} {...common("name")} required maxLength={64} value={values.name} onInput={set("name")} /></Field>
      <Field label="Role" id={id} name="role" failure={failure}><input {...common("role")} maxLength={256} value={values.role} placeholder="what the agent is for" onInput={set("role")} /></Field>
      <Field label="Mind" id={id} name="cli_backend" failure={failure}>
        <input {...common("cli_backend")} maxLength={64} list="life-backends" value={values.cli_backend} placeholder="scripted, without a model" onInput={set("cli_backend")} />
        <datalist id="life-backends">{backends.map((name) => <option key={name} value={name} />)}</datalist>
      </Field>
      <Field label="Definition" id={id} name="definition" failure={failure}>
        <select {...common("definition")} value={values.definition} onChange={set("definition")}>
          <option value="">none</option>
          {definitions.value.map(({ name }) => <option key={name} value={name}>{safeText(name)}</option>)}
        </select>
      </Field>
      <Field label="First task" id={id} name="task" failure={failure}><input {...common("task")} maxLength={1000} value={values.task} placeholder="none" onInput={set("task")} /></Field>
      <Field label="Position (column,row)" id={id} name="initial_position" failure={failure}><input {...common("initial_position")} maxLength={12} value={values.place} placeholder="any free tile" onInput={set("place")} /></Field>
      <FormError failure={failure} fields={fields} />
      <p class="is-whole submit-foot">
        <button type="submit" class="button is-main" disabled={is_sending || !values.name.trim() || place_is_bad}>Spawn</button>
        <button type="button" class="button" onClick={() => done("")}>Close</button>
      </p>
    </form>
  );
}
