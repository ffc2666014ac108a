// Signals and actions for runs: the list, the selected run, and the loaded part of its output.
import { batch, computed, effect, signal } from "@preact/signals";
import { get, post } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { messageOf } from "../base/text.ts";
import { append, empty_window, first, isBehind, last, page_size, prepend, type OutputWindow } from "./output_window.ts";
import { applyRuns, inOrder, printsWork, type Runs } from "./state.ts";
import { joined, toBase64 } from "./terminal_text.ts";
import { lastLine } from "./texts.ts";
import type { Line, OutputPage, Run } from "./wire.ts";

const known = signal<Runs>(new Map());
export const runWith = (id: string) => known.value.get(id);

export const selected = signal<string | null>(null);
export const run = computed(() => (selected.value ? known.value.get(selected.value) ?? null : null));
export const output = signal<OutputWindow>(empty_window);
export const output_error = signal("");
export const following = signal(true);
/// The output of an agent program as it was printed, and not in words.
export const is_raw = signal(false);
/// Why what was typed did not reach the run; empty if it did.
export const input_error = signal("");

const runPath = (id: string, rest = ""): string => `/agents/${encodeURIComponent(id)}${rest}`;
const outputPath = (id: string, query: string, as = is_raw.peek() ? "raw" : "text"): string => runPath(id, `/output?as=${as}&${query}`);

// ---- events

export function applyRunEvents(fresh: readonly LogEvent[]): void {
  known.value = applyRuns(known.peek(), fresh);
}

/// Adds output of the selected run. What an agent program prints is not taken from the event: it is read in words. Repeated events are harmless: the window ignores lines that it already contains.
export function applyOutputEvents(events: readonly LogEvent[]): void {
  let window = output.peek();
  for (const event of events)
    if (event.type === "agent.output" && event.entity === selected.peek())
      window = run.peek() && printsWork(run.peek()!) && !is_raw.peek()
        ? { ...window, known: Math.max(window.known, Number(event.data.to ?? 0)) }
        : append(window, (event.data.lines ?? []) as Line[]);
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
    output.value = empty_window;
    output_error.value = "";
    following.value = true;
    input_error.value = "";
  });
  if (id) readTail(id);
}

function readTail(id: string): void {
  void readPage(id, `tail=${page_size}`, (page) => append(empty_window, page.lines)).then(catchUp);
}

export function showRaw(is_wanted: boolean): void {
  is_raw.value = is_wanted;
  const id = selected.peek();
  select(null);
  select(id);
}

/// Reads the record of a run: the events that tell of a new one do not say everything.
export async function readRun(id: string): Promise<void> {
  try {
    const found = await get<Run>(runPath(id));
    const now = known.peek().get(id);
    if (now) known.value = new Map(known.peek()).set(id, { ...found, ...now, pty: found.pty ?? false });
  } catch {
    // What the events tell is shown.
  }
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

/// Reads from the end of the window until it contains the newest known line.
export async function catchUp(): Promise<void> {
  for (let id = selected.value; id && id === selected.value && isBehind(output.value);)
    if (!(await readPage(id, `since=${last(output.value)}&limit=${page_size}`, (page) => append(output.value, page.lines)))) return;
}

/// Like `catchUp`, but only while the output is followed.
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

/// Returns to the newest lines.
export function followAgain(): void {
  following.value = true;
  const id = selected.value;
  if (!id || !isBehind(output.value)) return;
  if (output.value.known - last(output.value) <= 5 * page_size) void catchUp();
  else void readPage(id, `tail=${page_size}`, (page) => append(empty_window, page.lines));
}

// ---- actions
export const kill = (id: string) => post(runPath(id, "/kill"));

export const resize = (id: string, size: { rows: number; cols: number }): Promise<unknown> => post(runPath(id, "/resize"), size).catch(() => {});

const max_typed = 256 << 10;
let typed: { id: string; bytes: Uint8Array }[] = [];
let is_typing = false;

/// Sends what the user typed into a run's terminal, in its order: what is typed while a request is under way goes with the next.
export function type(id: string, bytes: Uint8Array): void {
  const last = typed.at(-1);
  if (last?.id === id && last.bytes.length + bytes.length <= max_typed) last.bytes = joined(last.bytes, bytes);
  else for (let i = 0; i < bytes.length; i += max_typed) typed.push({ id, bytes: bytes.subarray(i, i + max_typed) });
  if (!is_typing) void sendTyped();
}

async function sendTyped(): Promise<void> {
  is_typing = true;
  for (let next = typed.shift(); next; next = typed.shift()) {
    try {
      await post(runPath(next.id, "/input"), { data: toBase64(next.bytes), raw: true });
      input_error.value = "";
    } catch (error) {
      // Not sent again: nobody knows how much of it has arrived.
      typed = [];
      if (next.id === selected.peek()) input_error.value = messageOf(error);
    }
  }
  is_typing = false;
}

// ---- the last line of runs that have printed nothing since the page was opened
const asked = new Set<string>();
async function readLastLines(): Promise<void> {
  for (const row of inOrder(known.value).slice(0, 40)) {
    if (row.last_line !== undefined || !row.last_seq || asked.has(row.task_id)) continue;
    asked.add(row.task_id);
    try {
      const page = await get<OutputPage>(outputPath(row.task_id, "tail=1", "text"));
      const line = page.lines.at(-1);
      const now = known.value.get(row.task_id);
      if (line && now && now.last_line === undefined) known.value = new Map(known.value).set(row.task_id, { ...now, last_line: lastLine(line.data) });
    } catch {
      return;
    }
  }
}

export function startRuns(): void {
  effect(() => void readLastLines());
}
