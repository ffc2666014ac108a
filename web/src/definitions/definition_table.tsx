import { useEffect, useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { messageOf, oneLine } from "../base/text.ts";
import { Lines } from "../ui/lines.tsx";
import { definitions, readDefinition } from "./model.ts";
import type { Definition } from "./wire.ts";
import { modelOf } from "./texts.ts";

/// The prompt of a definition. It is read when it is opened, and again when the definitions change.
function Prompt({ name }: { name: string }) {
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  useEffect(() => {
    readDefinition(name).then(({ prompt }) => { setText(prompt ?? ""); setError(""); }, (error: unknown) => setError(messageOf(error)));
  }, [name, definitions.value]);
  return <tr><td colSpan={6} class="is-bare">{error ? <p class="error" role="alert">{safeText(error)}</p> : <p class="sub-task"><Lines text={text} /></p>}</td></tr>;
}

function Row({ definition, spawn }: { definition: Definition; spawn: () => void }) {
  const [is_open, open] = useState(false);
  const about = <span class="visually-hidden"> {safeText(definition.name)}</span>;
  return (
    <>
      <tr>
        <th scope="row">{safeText(definition.name)}</th>
        <td data-name="Description" class="wide">{oneLine(definition.description)}</td>
        <td data-name="Model" class="number">{modelOf(definition)}</td>
        <td data-name="Permissions">
          {definition.permissions?.length
            ? <ul class="chips">{definition.permissions.map((word) => <li key={word}>{safeText(word)}</li>)}</ul>
            : <span class="faint">defaults only</span>}
        </td>
        <td data-name="Source">
          <span>
            {definition.source}{definition.overrides && <span class="faint"> overrides {safeText(definition.overrides)}</span>}
            {definition.path && <span class="text-line faint is-path">{safeText(definition.path)}</span>}
          </span>
        </td>
        <td data-name="">
          <span class="row-buttons">
            <button type="button" class="button is-small" aria-expanded={is_open} onClick={() => open(!is_open)}>Prompt{about}</button>
            <button type="button" class="button is-small" onClick={spawn}>Spawn{about}</button>
          </span>
        </td>
      </tr>
      {is_open && <Prompt name={definition.name} />}
    </>
  );
}

/// The table of defined agents. `spawn` is called with the name of the agent to spawn.
export function DefinitionTable({ spawn }: { spawn: (name: string) => void }) {
  const all = definitions.value;
  if (!all.length) return null;
  return (
    <table class="rows">
      <thead><tr><th scope="col">Agent</th><th scope="col">Description</th><th scope="col">Model</th><th scope="col">Permissions</th><th scope="col">Source</th><td /></tr></thead>
      <tbody>{all.map((definition) => <Row key={definition.name} definition={definition} spawn={() => spawn(definition.name)} />)}</tbody>
    </table>
  );
}
