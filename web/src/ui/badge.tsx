import { glyphs, type State } from "./states.ts";

/// Shows a state as glyph, word and colour, so that it is readable without any one of them.
/// `word` is shown instead of the state's own name.
export function Badge({ status, needs_you, word }: { status: State; needs_you?: boolean; word?: string }) {
  const kind = needs_you ? "needs-you" : status;
  return (
    <span class={`badge is-${kind}`}>
      <span class="badge-glyph" aria-hidden="true">{glyphs[kind]}</span>
      {word ?? (needs_you ? "needs you" : status)}
    </span>
  );
}
