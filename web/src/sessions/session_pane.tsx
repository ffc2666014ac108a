import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { ago } from "../base/text.ts";
import { LockTable } from "../locks/locks.tsx";
import { locks } from "../locks/model.ts";
import { Facts } from "../ui/facts.tsx";
import { WorkCard } from "../work/board.tsx";
import { work } from "../work/model.ts";
import { isOpen } from "../work/state.ts";
import { session_list } from "./model.ts";

/// A session of a member, and what the member holds.
export function SessionPane({ id, member }: { id: string; member: string }) {
  const session = session_list.items.value.get(id);
  const held = locks.value.filter((lock) => lock.member === member);
  const items = [...work.value.values()].filter((item) => isOpen(item) && item.claimed_by_member === member);
  return (
    <>
      {session && (
        <Facts of={[["agent", session.agent_id], ["type", session.agent_type], ["session", id], ["last heartbeat", session.agent_type === "person" ? "" : ago(session.last_heartbeat, now.value)]]} />
      )}
      {!!session?.capabilities?.length && <ul class="chips" aria-label="Capabilities">{session.capabilities.map((word) => <li key={word}>{safeText(word)}</li>)}</ul>}
      <section aria-label="Locks held">
        <h3 class="heading">Locks</h3>
        {held.length ? <LockTable locks={held} has_holder={false} /> : <p class="hint">It holds no locks.</p>}
      </section>
      <section aria-label="Work claimed">
        <h3 class="heading">Work</h3>
        {items.length ? <ul class="claimed">{items.map((item) => <WorkCard key={item.task_id} work={item} />)}</ul> : <p class="hint">It has claimed no work.</p>}
      </section>
    </>
  );
}
