import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { ago, oneLine } from "../base/text.ts";
import { addressOf } from "../base/views.ts";
import { openRun } from "../runs/model.ts";
import { Badge } from "../ui/badge.tsx";
import { Sheet } from "../ui/sheet.tsx";
import { has_more, members, roster_error, roster_loaded } from "./model.ts";
import type { Member } from "./wire.ts";
import { spent, stateOf, whatIs } from "./texts.ts";

/// The name leads to what there is to see of the member.
function Name({ member: { name, facets } }: { member: Member }) {
  if (facets.run) return <button type="button" class="plain" onClick={() => openRun(facets.run!)}>{safeText(name)}</button>;
  const where = facets.body ? "world" : facets.thread ? "chats" : facets.session ? "agents" : null;
  return where ? <a href={addressOf(where)}>{safeText(name)}</a> : <>{safeText(name)}</>;
}

function Row({ member }: { member: Member }) {
  return (
    <tr>
      <th scope="row"><Name member={member} /> <span class="faint">{whatIs(member)}</span></th>
      <td data-name="Status">
        <Badge status={stateOf(member.badge)} word={member.badge} /> <span class="since">{ago(member.since, now.value)}</span>
        {member.evidence && <div class="faint">{oneLine(member.evidence, 120)}</div>}
      </td>
      <td data-name="Doing" class="wide">{member.doing ? oneLine(member.doing) : <span class="faint">nothing said</span>}</td>
      <td data-name="Parent">{member.parent ? safeText(member.parent) : <span class="faint">none</span>}</td>
      <td data-name="Spent" class="number">{spent(member) || <span class="faint">unknown</span>}</td>
    </tr>
  );
}

export function Roster() {
  const all = members.value;
  return (
    <Sheet title="Everybody" count={`${all.length}${has_more.value ? " of more" : ""}`} loaded={roster_loaded.value} error={roster_error.value} is_empty={!all.length} empty={(
      <>
        <h2>Nobody is here</h2>
        <p>Everybody who acts in this project is listed here: people, runs, agents of any vendor, chats, subagents and live agents.</p>
        <pre><code>cru crew</code></pre>
      </>
    )}>
      <table class="rows">
        <thead><tr><th scope="col">Name</th><th scope="col">Status</th><th scope="col">Doing</th><th scope="col">Parent</th><th scope="col">Spent</th></tr></thead>
        <tbody>{all.map((member) => <Row key={member.id} member={member} />)}</tbody>
      </table>
    </Sheet>
  );
}
