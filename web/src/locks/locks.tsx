import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { ahead, duration, oneLine } from "../base/text.ts";
import { Sheet } from "../ui/sheet.tsx";
import { lock_list, locks } from "./model.ts";
import type { Lock } from "./wire.ts";

function Row({ lock, has_holder }: { lock: Lock; has_holder: boolean }) {
  const waiters = lock.waiters ?? 0;
  const held = Date.parse(lock.locked_at ?? "");
  return (
    <tr>
      <th scope="row" class="path">{safeText(lock.file_path)}</th>
      {has_holder && <td data-name="Holder">{safeText(lock.locked_by)} <span class="faint">{lock.agent_type && safeText(lock.agent_type)}</span></td>}
      <td data-name="Held for" class="number">{Number.isNaN(held) ? "" : duration(now.value - held)}</td>
      <td data-name="Waiting" class={`number ${waiters ? "is-waited" : ""}`}>{waiters ? `${waiters} waiting` : "none"}</td>
      <td data-name="Expires" class="number">{ahead(lock.expires_at, now.value)}</td>
      <td data-name="Reason" class="wide">{lock.reason ? oneLine(lock.reason) : <span class="faint">none given</span>}</td>
    </tr>
  );
}

/// `has_holder`: with a column for who holds each.
export function LockTable({ locks, has_holder }: { locks: readonly Lock[]; has_holder: boolean }) {
  return (
    <table class="rows">
      <thead><tr><th scope="col">Path</th>{has_holder && <th scope="col">Holder</th>}<th scope="col">Held for</th><th scope="col">Waiting</th><th scope="col">Expires</th><th scope="col">Reason</th></tr></thead>
      <tbody>{locks.map((lock) => <Row key={lock.file_path} lock={lock} has_holder={has_holder} />)}</tbody>
    </table>
  );
}

export function Locks() {
  const all = locks.value;
  return (
    <Sheet title="Locks" count={`${all.length} held`} loaded={lock_list.loaded.value} error={lock_list.error.value} is_empty={!all.length} empty={(
      <>
        <h2>Nothing is locked</h2>
        <p>A lock keeps other agents from editing what it covers: a file, a folder, a pattern, or a name such as
          <code> api:users</code>. It ends when its holder releases it, when it expires, or when its holder disconnects.</p>
        <pre><code>cru locks acquire src/main.cc --reason "splitting it"</code></pre>
      </>
    )}>
      <LockTable locks={all} has_holder />
    </Sheet>
  );
}
