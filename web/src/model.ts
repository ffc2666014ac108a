// The page's living state: signals, and what moves them. Views read these and call these.
import { batch, computed, effect, signal } from "@preact/signals";
import { get, post } from "./api.ts";
import { follow, link } from "./connection.ts";
import { applyCrewEvents, chats, crew, crewReconnected, openChat, pointed_at, readCrew, readCrewIfTroubled } from "./crew_model.ts";
import { append, first, isBehind, last, nothing, page_size, prepend, type OutputWindow } from "./output_window.ts";
import { safeText } from "./safe_text.ts";
import { applyShared, keepFresh, readLists, shared_trouble } from "./shared_model.ts";
import { empty, inOrder, isLive, pending, readEvent, reduce, withHistory, type State } from "./state.ts";
import { addressOf, chatAddress, isField, view, viewIn, viewOf, viewOfKey, wordIn } from "./views.ts";
import { countLive, startWorld } from "./world_live.ts";
import type { Line, LogEvent, OutputPage } from "./wire.ts";

export const state = signal<State>(empty);
export const runs = computed(() => inOrder(state.value.runs));
export const questions = computed(() => pending(state.value.questions));
export const live_count = computed(() => runs.value.filter(isLive).length);
export const loaded = signal(false);

export const selected = signal<string | null>(null);
export const run = computed(() => (selected.value ? state.value.runs.get(selected.value) ?? null : null));
export const output = signal<OutputWindow>(nothing);
export const output_error = signal("");
export const following = signal(true);
export const show_output_events = signal(false);

/// The time, by the second, while someone can see it.
export const now = signal(Date.now());

// ---- events: gathered for a moment, applied at once
let waiting: LogEvent[] = [];
let scheduled = false;

function deliver(events: LogEvent[]): void {
  waiting.push(...events);
  if (scheduled) return;
  scheduled = true;
  setTimeout(flush, document.hidden ? 500 : 40);
}

function flush(): void {
  scheduled = false;
  const events = waiting;
  waiting = [];
  batch(() => {
    state.value = reduce(state.value, events);
    applyShared(events);
    applyCrewEvents(events);
    countLive(events);
    if (events.some((event) => event.type === "state.snapshot")) loaded.value = true;
    let window = output.value;
    for (const event of events)
      if (event.type === "agent.output" && event.entity === selected.value)
        window = append(window, (event.data.lines ?? []) as Line[]);
    if (window !== output.value) output.value = window;
  });
  if (events.some((event) => event.type === "state.snapshot" || event.type === "log.truncated")) {
    void readLists();
    readCrew();
  } else keepFresh(view.peek(), events);
  if (selected.value && isBehind(output.value) && following.value) void catchUp();
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
  if (!state.peek().runs.has(id)) return;
  view.value = "runs";
  select(id);
}

/// Goes to what an event is about.
export function openSubject(event: LogEvent): void {
  const where = viewOf(event);
  if (where === "chats") location.hash = chatAddress(event.entity, typeof event.data.task_id === "string" ? event.data.task_id : "");
  else if (where && where !== "runs") location.hash = addressOf(where);
  else openRun(event.entity);
}

