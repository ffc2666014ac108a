// Signals and actions for chats and subagents. They are read once per connection and then updated by events.
import { batch, computed, signal } from "@preact/signals";
import { get, post } from "../base/api.ts";
import { readEvents, type EventPage, type LogEvent } from "../base/event.ts";
import { reader } from "../base/reader.ts";
import { messageOf } from "../base/text.ts";
import { threadAddress } from "../members/texts.ts";
import { applyCrew, empty_crew, mergeChat, mergeChats, mergeSubagents, newestFirst, openedChat, reconnected, withMissedText, type Crew, type SubagentRow } from "./state.ts";
import type { Chat, ChatReply, Subagent } from "./wire.ts";
import { linkedSubagent, placeSubagents } from "./texts.ts";

export const crew = signal<Crew>(empty_crew);
export const chat = computed(() => (crew.value.open ? crew.value.chats.get(crew.value.open) ?? null : null));
export const subagents = computed(() => newestFirst(crew.value.subagents));
export const chat_subagents = computed(() => subagents.value.filter((subagent) => subagent.chat_id === crew.value.open));
export const placement = computed(() => placeSubagents(crew.value.entries.values(), chat_subagents.value));

/// Resolves a wikilink to the address of the subagent whose file it names.
export const subagentLinks = (among: { peek(): readonly SubagentRow[] }) => (target: string): string => {
  const subagent = linkedSubagent(target, among.peek());
  return subagent ? threadAddress(subagent.task_id) : "";
};

/// Whether the list of chats has been read, and why the last read failed.
export const chats_loaded = signal(false);
export const chats_error = signal("");
/// The same for the entries of the open chat.
export const entries_loaded = signal(false);
export const entries_error = signal("");
/// Unsent messages, by chat id.
export const drafts = new Map<string, string>();

const pathOf = (collection: string, id: string): string => `/${collection}/${encodeURIComponent(id)}`;

/// Never fails: the chats are useful without the subagents.
const readSubagents = (): Promise<Subagent[]> => get<{ subagents?: Subagent[] }>("/subagents?limit=100").then((reply) => reply.subagents ?? [], () => []);

const readChats = reader(chats_error, async () => {
  const asked_at = crew.peek().seen;
  const [{ chats: list }, spawned] = await Promise.all([get<{ chats: Chat[] }>("/chats?limit=100"), readSubagents()]);
  batch(() => {
    crew.value = mergeSubagents(mergeChats(crew.peek(), list, asked_at), spawned);
    chats_loaded.value = true;
  });
});

export const readCrew = (): void => {
  void readChats();
  if (crew.peek().open) void readEntries();
};

// ---- the open chat
const page_size = 200;
const max_entries = 5000;
let reading: AbortController | null = null;

export function openChat(id: string | null): void {
  if (id === crew.peek().open) return;
  batch(() => {
    crew.value = openedChat(crew.peek(), id);
    entries_loaded.value = false;
    entries_error.value = "";
  });
  if (id) void readEntries();
  else reading?.abort();
}

async function readEntries(): Promise<void> {
  const id = crew.peek().open;
  if (!id) return;
  reading?.abort();
  const mine = reading = new AbortController();
  try {
    for (let after = 0, more = true; more && after < max_entries;) {
      const asked_at = crew.peek().seen;
      const reply: ChatReply = await get<ChatReply>(`${pathOf("chats", id)}?after=${after}&limit=${page_size}`, mine.signal);
      // The address may contain only the beginning of an id; from here on, the full id is used.
      if (reply.id !== id && crew.peek().open === id) crew.value = openedChat(crew.peek(), reply.id);
      crew.value = mergeChat(crew.peek(), reply, asked_at);
      const last = reply.entries?.at(-1)?.n ?? 0;
      more = !!reply.more && last > after;
      after = last;
    }
    batch(() => {
      entries_loaded.value = true;
      entries_error.value = "";
    });
    if (crew.peek().chats.get(id)?.streaming?.is_partial) await readStreaming(id, mine.signal);
  } catch (error) {
    if (!mine.signal.aborted) entries_error.value = messageOf(error);
  }
}

const events_to_search = 2000;

/// Reads the missed chunks of the streaming entry from the log, so that a reload during an answer shows all of it.
async function readStreaming(id: string, signal: AbortSignal): Promise<void> {
  try {
    const since = Math.max(0, crew.peek().seen - events_to_search);
    const page = await get<EventPage>(`/events?entity=${encodeURIComponent(id)}&type=chat.text,chat.entry,chat.turn,chat.restarted&since=${since}`, signal);
    crew.value = withMissedText(crew.peek(), id, readEvents(page.events));
  } catch {
    // They are no longer in the log: the rest is shown as it arrives, and the full entry at its end.
  }
}

// ---- events
const batch_ms = 250;
let is_due = false;

/// Events do not contain costs, so the list is read again soon after something has ended.
function readSoon(): void {
  if (is_due) return;
  is_due = true;
  setTimeout(() => {
    is_due = false;
    void readChats();
  }, batch_ms);
}

/// Whether an event contains an entry of the open chat that was truncated because of its length.
const isTruncatedEntry = ({ type, entity, data }: LogEvent): boolean =>
  type === "chat.entry" && entity === crew.peek().open && [data, ...((data.results ?? []) as { text?: string }[])].some(({ text }) => /more bytes[^\]\n]*\]$/.test(String(text ?? "")));

export function applyCrewEvents(events: readonly LogEvent[]): void {
  crew.value = applyCrew(crew.peek(), events);
  if (events.some(({ type, data }) => /^(chat\.(started|ended)|subagent\.(queued|completed|failed|cancelled))$/.test(type) || (type === "chat.turn" && data.turn !== "running"))) readSoon();
  if (events.some(isTruncatedEntry)) void readEntries();
}

/// Called when the event stream is connected again.
export function crewReconnected(): void {
  crew.value = reconnected(crew.peek());
  readCrew();
}

/// Called when a view of chats or subagents becomes visible.
export function readCrewIfFailed(): void {
  if (chats_error.peek()) void readChats();
  if (entries_error.peek()) void readEntries();
}

// ---- actions
async function act(path: string, body: unknown = {}, starts_turn = false): Promise<string> {
  const asked_at = crew.peek().seen;
  const reply = await post<ChatReply>(path, body);
  crew.value = mergeChat(crew.peek(), reply, asked_at, starts_turn);
  return reply.id;
}

export interface NewChat {
  agent?: string;
  model?: string;
  message?: string;
}
export const startChat = (request: NewChat): Promise<string> => act("/chats", request, true);
export const sendMessage = (id: string, text: string): Promise<string> => act(`${pathOf("chats", id)}/messages`, { text }, true);
export const stopTurn = (id: string): Promise<string> => act(`${pathOf("chats", id)}/cancel`);
export const endChat = (id: string): Promise<string> => act(`${pathOf("chats", id)}/end`);

async function mergeReply(answer: Promise<Subagent>): Promise<Subagent> {
  const subagent = await answer;
  crew.value = mergeSubagents(crew.peek(), [subagent]);
  return subagent;
}
export const spawnAgent = (request: { agent: string; task: string; model?: string }) => mergeReply(post<Subagent>("/subagents", { ...request, wait_seconds: 0 }));
export const readSubagent = (id: string) => mergeReply(get<Subagent>(pathOf("subagents", id)));
export const cancelSubagent = (id: string) => mergeReply(post<Subagent>(`${pathOf("subagents", id)}/cancel`));
