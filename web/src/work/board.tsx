import { useState } from "preact/hooks";
import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { ago, ahead, oneLine, valueText } from "../base/text.ts";
import { Badge } from "../ui/badge.tsx";
import { ConfirmButton } from "../ui/confirm_button.tsx";
import { Lines } from "../ui/lines.tsx";
import { Sheet } from "../ui/sheet.tsx";
import { TracePane } from "../traces/trace_pane.tsx";
import { cancelWork, open_work, readWork, traced_work, work_list } from "./model.ts";
import { board, columnOf, columns, isOpen } from "./state.ts";
import { SubmitForm } from "./submit_form.tsx";
import type { Work } from "./wire.ts";
import { explanationOf } from "./texts.ts";

const shown = 50;
const shown_text = 160;

function More({ work }: { work: Work }) {
  const facts: [string, string][] = [
    ["id", work.task_id],
    ["submitted by", work.submitted_by ?? ""],
    ["depends on", (work.depends_on ?? []).join(", ")],
    ["attempts", work.max_attempts ? `${work.attempts ?? 0} of ${work.max_attempts}` : ""],
    ["lease expires", isOpen(work) ? ahead(work.lease_expires_at, now.value) : ""],
    ["deadline", work.deadline ?? ""],
    ["verification", (work.verify ?? []).join(" ")],
    ["input", valueText(work.input_data)],
    ["result", valueText(work.result)],
    ["evidence", valueText(work.evidence)],
    ["error", work.error_message ?? ""],
  ];
  const outputs = ["result", "evidence", "error"];
  return (
    <details class="more" onToggle={(event) => { if (event.currentTarget.open) void readWork(work.task_id); }}>
      <summary>More<span class="visually-hidden"> about {safeText(work.task_id)}</span></summary>
      {oneLine(work.description ?? "", shown_text) !== work.description && <p class="more-text"><Lines text={work.description ?? ""} /></p>}
      <dl>{facts.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd><Lines text={value} is_output={outputs.includes(name)} /></dd></div>)}</dl>
      <button type="button" class="button" aria-pressed={traced_work.value === work.task_id} onClick={() => { traced_work.value = traced_work.value === work.task_id ? "" : work.task_id; }}>Trace<span class="visually-hidden"> of {safeText(work.task_id)}</span></button>
      {isOpen(work) && <ConfirmButton label="Cancel" confirm_label="Cancel it now" about={safeText(work.task_id)} act={() => cancelWork(work.task_id)} />}
    </details>
  );
}

export function WorkCard({ work }: { work: Work }) {
  const column = columnOf(work, work_list.items.value, now.value);
  const reason = explanationOf(work, work_list.items.value, now.value);
  const when = work.completed_at ? ago(work.completed_at, now.value) : ago(work.created_at, now.value);
  return (
    <li class={`task is-${column.replace(" ", "-")}`}>
      <p class="task-head">
        <Badge status={column === "blocked" ? "blocked" : work.status} />
        <span class="since">{when}</span>
      </p>
      <p class="task-what">{oneLine(work.description ?? "", shown_text)}</p>
      <p class="task-facts">
        <span>{safeText(work.task_type ?? "")}</span>
        <span title="1 is the highest priority, 10 the lowest">priority {work.priority ?? 5}</span>
        {work.claimed_by && isOpen(work) && <span>claimed by <b>{safeText(work.claimed_by)}</b></span>}
        {(work.attempts ?? 0) > 1 && <span>attempt {work.attempts}</span>}
      </p>
      {reason && <p class="task-why">{safeText(reason)}</p>}
      <More work={work} />
    </li>
  );
}

export function Board() {
  const [submitting, submit] = useState(false);
  const all = board(work_list.items.value, now.value);
  const total = columns.reduce((sum, column) => sum + all[column].length, 0);
  return (
    <Sheet title="Board" count={`${open_work.value} open`} loaded={work_list.loaded.value} error={work_list.error.value} is_empty={!total && !submitting}
      actions={<button type="button" class="button" aria-expanded={submitting} onClick={() => submit(!submitting)}>Submit work</button>}
      empty={(
        <>
          <h2>No work yet</h2>
          <p>Submit a work item, and the next agent that asks for work receives it.</p>
          <pre><code>cru work submit TYPE "DESCRIPTION"</code></pre>
        </>
      )}>
      {submitting && <SubmitForm done={() => submit(false)} />}
      {traced_work.value && (
        <section class="work-trace" aria-label={`Trace of ${safeText(traced_work.value)}`}>
          <h3 class="heading">Trace of {safeText(traced_work.value)} <button type="button" class="button" onClick={() => { traced_work.value = ""; }}>Close</button></h3>
          <TracePane id={traced_work.value} />
        </section>
      )}
      <div class="board">
        {columns.map((column) => (
          <section class="column" key={column} aria-label={`Work: ${column}`}>
            <h3 class="heading">{column} <span class="column-count">{all[column].length}</span></h3>
            {all[column].length
              ? <ul>{all[column].slice(0, shown).map((work) => <WorkCard key={work.task_id} work={work} />)}</ul>
              : <p class="hint">None.</p>}
            {all[column].length > shown && <p class="hint">{all[column].length - shown} more: run <code>cru work list</code></p>}
          </section>
        ))}
      </div>
    </Sheet>
  );
}
