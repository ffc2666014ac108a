import { safeText } from "../base/safe_text.ts";
import { changes, readChanges } from "./model.ts";
import type { Changeset, Handoff } from "./wire.ts";
import { commitName, describeFiles, describeRange } from "./texts.ts";

function Shown({ changeset }: { changeset: Changeset }) {
  const range = describeRange(changeset);
  const more_files = changeset.file_count - changeset.files.length;
  return (
    <>
      {range && <p>{range}</p>}
      {!!changeset.commits?.length && (
        <ul class="commits" aria-label="Commits">
          {changeset.commits.map(({ id, subject, author }) => <li key={id}><code>{commitName(id)}</code> {safeText(subject)} <span class="since">{safeText(author)}</span></li>)}
          {changeset.more_commits && <li>and more: <code>git log {changeset.base}..{changeset.head}</code></li>}
        </ul>
      )}
      <p>{describeFiles(changeset)}{changeset.id ? "" : " until now"}</p>
      {changeset.files.length > 0 && (
        <ul class="files" aria-label="Files edited">
          {changeset.files.map((file) => <li key={file}>{safeText(file)}</li>)}
          {more_files > 0 && <li>and {more_files} more</li>}
        </ul>
      )}
    </>
  );
}

/// What the session of a handoff changed: read when it is opened.
export function Changes({ handoff }: { handoff: Handoff }) {
  if (handoff.kind === "final" && !handoff.changeset_id) return null;
  const found = changes.value.get(handoff.id);
  return (
    <details class="changes" onToggle={(event) => { if (event.currentTarget.open) void readChanges(handoff.id); }}>
      <summary>What the session changed<span class="visually-hidden"> (handoff of {safeText(handoff.agent_name)})</span></summary>
      {found === undefined ? <p class="since">reading…</p>
        : found === null ? <p>Nothing that cru recorded.</p>
          : typeof found === "string" ? <p role="alert">{safeText(found)}</p>
            : <Shown changeset={found} />}
    </details>
  );
}
