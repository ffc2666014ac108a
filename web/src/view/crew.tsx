import { useEffect, useState } from "preact/hooks";
import { definitions, definitions_loaded, definitions_trouble, linkAmong, problems, readDefinition, subagents } from "../crew_model.ts";
import { safeText } from "../safe_text.ts";
import type { Definition, Problem } from "../wire_crew.ts";
import { oneLine } from "../words_coordination.ts";
import { isError, modelOf, placeOf } from "../words_crew.ts";
import { Lines } from "./lines.tsx";
import { Sheet } from "./sheet.tsx";
import { SpawnForm } from "./spawn_form.tsx";
import { SubagentCard } from "./subagent_card.tsx";

const shown_subagents = 30;

const linkOf = linkAmong(subagents);

/// The prompt, read while somebody looks at it. A definition that changed is another one, and read again.
function Prompt({ name }: { name: string }) {
  const [text, setText] = useState("");
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    readDefinition(name).then(({ prompt }) => { setText(prompt ?? ""); setTrouble(""); }, (error: unknown) => setTrouble(error instanceof Error ? error.message : String(error)));
  }, [name, definitions.value]);
  return <tr><td colSpan={6} class="is-bare">{trouble ? <p class="trouble" role="alert">{safeText(trouble)}</p> : <p class="sub-task"><Lines text={text} /></p>}</td></tr>;
}

function Row({ definition, spawn }: { definition: Definition; spawn: () => void }) {
  const [is_open, open] = useState(false);
  const about = <span class="unseen"> {safeText(definition.name)}</span>;
  return (
    <>
      <tr>
        <th scope="row">{safeText(definition.name)}</th>
        <td data-name="For" class="wide">{oneLine(definition.description)}</td>
        <td data-name="Model" class="number">{modelOf(definition)}</td>
        <td data-name="May">
          {definition.permissions?.length
            ? <ul class="chips">{definition.permissions.map((word) => <li key={word}>{safeText(word)}</li>)}</ul>
            : <span class="faint">nothing more</span>}
        </td>
        <td data-name="From">
          <span>
            {definition.source}{definition.overrides && <span class="faint"> hides {safeText(definition.overrides)}</span>}
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

function ProblemItem({ problem }: { problem: Problem }) {
  const error = isError(problem);
  return (
    <li class={`problem ${error ? "is-failed" : "is-blocked"}`}>
      <p><span class={`badge ${error ? "is-failed" : "is-blocked"}`}><span class="badge-glyph" aria-hidden="true">{error ? "✗" : "‖"}</span>{error ? "invalid" : "warning"}</span> <code>{placeOf(problem)}</code></p>
      <p>{problem.field && <><code>{safeText(problem.field)}</code>: </>}{oneLine(problem.reason ?? "")}</p>
      {problem.suggestion && <p class="problem-fix">{oneLine(problem.suggestion)}</p>}
    </li>
  );
}

/// The agents that can be spawned, what is wrong with those that cannot, and those that were.
export function CrewSheet() {
  const [spawning, spawn] = useState<string | null>(null);
  const all = definitions.value;
  const invalid = problems.value.filter(isError).length;
  const recent = subagents.value.slice(0, shown_subagents);
  return (
    <Sheet title="Crew" count={`${all.length} agents${invalid ? `, ${invalid} ${invalid === 1 ? "error" : "errors"}` : ""}`}
      loaded={definitions_loaded.value} trouble={definitions_trouble.value} is_empty={!all.length && !problems.value.length && !recent.length}
      actions={all.length > 0 && <button type="button" class="button" aria-expanded={spawning !== null} onClick={() => spawn(spawning === null ? "" : null)}>Spawn an agent</button>}
      nothing={(
        <>
          <h2>No agents are defined</h2>
          <p>An agent is a markdown file with a name, what it is for, and its prompt.</p>
          <pre><code>cru agents new NAME</code></pre>
        </>
      )}>
      {spawning !== null && <SpawnForm key={spawning} agent={spawning || all[0]?.name || ""} done={() => spawn(null)} />}
      {problems.value.length > 0 && (
        <section aria-label="Problems">
          <h3 class="heading">Problems</h3>
          <ul class="problems">{problems.value.slice(0, 100).map((problem, i) => <ProblemItem key={i} problem={problem} />)}</ul>
        </section>
      )}
      {all.length > 0 && (
        <table class="rows">
          <thead><tr><th scope="col">Agent</th><th scope="col">For</th><th scope="col">Model</th><th scope="col">May</th><th scope="col">From</th><td /></tr></thead>
          <tbody>{all.map((definition) => <Row key={definition.name} definition={definition} spawn={() => spawn(definition.name)} />)}</tbody>
        </table>
      )}
      {recent.length > 0 && (
        <section aria-label="Spawned">
          <h3 class="heading">Spawned</h3>
          <div class="subs">
            {recent.map((one) => <SubagentCard key={one.task_id} one={one} linkOf={linkOf} />)}
          </div>
        </section>
      )}
    </Sheet>
  );
}
