import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { ago, counted, oneLine } from "../base/text.ts";
import { questions } from "../inbox/model.ts";
import { locks } from "../locks/model.ts";
import { isRun, openRun } from "../runs/model.ts";
import { Badge } from "../ui/badge.tsx";
import { Sheet } from "../ui/sheet.tsx";
import { work } from "../work/model.ts";
import { isOpen } from "../work/state.ts";
import { connected_sessions, session_list, sessions } from "./model.ts";
import type { Session } from "./wire.ts";

const workOf = (session: Session) => [...work.value.values()].filter((item) => isOpen(item) && item.claimed_by_session === session.session_id);

/// The task that the session reports, else the work that it has claimed.
const currentTask = (session: Session) => session.current_task || workOf(session)[0]?.description || "";

/// The number of work items and locks that a session holds, with links to them.
function Holdings({ session }: { session: Session }) {
  const held = locks.value.filter((lock) => lock.session_id === session.session_id).length;
  const items = workOf(session).length;
  if (!held && !items) return <span class="faint">none</span>;
  return (
    <span>
      {items > 0 && <a href="#view=board">{counted(items, "task")}</a>}
      {items > 0 && held > 0 && ", "}
      {held > 0 && <a href="#view=locks">{counted(held, "lock")}</a>}
    </span>
  );
}

function Row({ session, has_siblings }: { session: Session; has_siblings: boolean }) {
  const gone = session.status === "disconnected";
  const is_person = session.agent_type === "person";
  const asks = questions.value.some((question) => question.task_id === session.agent_id);
  const name = safeText(session.agent_id);
  return (
    <tr class={gone ? "is-gone" : ""}>
      <th scope="row">
        {isRun(session.agent_id) ? <button type="button" class="plain" onClick={() => openRun(session.agent_id)}>{name}</button> : name}
        {" "}<span class="faint">{session.agent_type && safeText(session.agent_type)}{has_siblings && ` · ${session.session_id.slice(0, 8)}`}</span>
      </th>
      <td data-name="Status">
        <Badge status={session.status} needs_you={asks && !gone} />
        {gone && <span class="since"> {ago(session.ended_at, now.value)}{session.why && `: ${oneLine(session.why, 80)}`}</span>}
      </td>
      <td data-name="Last heartbeat" class="number">{is_person ? <span class="faint">n/a</span> : ago(session.last_heartbeat, now.value)}</td>
      <td data-name="Current task" class="wide">{currentTask(session) ? oneLine(currentTask(session)) : <span class="faint">none</span>}</td>
      <td data-name="Capabilities">
        {session.capabilities?.length
          ? <ul class="chips">{session.capabilities.map((word) => <li key={word}>{safeText(word)}</li>)}</ul>
          : <span class="faint">none</span>}
      </td>
      <td data-name="Holds"><Holdings session={session} /></td>
    </tr>
  );
}

export function Sessions() {
  const all = sessions.value;
  const count = new Map<string, number>();
  for (const { agent_id } of all) count.set(agent_id, (count.get(agent_id) ?? 0) + 1);
  return (
    <Sheet title="Agents" count={`${connected_sessions.value} connected`} loaded={session_list.loaded.value} error={session_list.error.value} is_empty={!all.length} empty={(
      <>
        <h2>No agents yet</h2>
        <p>An agent from any vendor appears here as soon as it calls one of this server's MCP tools. To connect Claude Code, run:</p>
        <pre><code>cru hooks install</code></pre>
      </>
    )}>
      <table class="rows">
        <thead><tr><th scope="col">Agent</th><th scope="col">Status</th><th scope="col">Last heartbeat</th><th scope="col">Current task</th><th scope="col">Capabilities</th><th scope="col">Holds</th></tr></thead>
        <tbody>{all.map((session) => <Row key={session.session_id} session={session} has_siblings={(count.get(session.agent_id) ?? 0) > 1} />)}</tbody>
      </table>
    </Sheet>
  );
}
