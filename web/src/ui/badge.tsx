import { glyphs, type State } from "./states.ts";

/// Shows a state as glyph, word and colour, so that it is readable without any one of them.
export function Badge({ status, word = status }: { status: State; word?: string }) {
  return (
    <span class={`badge is-${status}`}>
      <span class="badge-glyph" aria-hidden="true">{glyphs[status]}</span>
      {word}
    </span>
  );
}
