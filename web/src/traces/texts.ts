// Texts about traces. Pure.
import { safeText } from "../base/safe_text.ts";
import { cost, duration, oneLine, tokens } from "../base/text.ts";
import { hasFailed } from "./state.ts";
import type { Iteration, Span, Trace, Wait } from "./wire.ts";

/// "840 ms", "4.2 s", and longer times as everywhere.
export const took = (ms: number): string => (ms < 1000 ? `${Math.max(0, Math.round(ms))} ms` : ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : duration(ms));

export function markOf(span: Span): string {
  if (hasFailed(span)) return "✗";
  if (span.status === "cancelled" || span.status === "killed") return "⊘";
  if (["running", "active", "starting", "claimed"].includes(span.status)) return "▸";
  return span.status === "queued" || span.status === "pending" ? "·" : "✓";
}

/// Programs have the same name as often as not: of a run the id is said too.
export const nameOf = ({ order, agent, kind, id }: Pick<Span, "order" | "agent" | "kind" | "id">): string => `${order ? `#${order} ` : ""}${safeText(agent)}${kind === "run" && id !== agent ? ` ${safeText(id)}` : ""}`;

export const waitText = ({ kind, id, outcome, duration_ms }: Wait): string => `${took(duration_ms)} waiting for ${kind === "limit" ? "the usage limit of" : kind} ${safeText(id)}, ${outcome === "open" ? "still open" : safeText(outcome)}`;

/// "attempt 1: not passed, score 0.40, 1.2k tok, 3.1 s: It names no file."
export function iterationText({ attempt, passed, score, critique, tokens: spent, duration_ms }: Iteration): string {
  const parts = [passed ? "passed" : "not passed", score === null ? "" : `score ${score.toFixed(2)}`, tokens(spent), took(duration_ms)];
  const why = oneLine(critique.trim().split("\n")[0]!, 160);
  return `attempt ${attempt}: ${parts.filter(Boolean).join(", ")}${why && `: ${why}`}`;
}

/// "14.1k tok, $0.42"; with what others did for it, if that is more.
export function spentText(span: Span): string {
  const own = [tokens(span.tokens), cost(span.cost_usd)].filter(Boolean).join(", ");
  const all = [tokens(span.total_tokens), cost(span.total_cost_usd)].filter(Boolean).join(", ");
  return span.total_tokens > span.tokens ? `${own || "0 tok"} (${all} in all)` : own;
}

/// What a screen reader says of a row.
export function labelOf(span: Span): string {
  const parts = [nameOf(span), hasFailed(span) ? "failed" : span.status, span.model && safeText(span.model), took(span.duration_ms), spentText(span), span.waited_ms ? `waited ${took(span.waited_ms)}` : "", span.error ? oneLine(`${span.error.type}: ${span.error.message}`, 200) : ""];
  return parts.filter(Boolean).join(", ");
}

export function summaryOf(trace: Trace): string {
  const parts = [trace.status, trace.failed ? `${trace.failed} failed` : "", took(trace.duration_ms), trace.waited_ms ? `${took(trace.waited_ms)} waited` : "", tokens(trace.tokens), cost(trace.cost_usd)];
  return parts.filter(Boolean).join(" · ");
}
