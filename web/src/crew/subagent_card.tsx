import { useEffect, useRef, useState } from "preact/hooks";
import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { cost, messageOf, oneLine, tokens } from "../base/text.ts";
import { BadgeOf } from "../members/member_badge.tsx";
import { ConfirmButton } from "../ui/confirm_button.tsx";
import { Lines } from "../ui/lines.tsx";
import { Markdown, type ResolveLink } from "../ui/markdown.tsx";
import { cancelSubagent, readSubagent } from "./model.ts";
import { isEnded, type SubagentRow } from "./state.ts";
import { subagentSince, waitingText } from "./texts.ts";

/// What the subagent is doing, or how it ended.
function State({ subagent }: { subagent: SubagentRow }) {
  if (subagent.status === "queued") return <p class="sub-line">{subagent.queue_position ? `position ${subagent.queue_position} in the queue` : "waiting in the queue"}</p>;
  if (subagent.status === "failed") {
    return (
      <p class="sub-line is-failed">
        <b>{safeText(subagent.error_type || "failed")}</b>{subagent.severity && ` (${safeText(subagent.severity)})`}: <Lines text={subagent.error_message || "no reason given"} is_output />
      </p>
    );
  }
  if (subagent.status === "cancelled") return <p class="sub-line">cancelled</p>;
  if (isEnded(subagent)) return subagent.summary ? <p class="sub-line"><Lines text={subagent.summary} /></p> : null;
  const tool = subagent.tools?.at(-1);
  return (
    <>
      {subagent.waiting && <p class="sub-line is-waiting">{waitingText(subagent.waiting, now.value)}</p>}
      {tool && <p class="sub-line"><span class="faint">tool {subagent.tool_count}</span> <code>{oneLine(tool.name, 60)}</code> {oneLine(tool.summary, 200)}</p>}
      {subagent.streaming?.text && <p class="sub-live">{oneLine(subagent.streaming.text.slice(-400), 400)}</p>}
    </>
  );
}

/// The task, and the report once there is one. They are read when the section is opened.
function Report({ subagent, resolveLink, is_open }: { subagent: SubagentRow; resolveLink: ResolveLink; is_open: boolean }) {
  const [error, setError] = useState("");
  const wanted = useRef(false);
  const read = () => {
    if (wanted.current || (subagent.result !== undefined && subagent.task !== undefined)) return;
    wanted.current = true;
    readSubagent(subagent.task_id).then(() => setError(""), (error: unknown) => setError(messageOf(error))).finally(() => { wanted.current = false; });
  };
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => { if (is_open && box.current) box.current.open = true; }, [is_open]);
  useEffect(() => { if (box.current?.open) read(); }, [subagent.status]);
  return (
    <details class="fold" ref={box} onToggle={(event) => { if (event.currentTarget.open) read(); }}>
      <summary>{isEnded(subagent) ? "Task and report" : "Task"}<span class="visually-hidden"> of {safeText(subagent.agent)} {safeText(subagent.task_id)}</span></summary>
      {error && <p class="error" role="alert">{error}</p>}
      {subagent.task && <p class="sub-task"><Lines text={subagent.task.slice(0, 4000)} /></p>}
      {subagent.result && <Markdown text={subagent.result} resolveLink={resolveLink} />}
      {subagent.truncated && <p class="hint">Truncated. The file contains the full report.</p>}
    </details>
  );
}

/// A subagent with its state, progress, result and costs. Its report is shown at once if `is_open`.
export function SubagentCard({ subagent, resolveLink, is_open }: { subagent: SubagentRow; resolveLink: ResolveLink; is_open?: boolean }) {
  const facts = [subagent.model ?? "", tokens(subagent.tokens), cost(subagent.cost_usd), subagent.file ?? ""].filter(Boolean);
  return (
    <article class={`sub is-${subagent.status}`} aria-label={`Subagent ${safeText(subagent.agent)} ${safeText(subagent.task_id)}`}>
      <p class="sub-head">
        <b>{safeText(subagent.agent)}</b> <span class="faint">{safeText(subagent.task_id)}</span>
        <BadgeOf target={{ by: "thread", id: subagent.task_id }} />
        <span class="since">{subagentSince(subagent, now.value)}</span>
        <span class="spacer" />
        {!isEnded(subagent) && <ConfirmButton label="Cancel" confirm_label="Cancel it now" about={safeText(subagent.task_id)} act={() => cancelSubagent(subagent.task_id)} />}
      </p>
      <State subagent={subagent} />
      {facts.length > 0 && <p class="sub-facts">{facts.map((fact) => <span key={fact}>{safeText(fact)}</span>)}</p>}
      <Report subagent={subagent} resolveLink={resolveLink} is_open={!!is_open} />
    </article>
  );
}
