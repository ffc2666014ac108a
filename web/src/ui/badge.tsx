import { glyphs, type State } from "./states.ts";

/// State as glyph, word and colour at once: none of the three is needed to read it.
export function Badge({ status, asks }: { status: State; asks?: boolean }) {
  const kind = asks ? "needs-you" : status;
  return (
    <span class={`badge is-${kind}`}>
      <span class="badge-glyph" aria-hidden="true">{glyphs[kind]}</span>
      {asks ? "needs answer" : status}
    </span>
  );
}
