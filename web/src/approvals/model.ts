// Signals and actions for approvals that wait for the user.
import { signal } from "@preact/signals";
import { get, post } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { reader } from "../base/reader.ts";
import type { Approval, ApprovalList } from "./wire.ts";

export const approvals = signal<readonly Approval[]>([]);

const pathOf = (id: string) => `/approvals/${encodeURIComponent(id)}`;

/// Why the last read failed. Nothing is shown of it: the list is read again with the next event.
const error = signal("");
const read = reader(error, async () => {
  const { approvals: waiting } = await get<ApprovalList>("/approvals?pending=true");
  approvals.value = await Promise.all(waiting.map(({ id }) => get<Approval>(pathOf(id))));
});

export const readApprovals = (): void => void read();

export function applyApprovalEvents(events: readonly LogEvent[]): void {
  if (events.some(({ type }) => type.startsWith("approval."))) void read();
}

const decide = async (id: string, verb: string, body: Record<string, unknown>): Promise<void> => {
  try {
    await post(`${pathOf(id)}/${verb}`, body);
  } finally {
    void read();
  }
};
export const approve = (id: string, set: Record<string, string>, confirm: string) =>
  decide(id, "approve", { ...(Object.keys(set).length ? { set } : {}), ...(confirm ? { confirm } : {}) });
export const deny = (id: string, reason: string) => decide(id, "deny", { reason });
export const ask = (id: string, question: string) => decide(id, "ask", { question });
export const hold = (id: string, release: boolean) => decide(id, "hold", { release });
