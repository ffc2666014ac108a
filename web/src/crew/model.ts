// The living state of chats and subagents: read once for each connection, then kept current by the events.
import { batch, computed, effect, signal } from "@preact/signals";
import { get, post } from "../base/api.ts";
import { readEvents, type LogEvent } from "../base/event.ts";
import { reader } from "../base/reader.ts";
import { messageOf } from "../base/text.ts";
import { view } from "../base/views.ts";
import { applyCrew, chatsInOrder, newestFirst, nobody, openedChat, reconnected, takeChat, takeChats, takeSubagents, withEarlier, type Crew, type SubagentRow } from "./state.ts";
import type { Chat, ChatReply, Subagent } from "./wire.ts";
import { chatAddress, linkedSubagent, placeSubagents } from "./words.ts";

export const crew = signal<Crew>(nobody);
export const chats = computed(() => chatsInOrder(crew.value.chats));
export const busy_chats = computed(() => chats.value.filter((chat) => chat.turn === "running").length);
export const chat = computed(() => (crew.value.open ? crew.value.chats.get(crew.value.open) ?? null : null));
export const subagents = computed(() => newestFirst(crew.value.subagents));
export const own_subagents = computed(() => subagents.value.filter((one) => one.chat_id === crew.value.open));
export const placed = computed(() => placeSubagents(crew.value.entries.values(), own_subagents.value));

/// Where a wikilink leads: to the subagent of these whose file it names.
export const linkAmong = (among: { peek(): readonly SubagentRow[] }) => (target: string): string => {
  const one = linkedSubagent(target, among.peek());
  return one?.chat_id ? chatAddress(one.chat_id, one.task_id) : "";
};

/// False until the list has come for the first time; the trouble when it could not be read.
export const chats_loaded = signal(false);
export const chats_trouble = signal("");
/// Of the chat that is looked at.
export const entries_loaded = signal(false);
export const entries_trouble = signal("");
/// The subagent that a link leads to; its card shows itself, then forgets it.
export const pointed_at = signal<string | null>(null);
/// What is typed but not sent, by chat.
export const drafts = new Map<string, string>();

const pathOf = (room: string, id: string): string => `/${room}/${encodeURIComponent(id)}`;

/// Chats are worth seeing without them.
const readSubagents = (): Promise<Subagent[]> => get<{ subagents?: Subagent[] }>("/subagents?limit=100").then((reply) => reply.subagents ?? [], () => []);

const readChats = reader(chats_trouble, async () => {
  const asked_at = crew.peek().seen;
  const [{ chats: list }, spawned] = await Promise.all([get<{ chats: Chat[] }>("/chats?limit=100"), readSubagents()]);
  batch(() => {
    crew.value = takeSubagents(takeChats(crew.peek(), list, asked_at), spawned);
    chats_loaded.value = true;
  });
});

export const readCrew = (): void => {
  void readChats();
  if (crew.peek().open) void readEntries();
};

// ---- the chat that is looked at
const page_size = 200;
const most_entries = 5000;
let reading: AbortController | null = null;

