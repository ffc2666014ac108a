// The living state of coordination: lists that are read once for each connection, then kept current by the events.
import { computed, signal } from "@preact/signals";
import { CallFailed, get, post } from "./api.ts";
import { applyAll, board as boardOf, chains as chainsOf, isCoordination, isOpen, locksInOrder, nothing_shared, sessionsInOrder, takeLists, type Coordination, type Lists } from "./coordination.ts";
import type { LogEvent } from "./wire.ts";
import type { Handoff, Lock, Session, Work } from "./wire_coordination.ts";

export const shared = signal<Coordination>(nothing_shared);
export const board = computed(() => boardOf(shared.value.work));
export const sessions = computed(() => sessionsInOrder(shared.value.sessions));
export const locks = computed(() => locksInOrder(shared.value.locks));
export const chains = computed(() => chainsOf(shared.value.handoffs));
export const open_work = computed(() => [...shared.value.work.values()].filter(isOpen).length);
export const live_sessions = computed(() => sessions.value.filter((session) => session.status !== "disconnected").length);
/// False until the lists have come for the first time; the trouble when they could not be read.
export const shared_loaded = signal(false);
export const shared_trouble = signal("");

// Events that came while the lists were on their way; null when none are.
let later: LogEvent[] | null = null;
let again = false;

export function applyShared(events: readonly LogEvent[]): void {
  const ours = events.filter(isCoordination);
  if (!ours.length) return;
  later?.push(...ours);
  shared.value = applyAll(shared.peek(), ours);
}

/// Reads all lists anew. Asked for while it is reading, it reads once more.
export async function readLists(): Promise<void> {
  if (later) {
    again = true;
    return;
  }
  later = [];
  try {
    const lists = await fetchLists();
    shared.value = takeLists(lists, later);
    shared_loaded.value = true;
    shared_trouble.value = "";
  } catch (error) {
    shared_trouble.value = error instanceof Error ? error.message : String(error);
  } finally {
    later = null;
  }
  if (!again) return;
  again = false;
  await readLists();
}

async function fetchLists(): Promise<Lists> {
  const [live, gone, held, handed, ...work] = await Promise.all([
    get<{ agents: Session[] }>("/sessions"),
    get<{ agents: Session[] }>("/sessions?status=disconnected"),
    get<{ result: Lock[] }>("/locks"),
    get<{ handoffs: Handoff[] }>("/handoffs?limit=200"),
    ...["open&limit=1000", "completed&limit=100", "failed&limit=100", "cancelled&limit=100"].map((query) => get<{ work: Work[] }>(`/work?status=${query}`)),
  ]);
  return { sessions: [...gone.agents, ...live.agents], locks: held.result, handoffs: handed.handoffs, work: work.flatMap((page) => page.work) };
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
