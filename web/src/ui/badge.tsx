import { glyphs, type State } from "./states.ts";

/// Shows a state as glyph, word and colour, so that it is readable without any one of them.
export function Badge({ status, needs_answer }: { status: State; needs_answer?: boolean }) {
  const kind = needs_answer ? "needs-answer" : status;
  return (
    <span class={`badge is-${kind}`}>
      <span class="badge-glyph" aria-hidden="true">{glyphs[kind]}</span>
      {needs_answer ? "needs answer" : status}
    </span>
  );
}
