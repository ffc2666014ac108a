// Signals for agent definitions and minds.
import { batch, signal } from "@preact/signals";
import { get } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { reader } from "../base/reader.ts";
import type { Definition, Mind, Problem } from "./wire.ts";

export const definitions = signal<Definition[]>([]);
export const problems = signal<Problem[]>([]);
export const minds = signal<Mind[]>([]);
export const models = signal<string[]>([]);
export const default_model = signal("");

/// Whether the definitions have been read, and why the last read failed.
export const definitions_loaded = signal(false);
export const definitions_error = signal("");

const read = reader(definitions_error, async () => {
  const [{ agents }, found] = await Promise.all([get<{ agents: Definition[] }>("/definitions"), get<{ problems: Problem[] }>("/definitions/validate")]);
  batch(() => {
    definitions.value = agents;
    problems.value = found.problems;
    definitions_loaded.value = true;
  });
});

export const readDefinitions = (): void => void read();

export function applyDefinitionEvents(events: readonly LogEvent[]): void {
  if (events.some(({ type }) => type === "definitions.changed")) void read();
}

/// Called when a view of definitions becomes visible.
export function readDefinitionsIfFailed(): void {
  if (definitions_error.peek()) void read();
}

/// Reads the available minds. Called when a form that needs one is opened.
export async function readMinds(): Promise<void> {
  try {
    const reply = await get<{ minds: Mind[]; models: ({ name: string } | string)[]; default_model?: string }>("/minds");
    batch(() => {
      minds.value = reply.minds;
      models.value = reply.models.map((model) => (typeof model === "string" ? model : model.name));
      default_model.value = reply.default_model ?? "";
    });
  } catch {
    // The form then offers no models; the daemon reports what is wrong when the form is sent.
  }
}

export const readDefinition = (name: string) => get<Definition>(`/definitions/${encodeURIComponent(name)}`);
