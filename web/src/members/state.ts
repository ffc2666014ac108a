// Which members a list shows and in which order, and which events may change them. Pure.
import type { LogEvent } from "../base/event.ts";
import type { Facet, Member } from "./wire.ts";

/// What a link or an event names: a member, or the member with this facet.
export interface Target {
  by: "member" | Facet;
  id: string;
}

export const isEnded = (member: Member): boolean => !!member.ended_at;

/// The first member that is meant: present members come before ended ones.
export const findMember = (members: readonly Member[], { by, id }: Target): Member | undefined =>
  members.find((member) => (by === "member" ? member.id : member.facets[by] ?? (by === "session" ? member.session_id : null)) === id);

/// Events that are frequent and change no badge: output, chunks of answers, movements, receipts.
const without_effect = /^(agent\.output|chat\.text|notes\..*|live\.(agent_moved|user_.*|message_receipt|agent_broadcast))$/;

/// Whether an event may change the members. Live agents cause many events, which matter only where they are visible.
export const concernsMembers = ({ type }: Pick<LogEvent, "type">, are_bodies_visible: boolean): boolean =>
  !without_effect.test(type) && (are_bodies_visible || !type.startsWith("live."));

export interface Filter {
  /// Only members with this facet; null for all.
  facet: Facet | null;
  /// Only members whose name, kind, definition, task or status contains these words.
  words: string;
}

export function filtered(members: readonly Member[], { facet, words }: Filter): Member[] {
  const wanted = words.trim().toLowerCase();
  return members.filter((member) => (!facet || member.facets[facet])
    && (!wanted || [member.name, member.kind, member.definition, member.program, member.doing, member.badge, member.parent].some((text) => text?.toLowerCase().includes(wanted))));
}

export interface Branch {
  member: Member;
  /// How many of its ancestors are in the list above it.
  depth: number;
}

/// The members with each one's children below it. Whoever needs somebody comes first, together with its family.
export function inTree(members: readonly Member[]): Branch[] {
  const place = new Map(members.map(({ id }, i) => [id, i]));
  const children = new Map<string, Member[]>();
  const parentOf = ({ id, parent_id }: Member): string => (parent_id && parent_id !== id && place.has(parent_id) ? parent_id : "");
  for (const member of members) {
    const siblings = children.get(parentOf(member));
    if (siblings) siblings.push(member);
    else children.set(parentOf(member), [member]);
  }
  const seen = new Set<string>();
  // Of each family: its first place in the list of the daemon.
  const grow = (member: Member, depth: number): { first: number; branches: Branch[] } => {
    if (seen.has(member.id)) return { first: Infinity, branches: [] };
    seen.add(member.id);
    const families = (children.get(member.id) ?? []).map((child) => grow(child, depth + 1)).sort((a, b) => a.first - b.first);
    return { first: Math.min(place.get(member.id)!, ...families.map(({ first }) => first)), branches: [{ member, depth }, ...families.flatMap((family) => family.branches)] };
  };
  // Everybody once more: members that are each other's parents have no root.
  return [...(children.get("") ?? []), ...members].map((root) => grow(root, 0)).sort((a, b) => a.first - b.first).flatMap((family) => family.branches);
}
