// What is shown of an approval, and what a form has changed of its input. Pure.
import { duration } from "../base/text.ts";
import type { Approval } from "./wire.ts";

const asText = (value: unknown): string => (typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value));

export interface InputField { name: string; text: string; hint: string }

/// The fields of the tool's schema with what the agent has put into them, as text.
export function fieldsOf({ schema, input }: Approval): InputField[] {
  return Object.entries(schema?.properties ?? {}).map(([name, { description = "" }]) => ({ name, text: asText(input[name]), hint: description }));
}

/// What differs from the agent's input: the `set` of an approval.
export function changesOf(approval: Approval, typed: Readonly<Record<string, string>>): Record<string, string> {
  const before = Object.fromEntries(fieldsOf(approval).map(({ name, text }) => [name, text]));
  return Object.fromEntries(Object.entries(typed).filter(([name, text]) => name in before && before[name] !== text));
}

/// How long it waits, at this time.
export function timeLeft({ status, expires_at, seconds_left, on_timeout }: Approval, now: number): string {
  if (status === "asking") return "the agent was asked; the timeout is paused";
  if (status === "held") return `held; ${seconds_left === null ? "it waits" : "the timeout is paused"} until you press Release`;
  if (seconds_left === null || !expires_at) return "it has no timeout";
  const left = Math.max(0, Date.parse(expires_at) - now);
  return `${duration(left)} left, then it ${on_timeout === "approve" ? "is approved" : "expires"}`;
}

/// Whether it can be undone, in words.
export const undoText = ({ undo, reversible }: Pick<Approval, "undo" | "reversible">): string =>
  reversible ? "can be undone" : undo === "irreversible" ? "cannot be undone" : "not known whether it can be undone";

/// From the asker's parent up: "child of lead, which you started".
export function descentOf({ parent_chain }: Pick<Approval, "parent_chain">): string {
  const above = parent_chain.slice(0, -1).reverse();
  return above.map((name, at) => (at === above.length - 1 && name === "user" ? (above.length > 1 ? "which you started" : "started by you") : `child of ${name}`)).join(", ");
}

/// Whether whoever asks can say more while it waits.
export const canBeAsked = ({ via }: Pick<Approval, "via">): boolean => via === "tool" || via === "client";

/// Whether it may be approved as it stands: what cannot be undone needs its id typed.
export const mayApprove = (approval: Approval, typed_id: string): boolean => approval.reversible || typed_id.trim() === approval.id;

/// The patterns of a rule, one in a line.
export const patternsIn = (text: string): string[] => text.split("\n").map((line) => line.trim()).filter(Boolean);

/// More lines than this are folded.
export const max_lines = 400;

/// What is shown at once, and what is folded behind it.
export const folded = <T>(lines: readonly T[]): { first: readonly T[]; rest: readonly T[] } =>
  lines.length > max_lines ? { first: lines.slice(0, 40), rest: lines.slice(40) } : { first: lines, rest: [] };
