// Signals and actions for work items.
import { computed, signal } from "@preact/signals";
import { CallFailed, get, post } from "../base/api.ts";
import { LiveList } from "../base/live_list.ts";
import { applyWork, isOpen, isWorkEvent } from "./state.ts";
import type { Work } from "./wire.ts";

export const work_list = new LiveList<Work>({
  read: async () => {
    const pages = ["open&limit=1000", "completed&limit=100", "failed&limit=100", "cancelled&limit=100"].map((query) => get<{ work: Work[] }>(`/work?status=${query}`));
    return (await Promise.all(pages)).flatMap((page) => page.work);
  },
  idOf: (work) => work.task_id,
  concerns: isWorkEvent,
  apply: applyWork,
});
export const work = work_list.items;
export const open_work = computed(() => [...work.value.values()].filter(isOpen).length);

/// The item whose trace is shown; empty if none is.
export const traced_work = signal("");

/// Reads the details of an item that events do not contain.
export async function readWork(id: string): Promise<void> {
  try {
    const item = await get<Work>(`/work/${encodeURIComponent(id)}`);
    const known = work.peek().get(id);
    if (known && known.status === item.status) work_list.set({ ...known, ...item });
  } catch {
    // The details stay unknown.
  }
}

// ---- actions
interface Answer {
  success?: boolean;
  task_id?: string;
  reason?: string | null;
  message?: string;
}

/// Throws also if the request is refused by a reply with `success: false` and a `reason`.
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
export const submitWork = (submission: Submission) => ask("/work", submission);
export const cancelWork = (id: string) => ask(`/work/${encodeURIComponent(id)}/cancel`, { reason: "cancelled on the web page" });
