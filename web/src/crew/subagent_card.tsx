import { useEffect, useRef, useState } from "preact/hooks";
import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { oneLine } from "../base/text.ts";
import { Badge } from "../ui/badge.tsx";
import { Lines } from "../ui/lines.tsx";
import { Markdown, type LinkOf } from "../ui/markdown.tsx";
import { TwoPresses } from "../ui/two_presses.tsx";
import { cancelSubagent, pointed_at, readSubagent } from "./model.ts";
import { isEnded, type SubagentRow } from "./state.ts";
import { cost, subagentSince, tokens, waitingText } from "./words.ts";

/// What it is doing, or how it ended, in a sentence or two.
function State({ one }: { one: SubagentRow }) {
  if (one.status === "queued") return <p class="sub-line">{one.queue_position ? `position ${one.queue_position} in the queue` : "waiting in the queue"}</p>;
  if (one.status === "failed") {
    return (
      <p class="sub-line is-failed">
        <b>{safeText(one.error_type || "failed")}</b>{one.severity && ` (${safeText(one.severity)})`}: <Lines text={one.error_message || "no reason given"} />
      </p>
    );
  }
  if (isEnded(one)) return one.summary ? <p class="sub-line"><Lines text={one.summary} /></p> : null;
  const tool = one.tools?.at(-1);
  return (
    <>
      {one.waiting && <p class="sub-line is-waiting">{waitingText(one.waiting, now.value)}</p>}
      {tool && <p class="sub-line"><span class="faint">tool {one.tool_count}</span> <code>{oneLine(tool.name, 60)}</code> {oneLine(tool.summary, 200)}</p>}
      {one.coming?.text && <p class="sub-live">{oneLine(one.coming.text.slice(-400), 400)}</p>}
    </>
  );
}

/// Its task, and its report once there is one: read when somebody opens it.
function Report({ one, linkOf, is_open }: { one: SubagentRow; linkOf: LinkOf; is_open: boolean }) {
  const [trouble, setTrouble] = useState("");
  const wanted = useRef(false);
  const read = () => {
    if (wanted.current || (one.result !== undefined && one.task !== undefined)) return;
    wanted.current = true;
    readSubagent(one.task_id).then(() => setTrouble(""), (error: unknown) => setTrouble(error instanceof Error ? error.message : String(error))).finally(() => { wanted.current = false; });
  };
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => { if (is_open && box.current) box.current.open = true; }, [is_open]);
  useEffect(() => { if (box.current?.open) read(); }, [one.status]);
  return (
    <details class="fold" ref={box} onToggle={(event) => { if (event.currentTarget.open) read(); }}>
      <summary>{isEnded(one) ? "Task and report" : "Task"}<span class="unseen"> of {safeText(one.agent)} {safeText(one.task_id)}</span></summary>
      {trouble && <p class="trouble" role="alert">{trouble}</p>}
      {one.task && <p class="sub-task"><Lines text={one.task.slice(0, 4000)} /></p>}
      {one.result && <Markdown text={one.result} linkOf={linkOf} />}
      {one.truncated && <p class="hint">Truncated. The file contains the full report.</p>}
    </details>
  );
}

/// A spawned agent: its state by glyph, word and colour, and what came of it.
export function SubagentCard({ one, linkOf }: { one: SubagentRow; linkOf: LinkOf }) {
  const box = useRef<HTMLElement>(null);
  const is_meant = pointed_at.value === one.task_id;
  useEffect(() => {
    if (!is_meant) return;
    box.current?.scrollIntoView({ block: "center" });
    box.current?.focus({ preventScroll: true });
    pointed_at.value = null;
  }, [is_meant]);
  const facts = [one.model ?? "", tokens(one.tokens), cost(one.cost_usd), one.file ?? ""].filter(Boolean);
  return (
    <article class={`sub is-${one.status}`} ref={box} tabIndex={-1} aria-label={`Subagent ${safeText(one.agent)} ${safeText(one.task_id)}`}>
      <p class="sub-head">
        <b>{safeText(one.agent)}</b> <span class="faint">{safeText(one.task_id)}</span>
        <Badge status={one.status} />
        <span class="since">{subagentSince(one, now.value)}</span>
        <span class="spring" />
        {!isEnded(one) && <TwoPresses word="Cancel" sure="Cancel it now" about={safeText(one.task_id)} act={() => cancelSubagent(one.task_id)} />}
      </p>
      <State one={one} />
      {facts.length > 0 && <p class="sub-facts">{facts.map((fact) => <span key={fact}>{safeText(fact)}</span>)}</p>}
      <Report one={one} linkOf={linkOf} is_open={is_meant} />
    </article>
  );
}