async function readPage(id: string, query: string, take: (page: OutputPage) => OutputWindow): Promise<boolean> {
  if (busy) return false;
  busy = true;
  const mine = reading;
  try {
    const page = await get<OutputPage>(`/agents/${encodeURIComponent(id)}/output?${query}`, mine?.signal);
    if (selected.value !== id) return false;
    batch(() => {
      const known = Math.max(output.value.known, state.value.runs.get(id)?.last_seq ?? 0);
      const next = take(page);
      output.value = { ...next, known: Math.max(next.known, known) };
      output_error.value = "";
    });
    return page.lines.length > 0;
  } catch (error) {
    if (!mine?.signal.aborted) output_error.value = error instanceof Error ? error.message : String(error);
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
export const answer = (id: string, text: string) =>
  post<{ delivered: boolean; delivery_error?: string | null }>(`/questions/${encodeURIComponent(id)}/answer`, { answer: text });
export const kill = (id: string) => post(`/agents/${encodeURIComponent(id)}/kill`);

// ---- the last line of runs that have not printed since the page was opened
const asked = new Set<string>();
async function learnLastLines(): Promise<void> {
  for (const row of runs.value.slice(0, 40)) {
    if (row.last_line !== undefined || !row.last_seq || asked.has(row.task_id)) continue;
    asked.add(row.task_id);
    try {
      const page = await get<OutputPage>(`/agents/${encodeURIComponent(row.task_id)}/output?tail=1`);
      const line = page.lines.at(-1);
      const known = state.value.runs.get(row.task_id);
      if (line && known && known.last_line === undefined)
        state.value = { ...state.value, runs: new Map(state.value.runs).set(row.task_id, { ...known, last_line: safeText(line.data) }) };
    } catch {
      return;
    }
  }
}

/// What happened shortly before the page was opened: a reload does not empty the list.
async function learnHistory(): Promise<void> {
  try {
    const earlier = await get<{ id: number }[]>(`/events?since=${Math.max(0, state.peek().cursor - 150)}&limit=150`);
    const events = earlier.map((event) => readEvent({ event: "", id: String(event.id), data: JSON.stringify(event) }));
    state.value = withHistory(state.peek(), events.filter((event): event is LogEvent => event !== null));
  } catch {
    // Older than the log goes back: the list begins with what comes.
  }
}

function takeAddress(): void {
  const { hash } = location;
  const wanted_chat = wordIn(hash, "chat");
  batch(() => {
    view.value = viewIn(hash);
    if (wanted_chat) openChat(wanted_chat);
    pointed_at.value = wordIn(hash, "subagent");
  });
}

function address(): string {
  if (view.value === "chats" && crew.value.open) return chatAddress(crew.value.open);
  if (view.value !== "runs") return addressOf(view.value);
  return selected.value ? `#run=${encodeURIComponent(selected.value)}` : "";
}

/// The address says what is shown, and the other way round.
function keepAddress(): void {
  takeAddress();
  addEventListener("hashchange", () => {
    const wanted = wordIn(location.hash, "run");
    if (wanted && state.peek().runs.has(wanted)) select(wanted);
    takeAddress();
  });
  effect(() => {
    if (!loaded.value) return;
    const shown = address();
    if (shown && shown !== location.hash) history.replaceState(null, "", shown);
  });
  addEventListener("keydown", (event) => {
    const wanted = viewOfKey(event, isField(event.target));
    if (!wanted) return;
    event.preventDefault();
    location.hash = addressOf(wanted);
    document.getElementById("main")?.focus();
  });
}

/// A view that somebody turns to is read anew as far as events do not tell.
function lookedAt(): void {
  if (document.hidden || !loaded.peek()) return;
  if (shared_trouble.peek()) void readLists();
  if (view.peek() === "chats" || view.peek() === "crew") readCrewIfTroubled();
  if (view.peek() === "agents") void readLists("sessions");
  if (view.peek() === "locks") void readLists("locks");
}

export function start(): void {
  const wanted = wordIn(location.hash, "run");
  keepAddress();
  setInterval(() => { if (!document.hidden) now.value = Date.now(); }, 1000);
  document.addEventListener("visibilitychange", () => {
    now.value = Date.now();
    lookedAt();
  });
  effect(() => {
    void view.value;
    lookedAt();
  });
  effect(() => {
    if (!loaded.value) return;
    const list = runs.value;
    if (selected.peek() === null && list.length) {
      const asking = questions.peek()[0]?.task_id;
      select([wanted, asking, list[0]!.task_id].find((id) => id && state.peek().runs.has(id)) ?? null);
    }
  });
  let was = link.peek().kind;
  effect(() => {
    const kind = link.value.kind;
    // A daemon that was away: heartbeats and waiters have moved on without an event of their own.
    if (kind === "live" && was === "stale") {
      void readLists();
      crewReconnected();
    }
    if (kind === "live" && was !== "live" && selected.peek()) void catchUp();
    was = kind;
  });
  effect(() => {
    // The newest chat is what a person most likely came for.
    if (view.value === "chats" && !crew.value.open && chats.value[0]) openChat(chats.value[0].id);
  });
  effect(() => { if (loaded.value) void learnLastLines(); });
  effect(() => { if (loaded.value) void learnHistory(); });
  startWorld();
  void follow(() => state.peek().cursor, deliver);
}
