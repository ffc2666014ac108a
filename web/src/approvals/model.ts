// Signals and actions for approvals that wait for the user.
import { signal } from "@preact/signals";
import { CallFailed, get, post } from "../base/api.ts";
import type { LogEvent } from "../base/event.ts";
import { reader } from "../base/reader.ts";
import type { Approval, ApprovalList, Rule, RuleWish } from "./wire.ts";

export const approvals = signal<readonly Approval[]>([]);
export const rules = signal<readonly Rule[]>([]);
/// The approval that a link or a notification names; it is shown and has the focus as soon as it is there.
export const requested = signal("");

export const pathOf = (id: string) => `/approvals/${encodeURIComponent(id)}`;

/// Why the last read failed. Nothing is shown of it: the list is read again with the next event.
const error = signal("");
const read = reader(error, async () => {
  const { approvals: waiting } = await get<ApprovalList>("/approvals?pending=true");
  approvals.value = await Promise.all(waiting.map(({ id }) => get<Approval>(pathOf(id))));
});

const readRules = reader(signal(""), async () => {
  rules.value = (await get<{ rules: Rule[] }>("/approval-rules")).rules ?? [];
});

export function readApprovals(): void {
  void read();
  void readRules();
}

export function applyApprovalEvents(events: readonly LogEvent[]): void {
  if (events.some(({ type }) => type.startsWith("approval.rule_"))) void readRules();
  if (events.some(({ type }) => type.startsWith("approval.") && !type.startsWith("approval.rule_"))) void read();
}

const decide = async (id: string, verb: string, body: Record<string, unknown>): Promise<void> => {
  try {
    await post(`${pathOf(id)}/${verb}`, body);
  } catch (error) {
    // Over in the same moment: its card goes, and what became of it is said in its place.
    if (error instanceof CallFailed && error.failure.code === "conflict" && (error.failure as { field?: string }).field === "id") requested.value = id;
    throw error;
  } finally {
    void read();
  }
};
/// With changes, `digest` is that of what was shown: nothing else is approved.
export const approve = (id: string, set: Record<string, string>, confirm: string, more: Omit<RuleWish, "verdict"> | { digest?: string | undefined } = {}) =>
  decide(id, "approve", { ...(Object.keys(set).length ? { set } : {}), ...(confirm ? { confirm } : {}), ...more });
/// The approval as it would be with these changes; nothing is decided.
export const preview = (id: string, set: Record<string, string>) => post<Approval>(`${pathOf(id)}/preview`, { set });
export const deny = (id: string, reason: string, rule: Omit<RuleWish, "verdict"> | Record<string, never> = {}) => decide(id, "deny", { reason, ...rule });
export const ask = (id: string, question: string) => decide(id, "ask", { question });
export const hold = (id: string, release: boolean) => decide(id, "hold", { release });

/// What the rule would cover; nothing is made.
export const previewRule = (id: string, wish: RuleWish) => post<Rule>(`${pathOf(id)}/rule/preview`, wish);
export const makeRule = (id: string, wish: RuleWish) => decide(id, "rule", { ...wish });
export async function revokeRule(id: string): Promise<void> {
  try {
    await post(`/approval-rules/${encodeURIComponent(id)}/revoke`);
  } finally {
    void readRules();
  }
}
