import { useState } from "preact/hooks";
import { counted } from "../base/text.ts";
import { DefinitionTable } from "../definitions/definition_table.tsx";
import { definitions, definitions_error, definitions_loaded, problems } from "../definitions/model.ts";
import { Problems } from "../definitions/problems.tsx";
import { isError } from "../definitions/texts.ts";
import { threadAddress } from "../members/texts.ts";
import { Sheet } from "../ui/sheet.tsx";
import { SpawnForm } from "./spawn_form.tsx";

/// The defined agents and the problems in their files.
export function DefinitionsSheet() {
  const [spawning, spawn] = useState("");
  const all = definitions.value;
  const invalid = problems.value.filter(isError).length;
  const done = (subagent?: string) => {
    spawn("");
    if (subagent) location.hash = threadAddress(subagent);
  };
  return (
    <Sheet title="Definitions" count={`${counted(all.length, "agent")}${invalid ? `, ${counted(invalid, "error")}` : ""}`}
      loaded={definitions_loaded.value} error={definitions_error.value} is_empty={!all.length && !problems.value.length}
      empty={(
        <>
          <h2>No agents are defined</h2>
          <p>An agent is defined by a markdown file with a name, a description and a prompt.</p>
          <pre><code>cru agents new NAME</code></pre>
        </>
      )}>
      {spawning && <SpawnForm key={spawning} agent={spawning} done={done} />}
      <Problems />
      <DefinitionTable spawn={spawn} />
    </Sheet>
  );
}
