// The living state of coordination: lists that are read once for each connection, then kept current by the events.
import { computed, signal } from "@preact/signals";
import { CallFailed, get, post } from "./api.ts";
import { applyAll, chains as chainsOf, handoffIn, isCoordination, isOpen, locksInOrder, nothing_shared, sessionsInOrder, takeLists, type Coordination, type Lists } from "./coordination.ts";
import type { View } from "./views.ts";
import type { LogEvent } from "./wire.ts";
import type { Handoff, Lock, Session, Work } from "./wire_coordination.ts";

export const shared = signal<Coordination>(nothing_shared);
export const sessions = computed(() => sessionsInOrder(shared.value.sessions));
export const locks = computed(() => locksInOrder(shared.value.locks));
export const chains = computed(() => chainsOf(shared.value.handoffs));
export const open_work = computed(() => [...shared.value.work.values()].filter(isOpen).length);
export const live_sessions = computed(() => sessions.value.filter((session) => session.status !== "disconnected").length);
/// False until the lists have come for the first time; the trouble when they could not be read.
export const shared_loaded = signal(false);
export const shared_trouble = signal("");

type Part = keyof Lists;
const parts: Part[] = ["sessions", "locks", "work", "handoffs"];
// Events that came while lists were on their way; null when none are. And what was asked for meanwhile.
let later: LogEvent[] | null = null;
const wanted = new Set<Part>();
let troubled_at = 0;

export function applyShared(events: readonly LogEvent[]): void {
  const ours = events.filter(isCoordination);
  if (!ours.length) return;
  later?.push(...ours);
  shared.value = applyAll(shared.peek(), ours);
  const written = ours.map(handoffIn).filter(Boolean);
  if (written.length > 4) void readLists("handoffs");
  else for (const id of written) void readHandoff(id);
}

async function readHandoff(id: string): Promise<void> {
  try {
    const handoff = await get<Handoff>(`/handoffs/${encodeURIComponent(id)}`);
    shared.value = { ...shared.peek(), handoffs: new Map(shared.peek().handoffs).set(id, handoff) };
  } catch {
    // Its beginning has to do.
  }
}

/// Reads these lists anew, all of them if none is named.
export async function readLists(...some: Part[]): Promise<void> {
  for (const part of some.length ? some : parts) wanted.add(part);
  if (later) return;
  while (wanted.size) {
    const asked = [...wanted];
    wanted.clear();
    later = [];
    try {
      const lists = Object.assign({}, ...(await Promise.all(asked.map((part) => fetchers[part]())))) as Partial<Lists>;
      shared.value = takeLists(shared.peek(), lists, later);
      shared_loaded.value ||= asked.length === parts.length;
      shared_trouble.value = "";
    } catch (error) {
      shared_trouble.value = error instanceof Error ? error.message : String(error);
      troubled_at = Date.now();
    } finally {
      later = null;
    }
  }
}

const fetchers: Record<Part, () => Promise<Partial<Lists>>> = {
  sessions: async () => {
    const [gone, live] = await Promise.all(["/sessions?status=disconnected", "/sessions"].map((path) => get<{ agents: Session[] }>(path)));
    return { sessions: [...gone!.agents, ...live!.agents] };
  },
  locks: async () => ({ locks: (await get<{ result: Lock[] }>("/locks")).result }),
  work: async () => {
    const pages = ["open&limit=1000", "completed&limit=100", "failed&limit=100", "cancelled&limit=100"].map((query) => get<{ work: Work[] }>(`/work?status=${query}`));
    return { work: (await Promise.all(pages)).flatMap((page) => page.work) };
  },
  handoffs: async () => ({ handoffs: (await get<{ handoffs: Handoff[] }>("/handoffs?limit=200")).handoffs }),
};

const heard_every_ms = 10_000;
const gathered_ms = 250;
let sessions_read_at = 0;
let reading_locks = false;

/// Who waits for a lock and who was last heard when are no events of their own. While they are looked at they are read
/// again when the daemon says something, never by a clock.
export function keepFresh(seen: View, events: readonly LogEvent[]): void {
  if (document.hidden) return;
  if (shared_trouble.peek() && Date.now() - troubled_at > heard_every_ms) void readLists();
  if (!shared_loaded.peek()) return;
  if (seen === "agents" && Date.now() - sessions_read_at > heard_every_ms) {
    sessions_read_at = Date.now();
    void readLists("sessions");
  }
  if (seen !== "locks" || reading_locks || !events.some((event) => event.type.startsWith("lock.") || event.type === "heartbeat")) return;
  reading_locks = true;
  setTimeout(() => {
    reading_locks = false;
    void readLists("locks");
  }, gathered_ms);
}

/// One item with what events leave out.
export async function readWork(id: string): Promise<void> {
  try {
    const item = await get<Work>(`/work/${encodeURIComponent(id)}`);
    const known = shared.peek().work.get(id);
    if (known && known.status === item.status) shared.value = { ...shared.peek(), work: new Map(shared.peek().work).set(id, { ...known, ...item }) };
  } catch {
    // What is known has to do.
  }
}

// ---- things a person does
interface Answer {
  success?: boolean;
  task_id?: string;
  reason?: string | null;
  message?: string;
}

/// A refusal may come as a reply: `success` is false and `reason` says why.
async function ask(path: string, body: unknown): Promise<Answer> {
  const reply = await post<Answer>(path, body);
  if (reply.success === false) throw new CallFailed(200, { code: reply.reason ?? "refused", message: reply.message ?? reply.reason ?? "refused" });
  return reply;
}

export interface Submission {
  task_type: string;
  description: string;
  priority: number;
  depends_on: string[];
}
export const submitWork = (work: Submission) => ask("/work", work);
export const cancelWork = (id: string) => ask(`/work/${encodeURIComponent(id)}/cancel`, { reason: "cancelled on the page" });
