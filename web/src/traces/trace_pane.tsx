import { useEffect, useMemo, useRef } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { oneLine } from "../base/text.ts";
import { Facts } from "../ui/facts.tsx";
import { TraceView } from "./model.ts";
import { barOf, hasFailed, type Row } from "./state.ts";
import { iterationText, labelOf, markOf, nameOf, spentText, summaryOf, took, waitText } from "./texts.ts";
import type { Span, Trace } from "./wire.ts";

const idOf = (view: TraceView, span: Pick<Span, "order">) => `trace-${view.number}-span-${span.order}`;

/// When the span was at work, and within that when it waited. What it shows is also said in words.
function Bar({ of, span }: { of: Trace; span: Span }) {
  const bar = barOf(of, span.offset_ms, span.duration_ms);
  return (
    <svg class="trace-bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="trace-whole" x={0} y={4.5} width={1000} height={1} />
      <rect class={`trace-work ${hasFailed(span) ? "is-failed" : ""}`} x={bar.x} y={1} width={bar.width} height={8} />
      {span.waits.map((wait, i) => {
        const part = barOf(of, wait.offset_ms, wait.duration_ms);
        return <rect key={i} class="trace-wait" x={part.x} y={3} width={part.width} height={4} />;
      })}
    </svg>
  );
}

function TreeRow({ view, of, row: { span, level, has_children, is_open, position, siblings } }: { view: TraceView; of: Trace; row: Row }) {
  const is_focused = view.focused.value === span.id;
  return (
    <li role="treeitem" id={idOf(view, span)} class={`trace-row is-level-${Math.min(level, 8)} ${hasFailed(span) ? "is-failed" : ""}`} aria-level={level} aria-posinset={position} aria-setsize={siblings}
      aria-selected={is_focused} aria-label={labelOf(span)} {...(has_children && { "aria-expanded": is_open })} tabIndex={is_focused ? 0 : -1}
      onClick={() => { if (is_focused && has_children) view.toggle(span.id); view.focused.value = span.id; }}>
      <span class="trace-name"><span class="trace-fold" aria-hidden="true">{has_children ? (is_open ? "▾" : "▸") : ""}</span><span class="trace-mark">{markOf(span)}</span> {nameOf(span)} <span class="faint">{safeText(span.model)}</span></span>
      <span class="trace-time">{took(span.duration_ms)}</span>
      <Bar of={of} span={span} />
    </li>
  );
}

function Details({ span }: { span: Span }) {
  return (
    <section class="trace-details" aria-label={`Details of ${nameOf(span)}`} aria-live="polite">
      <Facts of={[["status", span.status], ["spent", spentText(span)], ["queued", span.queued_ms >= 1000 ? took(span.queued_ms) : ""], ["waited", span.waited_ms ? took(span.waited_ms) : ""], ["chain", span.parent_chain.map(safeText).join(" → ")], ["trace", span.trace_id], ["file", safeText(span.file ?? "")]]} />
      {span.waits.length > 0 && <ul class="trace-waits">{span.waits.map((wait, i) => <li key={i}><span aria-hidden="true">⏸&#xFE0E;</span> {waitText(wait)}</li>)}</ul>}
      {span.reflection && span.reflection.iterations.length > 0 && <ol class="trace-waits" aria-label="Attempts">{span.reflection.iterations.map((one) => <li key={one.attempt}><span aria-hidden="true">↻</span> {iterationText(one)}</li>)}</ol>}
      {span.error && <p class="pane-why">{oneLine(`${span.error.type}: ${span.error.message}`, 1000)}{span.error.attempting && ` (while attempting: ${oneLine(span.error.attempting, 200)})`}</p>}
    </section>
  );
}

/// A trace as a tree with its timeline. The arrow keys move between the spans and open and close them.
export function TracePane({ id }: { id: string }) {
  const tree = useRef<HTMLUListElement>(null);
  const view = useMemo(() => new TraceView(id), [id]);
  useEffect(() => view.show(), [view]);
  const of = view.trace.value;
  if (!of) return <p class={view.error.value ? "error" : "hint"}>{view.error.value || "Reading the trace…"}</p>;
  const selected = of.spans.find((span) => span.id === view.focused.value);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !view.press(event.key)) return;
    event.preventDefault();
    requestAnimationFrame(() => tree.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus());
  };
  return (
    <>
      <p class="trace-summary"><span class={of.failed ? "trace-failed" : ""}>{summaryOf(of)}</span> <code class="faint">{of.trace_id}</code></p>
      {view.error.value && <p class="error">{view.error.value}</p>}
      <ul role="tree" class="trace-tree" aria-label="Trace" ref={tree} onKeyDown={onKeyDown}>{view.rows.value.map((row) => <TreeRow key={row.span.id} view={view} of={of} row={row} />)}</ul>
      {selected && <Details span={selected} />}
    </>
  );
}
