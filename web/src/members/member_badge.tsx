import { now } from "../base/clock.ts";
import { ago } from "../base/text.ts";
import { Badge } from "../ui/badge.tsx";
import { memberWith } from "./model.ts";
import type { Target } from "./state.ts";
import { stateOf } from "./texts.ts";
import type { Member } from "./wire.ts";

/// A member's badge: the daemon's word, and since when.
export function MemberBadge({ member }: { member: Member }) {
  return <><Badge status={stateOf(member.badge)} word={member.badge} /> <span class="since">{ago(member.since, now.value)}</span></>;
}

/// The badge of the member with a facet; nothing if that member is not listed.
export function BadgeOf({ target }: { target: Target }) {
  const member = memberWith(target);
  return member ? <Badge status={stateOf(member.badge)} word={member.badge} /> : null;
}