export function openChat(id: string | null): void {
  if (id === crew.peek().open) return;
  batch(() => {
    crew.value = openedChat(crew.peek(), id);
    entries_loaded.value = false;
    entries_trouble.value = "";
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
    for (let after = 0, more = true; more && after < most_entries;) {
      const asked_at = crew.peek().seen;
      const reply: ChatReply = await get<ChatReply>(`${pathOf("chats", id)}?after=${after}&limit=${page_size}`, mine.signal);
      // The beginning of an id leads to its chat; from here on it goes by its whole name.
      if (reply.id !== id && crew.peek().open === id) crew.value = openedChat(crew.peek(), reply.id);
      crew.value = takeChat(crew.peek(), reply, asked_at);
      const last = reply.entries?.at(-1)?.n ?? 0;
      more = !!reply.more && last > after;
      after = last;
    }
    batch(() => {
      entries_loaded.value = true;
      entries_trouble.value = "";
    });
    if (crew.peek().chats.get(id)?.coming?.is_partial) await readComing(id, mine.signal);
  } catch (error) {
    if (!mine.signal.aborted) entries_trouble.value = messageOf(error);
  }
}

const looked_back = 2000;

/// The pieces of the entry that is coming, if the log has them: a reload in the middle of an answer shows it whole.
async function readComing(id: string, signal: AbortSignal): Promise<void> {
  try {
    const since = Math.max(0, crew.peek().seen - looked_back);
    const list = await get<{ id: number }[]>(`/events?entity=${encodeURIComponent(id)}&type=chat.text,chat.entry,chat.turn,chat.restarted&since=${since}`, signal);
    crew.value = withEarlier(crew.peek(), id, readEvents(list));
  } catch {
    // Older than the log goes back: what comes is shown, and the whole when it is there.
  }
}

// ---- events
const gathered_ms = 250;
let is_due = false;

/// Only replies tell what things cost, so the list is read again when something has ended, once for many.
function readSoon(): void {
  if (is_due) return;
  is_due = true;
  setTimeout(() => {
    is_due = false;
    void readChats();
  }, gathered_ms);
}

/// An entry of the open chat that was too long for an event.
const isCutEntry = ({ type, entity, data }: LogEvent): boolean =>
  type === "chat.entry" && entity === crew.peek().open && [data, ...((data.results ?? []) as { text?: string }[])].some(({ text }) => /more bytes[^\]\n]*\]$/.test(String(text ?? "")));

export function applyCrewEvents(events: readonly LogEvent[]): void {
  crew.value = applyCrew(crew.peek(), events);
  if (events.some(({ type, data }) => /^(chat\.(started|ended)|subagent\.(queued|completed|failed|cancelled))$/.test(type) || (type === "chat.turn" && data.turn !== "running"))) readSoon();
  if (events.some(isCutEntry)) void readEntries();
}

/// The stream is back after it was away.
export function crewReconnected(): void {
  crew.value = reconnected(crew.peek());
  readCrew();
}

/// Somebody turns to a view that could not be read.
export function readCrewIfTroubled(): void {
  if (chats_trouble.peek()) void readChats();
  if (entries_trouble.peek()) void readEntries();
}

/// The newest chat is what a person most likely came for.
export function startCrew(): void {
  effect(() => { if (view.value === "chats" && !crew.value.open && chats.value[0]) openChat(chats.value[0].id); });
}

// ---- things a person does
async function act(path: string, body: unknown = {}, begins_turn = false): Promise<string> {
  const asked_at = crew.peek().seen;
  const reply = await post<ChatReply>(path, body);
  crew.value = takeChat(crew.peek(), reply, asked_at, begins_turn);
  return reply.id;
}

export interface NewChat {
  agent?: string;
  model?: string;
  message?: string;
}
export const startChat = (wanted: NewChat): Promise<string> => act("/chats", wanted, true);
export const say = (id: string, text: string): Promise<string> => act(`${pathOf("chats", id)}/messages`, { text }, true);
export const stopTurn = (id: string): Promise<string> => act(`${pathOf("chats", id)}/cancel`);
export const endChat = (id: string): Promise<string> => act(`${pathOf("chats", id)}/end`);

async function takeOne(answer: Promise<Subagent>): Promise<Subagent> {
  const one = await answer;
  crew.value = takeSubagents(crew.peek(), [one]);
  return one;
}
export const spawnAgent = (wanted: { agent: string; task: string; model?: string }) => takeOne(post<Subagent>("/subagents", { ...wanted, wait_seconds: 0 }));
export const readSubagent = (id: string) => takeOne(get<Subagent>(pathOf("subagents", id)));
export const cancelSubagent = (id: string) => takeOne(post<Subagent>(`${pathOf("subagents", id)}/cancel`));
