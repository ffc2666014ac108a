// The runs as the page shows them: the list, the one that is selected, and the part of its output that is held.
import { batch, computed, effect, signal } from "@preact/signals";
import { get, post } from "../base/api.ts";
import { loaded } from "../base/connection.ts";
import type { LogEvent } from "../base/event.ts";
import { safeText } from "../base/safe_text.ts";
import { messageOf } from "../base/text.ts";
import { view } from "../base/views.ts";
import { append, first, isBehind, last, nothing, page_size, prepend, type OutputWindow } from "./output_window.ts";
import { applyRuns, inOrder, isLive, type Runs } from "./state.ts";
import type { Line, OutputPage } from "./wire.ts";

const known = signal<Runs>(new Map());
export const runs = computed(() => inOrder(known.value));
export const live_count = computed(() => runs.value.filter(isLive).length);
export const isRun = (id: string): boolean => known.value.has(id);

export const selected = signal<string | null>(null);
export const run = computed(() => (selected.value ? known.value.get(selected.value) ?? null : null));
export const output = signal<OutputWindow>(nothing);
export const output_error = signal("");
export const following = signal(true);

const outputPath = (id: string, query: string): string => `/agents/${encodeURIComponent(id)}/output?${query}`;

// ---- events

export function takeRunEvents(fresh: readonly LogEvent[]): void {
  known.value = applyRuns(known.peek(), fresh);
}

/// Adds the lines of the selected run's output, those told again too: the window knows what it holds.
export function takeOutputEvents(events: readonly LogEvent[]): void {
  let window = output.peek();
  for (const event of events)
    if (event.type === "agent.output" && event.entity === selected.peek())
      window = append(window, (event.data.lines ?? []) as Line[]);
  if (window !== output.peek()) output.value = window;
}

// ---- output of the selected run
let reading: AbortController | null = null;
let busy = false;

export function select(id: string | null): void {
  if (id === selected.value) return;
  reading?.abort();
  reading = new AbortController();
  busy = false;
  batch(() => {
    selected.value = id;
    output.value = nothing;
    output_error.value = "";
    following.value = true;
  });
  if (id) void readPage(id, `tail=${page_size}`, (page) => append(nothing, page.lines)).then(catchUp);
}

/// Selects a run and goes to it; whoever asks without being a run is nowhere to be shown.
export function openRun(id: string): void {
  if (!known.peek().has(id)) return;
  view.value = "runs";
  select(id);
}

async function readPage(id: string, query: string, take: (page: OutputPage) => OutputWindow): Promise<boolean> {
  if (busy) return false;
  busy = true;
  const mine = reading;
  try {
    const page = await get<OutputPage>(outputPath(id, query), mine?.signal);
    if (selected.value !== id) return false;
    batch(() => {
      const highest = Math.max(output.value.known, known.value.get(id)?.last_seq ?? 0);
      const next = take(page);
      output.value = { ...next, known: Math.max(next.known, highest) };
      output_error.value = "";
    });
    return page.lines.length > 0;
  } catch (error) {
    if (!mine?.signal.aborted) output_error.value = messageOf(error);
    return false;
  } finally {
    if (mine === reading) busy = false;
  }
}

/// Reads on from where the window ends until it holds everything that is known to exist.
export async function catchUp(): Promise<void> {
  for (let id = selected.value; id && id === selected.value && isBehind(output.value);)
    if (!(await readPage(id, `since=${last(output.value)}&limit=${page_size}`, (page) => append(output.value, page.lines)))) return;
}

/// The same, if the newest lines are what somebody looks at.
export function catchUpIfFollowing(): void {
  if (selected.peek() && isBehind(output.peek()) && following.peek()) void catchUp();
}

export async function readEarlier(): Promise<void> {
  const id = selected.value;
  const start = first(output.value);
  if (!id || start <= 1) return;
  const since = Math.max(0, start - 1 - page_size);
  await readPage(id, `since=${since}&limit=${start - 1 - since}`, (page) => prepend(output.value, page.lines));
}

/// Back to the newest lines, wherever the window is.
export function followAgain(): void {
  following.value = true;
  const id = selected.value;
  if (!id || !isBehind(output.value)) return;
  if (output.value.known - last(output.value) <= 5 * page_size) void catchUp();
  else void readPage(id, `tail=${page_size}`, (page) => append(nothing, page.lines));
}

// ---- things a person does
export const kill = (id: string) => post(`/agents/${encodeURIComponent(id)}/kill`);

// ---- the last line of runs that have not printed since the page was opened
const asked = new Set<string>();
async function learnLastLines(): Promise<void> {
  for (const row of runs.value.slice(0, 40)) {
    if (row.last_line !== undefined || !row.last_seq || asked.has(row.task_id)) continue;
    asked.add(row.task_id);
    try {
      const page = await get<OutputPage>(outputPath(row.task_id, "tail=1"));
      const line = page.lines.at(-1);
      const now = known.value.get(row.task_id);
      if (line && now && now.last_line === undefined) known.value = new Map(known.value).set(row.task_id, { ...now, last_line: safeText(line.data) });
    } catch {
      return;
    }
  }
}

/// Selects a run as soon as there is one: the one that is `wanted`, else the one that asks, else the first.
export function startRuns(wanted: string | null, asking: () => string | undefined): void {
  effect(() => {
    if (!loaded.value) return;
    const list = runs.value;
    if (selected.peek() === null && list.length)
      select([wanted, asking(), list[0]!.task_id].find((id) => id && known.peek().has(id)) ?? null);
  });
  effect(() => { if (loaded.value) void learnLastLines(); });
}
