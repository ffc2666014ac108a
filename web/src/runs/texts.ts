// Texts about runs. Pure.
import type { LogEvent } from "../base/event.ts";
import { safeText, stripEscapes, visibleText } from "../base/safe_text.ts";
import type { Run } from "./wire.ts";

export function command(run: Run): string {
  const words = run.task ? `${run.backend && run.backend !== "command" ? `${run.backend}: ` : ""}${run.task}` : (run.argv ?? []).join(" ");
  return safeText(words.replace(/\s+/g, " "));
}

/// The last line of a text that says something, safe to show: a terminal's record has many lines, and so have words that were told.
export const lastLine = (text: string): string => safeText(stripEscapes(text).split("\n").filter((line) => line.trim()).at(-1) ?? "");

/// A description of a run's event in one line.
export function describeRun(event: LogEvent): string {
  const data = event.data as Record<string, unknown> & { lines?: { seq: number; data: string }[]; prompt?: string };
  if (event.type === "agent.output") {
    const lines = data.lines ?? [];
    const line = lastLine(lines.at(-1)?.data ?? "");
    return lines.length > 1 ? `${lines.length} lines · ${line}` : line;
  }
  if (event.type === "agent.waiting") return data.waits_for ? `waits: ${safeText(String(data.waits_for))}` : "continues";
  if (data.prompt) return visibleText(data.prompt);
  if (data.error) return safeText(String(data.error));
  if (typeof data.exit_code === "number") return `exit code ${data.exit_code}`;
  if (typeof data.pid === "number") return `pid ${data.pid}`;
  return "";
}
