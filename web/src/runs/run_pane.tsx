import { now } from "../base/clock.ts";
import { loaded } from "../base/connection.ts";
import { questions } from "../inbox/model.ts";
import { Badge } from "../ui/badge.tsx";
import { ConfirmButton } from "../ui/confirm_button.tsx";
import { kill, run, runs } from "./model.ts";
import { Output } from "./output.tsx";
import { isActive } from "./state.ts";
import { command, endReason, since } from "./texts.ts";

function Empty() {
  return (
    <section class="empty">
      <h2>{loaded.value ? "No runs yet" : "Connecting to the daemon…"}</h2>
      {loaded.value && (
        <>
          <p>Start a run in this project and it appears here immediately.</p>
          <pre><code>cru run -- COMMAND</code></pre>
        </>
      )}
    </section>
  );
}

export function RunPane() {
  const at = run.value;
  if (!at) return runs.value.length ? <section class="empty"><h2>Select a run</h2></section> : <Empty />;
  const why = at.status === "failed" ? endReason(at) : "";
  const facts: [string, string][] = [
    ["pid", at.pid && isActive(at) ? String(at.pid) : ""],
    ["branch", at.branch ?? ""],
    ["folder", at.worktree ?? ""],
  ];
  return (
    <section class="pane" aria-label={`Run ${at.task_id}`}>
      <header class="pane-head">
        <div class="pane-title">
          <h2>{at.task_id}</h2>
          <Badge status={at.status} needs_you={questions.value.some((question) => question.task_id === at.task_id)} />
          <span class="pane-since">{since(at, now.value)}</span>
          <span class="spacer" />
          {isActive(at) && <ConfirmButton key={at.task_id} label="Kill" confirm_label="Kill it now" act={() => kill(at.task_id)} />}
        </div>
        <p class="pane-command"><code>{command(at)}</code></p>
        {why && <p class="pane-why"><span aria-hidden="true">✗ </span>{why}</p>}
        <dl class="facts">
          {facts.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd title={value}>{value}</dd></div>)}
        </dl>
      </header>
      <Output />
    </section>
  );
}
