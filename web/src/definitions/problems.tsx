import { safeText } from "../base/safe_text.ts";
import { oneLine } from "../base/text.ts";
import { problems } from "./model.ts";
import type { Problem } from "./wire.ts";
import { isError, placeOf } from "./texts.ts";

const shown = 100;

function ProblemItem({ problem }: { problem: Problem }) {
  const error = isError(problem);
  return (
    <li class={`problem ${error ? "is-failed" : "is-blocked"}`}>
      <p><span class={`badge ${error ? "is-failed" : "is-blocked"}`}><span class="badge-glyph" aria-hidden="true">{error ? "✗" : "‖"}</span>{error ? "invalid" : "warning"}</span> <code>{placeOf(problem)}</code></p>
      <p>{problem.field && <><code>{safeText(problem.field)}</code>: </>}{oneLine(problem.reason ?? "")}</p>
      {problem.suggestion && <p class="problem-fix">{oneLine(problem.suggestion)}</p>}
    </li>
  );
}

/// The problems in the agents' files.
export function Problems() {
  if (!problems.value.length) return null;
  return (
    <section aria-label="Problems">
      <h3 class="heading">Problems</h3>
      <ul class="problems">{problems.value.slice(0, shown).map((problem, i) => <ProblemItem key={i} problem={problem} />)}</ul>
    </section>
  );
}
