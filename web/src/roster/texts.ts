// Texts about members. Pure.
import { oneLine } from "../base/text.ts";
import type { State } from "../ui/states.ts";
import type { Member, Word } from "./wire.ts";

/// The state whose glyph and colour a word has.
export function stateOf(word: Word): State {
  if (word === "needs you") return "needs-you";
  if (word === "using a tool") return "using-tool";
  return word;
}

/// "claude", "model · code-reviewer", "command · make": the kind, and what it follows or runs.
export function whatIs(member: Member): string {
  const what = member.definition || member.program || "";
  return what && what !== member.kind ? `${member.kind} · ${oneLine(what, 60)}` : member.kind;
}

/// "$0.42, 14000 tokens"; empty if nothing is known.
export function spent(member: Member): string {
  const parts = [];
  if (typeof member.cost_usd === "number") parts.push(`$${member.cost_usd.toFixed(2)}`);
  if (member.tokens) parts.push(`${member.tokens} tokens`);
  return parts.join(", ");
}
