import { useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { useFirstField } from "../definitions/choices.tsx";
import { definitions, minds, models } from "../definitions/model.ts";
import { blamed, Field, FormTrouble } from "../ui/field.tsx";
import { useSending } from "../ui/sending.ts";
import { chosen, spawnLive, type NewLife } from "./model.ts";
import { fieldOf, readPlace } from "./words.ts";

const fields = ["name", "role", "cli_backend", "definition", "task", "initial_position"];
const id = "life";

/// A person brings an agent to life. `done` is told what the daemon warns of.
export function LifeForm({ done }: { done: (warning: string) => void }) {
  const [wanted, setWanted] = useState({ name: "", role: "", cli_backend: "", definition: "", task: "", place: "" });
  const { is_sending, trouble, field, send } = useSending();
  const first = useFirstField<HTMLInputElement>();
  const set = (name: keyof typeof wanted) => (event: { currentTarget: { value: string } }) => setWanted({ ...wanted, [name]: event.currentTarget.value });
  const place = readPlace(wanted.place);
  const place_is_bad = wanted.place.trim() !== "" && !place;
  const blame = place_is_bad ? { trouble: "enter two numbers: column,row", field: "initial_position" } : { trouble, field: /initial_position/.test(field) ? "initial_position" : fieldOf(field) };
  const backends = [...new Set(["mock", ...models.value, ...minds.value.map(({ provider }) => provider)])];
  const go = async () => {
    const config: NewLife = { name: wanted.name.trim(), ...(place && { initial_position: place }) };
    for (const name of ["role", "cli_backend", "definition", "task"] as const) if (wanted[name].trim()) config[name] = wanted[name].trim();
    await send(async () => {
      const { agent_id, warning } = await spawnLive(config);
      chosen.value = agent_id;
      done(warning);
    });
  };
  const common = (name: string) => ({ id: `${id}-${name}`, ...blamed(blame, id, name) });
  return (
    <form class="submit is-chat" aria-label="Spawn a live agent" onSubmit={(event) => { event.preventDefault(); void go(); }} onKeyDown={(event) => { if (event.key === "Escape") done(""); }}>
      <Field label="Name" id={id} name="name" blame={blame}><input ref={first} {...common("name")} required maxLength={64} value={wanted.name} onInput={set("name")} /></Field>
      <Field label="Role" id={id} name="role" blame={blame}><input {...common("role")} maxLength={256} value={wanted.role} placeholder="what the agent is for" onInput={set("role")} /></Field>
      <Field label="Mind" id={id} name="cli_backend" blame={blame}>
        <input {...common("cli_backend")} maxLength={64} list="life-backends" value={wanted.cli_backend} placeholder="scripted, without a model" onInput={set("cli_backend")} />
        <datalist id="life-backends">{backends.map((name) => <option key={name} value={name} />)}</datalist>
      </Field>
      <Field label="Definition" id={id} name="definition" blame={blame}>
        <select {...common("definition")} value={wanted.definition} onChange={set("definition")}>
          <option value="">none</option>
          {definitions.value.map(({ name }) => <option key={name} value={name}>{safeText(name)}</option>)}
        </select>
      </Field>
      <Field label="First task" id={id} name="task" blame={blame}><input {...common("task")} maxLength={1000} value={wanted.task} placeholder="none" onInput={set("task")} /></Field>
      <Field label="Position (column,row)" id={id} name="initial_position" blame={blame}><input {...common("initial_position")} maxLength={12} value={wanted.place} placeholder="any free tile" onInput={set("place")} /></Field>
      <FormTrouble blame={blame} fields={fields} />
      <p class="is-whole submit-foot">
        <button type="submit" class="button is-main" disabled={is_sending || !wanted.name.trim() || place_is_bad}>Spawn</button>
        <button type="button" class="button" onClick={() => done("")}>Close</button>
      </p>
    </form>
  );
}
