// The agents that are defined and the minds that can be had, as the page shows them.
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

/// False until the lists have come for the first time; the trouble when they could not be read.
export const definitions_loaded = signal(false);
export const definitions_trouble = signal("");

const read = reader(definitions_trouble, async () => {
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

/// Somebody turns to a view that could not be read.
export function readDefinitionsIfTroubled(): void {
  if (definitions_trouble.peek()) void read();
}

/// Which minds can be had: asked when somebody is about to use one.
export async function readMinds(): Promise<void> {
  try {
    const reply = await get<{ minds: Mind[]; models: ({ name: string } | string)[]; default_model?: string }>("/minds");
    batch(() => {
      minds.value = reply.minds;
      models.value = reply.models.map((model) => (typeof model === "string" ? model : model.name));
      default_model.value = reply.default_model ?? "";
    });
  } catch {
    // The choice is then only what the agents say; the daemon tells what is wrong when a chat begins.
  }
}

export const readDefinition = (name: string) => get<Definition>(`/definitions/${encodeURIComponent(name)}`);
