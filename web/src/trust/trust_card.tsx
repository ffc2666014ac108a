import { visibleText } from "../base/safe_text.ts";
import { counted } from "../base/text.ts";
import { useSending } from "../ui/sending.ts";
import { files_to_trust, notNow, trust } from "./model.ts";
import { diffLines } from "./state.ts";
import type { WaitingFile } from "./wire.ts";

function File({ file }: { file: WaitingFile }) {
  return (
    <li class="trust-file">
      <details>
        <summary><span class="trust-path">{visibleText(file.path)}</span> <span class="trust-state">{file.state}</span></summary>
        {file.diff && <pre class="trust-diff" tabIndex={0} aria-label={`Changes in ${visibleText(file.path)}`}>{diffLines(file.diff).map(({ kind, text }, i) => <span key={i} class={`is-${kind}`}>{visibleText(text) || "\u00a0"}</span>)}</pre>}
      </details>
      {file.reasons.length > 0 && <p class="trust-reason">It {visibleText(file.reasons.join("; "))}.</p>}
      {file.problem && <p class="error">It cannot be trusted: {visibleText(file.problem)}</p>}
    </li>
  );
}

/// What the project brings and nobody has trusted yet, with what is new in it; nothing if there is nothing.
export function TrustCard() {
  const { is_sending, error, send } = useSending();
  const files = files_to_trust.value;
  if (!files.length) return null;
  const good = files.filter(({ state }) => state !== "refused");
  return (
    <section class="card trust-card" aria-label="Files that need your trust">
      <p class="card-from">The project</p>
      <p class="card-prompt">{counted(files.length, "file")} could run commands, spend money or widen rights. Until you trust {files.length === 1 ? "it, it is" : "them, they are"} not used.</p>
      <ul class="trust-files">{files.map((file) => <File key={file.path} file={file} />)}</ul>
      <div class="card-options">
        {good.length > 0 && <button type="button" class="button" disabled={is_sending} onClick={() => void send(() => trust(good))}>Trust</button>}
        <button type="button" class="button is-quiet" disabled={is_sending} onClick={() => notNow(files)}>Not now</button>
      </div>
      {error && <p class="error" role="alert">{visibleText(error)}</p>}
    </section>
  );
}
