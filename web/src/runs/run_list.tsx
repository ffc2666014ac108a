import { now } from "../base/clock.ts";
import { loaded } from "../base/connection.ts";
import { questions } from "../inbox/model.ts";
import { moveByKey } from "../ui/arrow_keys.ts";
import { Badge } from "../ui/badge.tsx";
import { runs, select, selected } from "./model.ts";
import { command, endReason, since } from "./texts.ts";

export function RunList() {
  const asking = new Set(questions.value.map((question) => question.task_id));
  if (!runs.value.length) {
    return (
      <nav class="runs" aria-label="Runs">
        <h2 class="heading">Runs</h2>
        <p class="hint">{loaded.value ? "No runs yet." : "Loading…"}</p>
      </nav>
    );
  }
  return (
    <nav class="runs" aria-label="Runs">
      <h2 class="heading">Runs</h2>
      <ul class="run-list" onKeyDown={moveByKey}>
        {runs.value.map((run) => (
          <li key={run.task_id}>
            <button type="button" class={`run is-${asking.has(run.task_id) ? "needs-you" : run.status}`}
              aria-current={run.task_id === selected.value ? "true" : undefined} onClick={() => select(run.task_id)}>
              <span class="run-id">{run.task_id}</span>
              <span class="run-since">{since(run, now.value)}</span>
              <Badge status={run.status} needs_you={asking.has(run.task_id)} />
              <span class="run-line">{(run.status === "failed" && endReason(run)) || (run.last_line ?? command(run))}</span>
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}
