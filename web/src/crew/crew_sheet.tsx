import { useState } from "preact/hooks";
import { counted } from "../base/text.ts";
import { DefinitionTable } from "../definitions/definition_table.tsx";
import { definitions, definitions_error, definitions_loaded, problems } from "../definitions/model.ts";
import { Problems } from "../definitions/problems.tsx";
import { isError } from "../definitions/texts.ts";
import { Sheet } from "../ui/sheet.tsx";
import { subagentLinks, subagents } from "./model.ts";
import { SpawnForm } from "./spawn_form.tsx";
import { SubagentCard } from "./subagent_card.tsx";

const shown_subagents = 30;

const resolveLink = subagentLinks(subagents);

/// The defined agents, the problems in their files, and the spawned subagents.
export function CrewSheet() {
  const [spawning, spawn] = useState<string | null>(null);
  const all = definitions.value;
  const invalid = problems.value.filter(isError).length;
  const recent = subagents.value.slice(0, shown_subagents);
  return (
    <Sheet title="Crew" count={`${counted(all.length, "agent")}${invalid ? `, ${counted(invalid, "error")}` : ""}`}
      loaded={definitions_loaded.value} error={definitions_error.value} is_empty={!all.length && !problems.value.length && !recent.length}
      actions={all.length > 0 && <button type="button" class="button" aria-expanded={spawning !== null} onClick={() => spawn(spawning === null ? "" : null)}>Spawn an agent</button>}
      empty={(
        <>
          <h2>No agents are defined</h2>
          <p>An agent is defined by a markdown file with a name, a description and a prompt.</p>
          <pre><code>cru agents new NAME</code></pre>
        </>
      )}>
      {spawning !== null && <SpawnForm key={spawning} agent={spawning || all[0]?.name || ""} done={() => spawn(null)} />}
      <Problems />
      <DefinitionTable spawn={spawn} />
      {recent.length > 0 && (
        <section aria-label="Subagents">
          <h3 class="heading">Subagents</h3>
          <div class="subs">
            {recent.map((subagent) => <SubagentCard key={subagent.task_id} subagent={subagent} resolveLink={resolveLink} />)}
          </div>
        </section>
      )}
    </Sheet>
  );
}
