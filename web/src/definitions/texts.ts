// Texts about definitions, their problems, and minds. Pure.
import type { LogEvent } from "../base/event.ts";
import { safeText } from "../base/safe_text.ts";
import { counted, oneLine } from "../base/text.ts";
import type { Definition, Mind, Problem } from "./wire.ts";

export const isError = (problem: Problem): boolean => (problem.severity ? problem.severity === "error" : problem.is_error !== false);

/// "PATH:LINE"
export const placeOf = (problem: Problem): string => safeText(`${problem.path ?? ""}${problem.line ? `:${problem.line}` : ""}`);

/// The model of a definition, and where it comes from if the definition does not name one.
export const modelOf = (definition: Definition): string =>
  safeText(definition.model ?? "") + (definition.model_source === "default" ? " (default)" : definition.model_source === "parent" ? " (inherited)" : "");

/// Why each mind does not work and how to fix it; empty if one works. Scripted minds do not count.
export function missingMinds(minds: readonly Mind[]): { why: string; fix: string }[] {
  const real = minds.filter((mind) => mind.kind !== "scripted");
  if (!real.length || real.some((mind) => mind.works)) return [];
  return real.filter((mind) => mind.why || mind.fix).map((mind) => ({ why: oneLine(`${mind.provider}: ${mind.why ?? "not working"}`), fix: oneLine(mind.fix ?? "") }));
}

/// A description of an event about definitions in one line.
export function describeDefinitions({ data }: LogEvent): string {
  const number = (key: string) => (typeof data[key] === "number" ? (data[key] as number) : 0);
  return `${counted(number("agents"), "agent")}${number("skipped") ? `, ${number("skipped")} invalid` : ""}`;
}
