// Texts about members. Pure.
import { cost, oneLine, tokens } from "../base/text.ts";
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

/// "$0.42, 14.0k tok"; empty if nothing is known.
export const spent = (member: Member): string => [cost(member.cost_usd), tokens(member.tokens)].filter(Boolean).join(", ");

/// The address of a member in the crew, or of one of its tabs.
export const memberAddress = (id: string, tab = ""): string => `#view=crew&member=${encodeURIComponent(id)}${tab && `&tab=${tab}`}`;

/// The address of a chat or subagent.
export const threadAddress = (id: string): string => `#view=crew&thread=${encodeURIComponent(id)}`;
