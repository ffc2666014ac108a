import { coloursIn, schemes, type Rgb } from "../base/readable_colours.ts";
import type { Span, Style } from "../base/styled_text.ts";

const hex = (colour: Rgb | undefined): string | undefined => colour && `#${colour.map((value) => value.toString(16).padStart(2, "0")).join("")}`;

const max_known = 1000;
const known = new Map<string, Record<string, string>>();

/// The colours for both schemes, as properties that styled.css chooses from. Computed once: the same few are used again and again.
function properties(style: Style): Record<string, string> {
  const key = JSON.stringify([style.text, style.paper, style.dim, style.inverse]);
  const before = known.get(key);
  if (before) return before;
  const found: Record<string, string> = {};
  for (const name of ["light", "dark"] as const) {
    const { text, paper } = coloursIn(schemes[name], style);
    if (text) found[`--text-${name}`] = hex(text)!;
    if (paper) found[`--paper-${name}`] = hex(paper)!;
  }
  if (known.size >= max_known) known.clear();
  known.set(key, found);
  return found;
}

const emphasis = ["bold", "italic", "underline", "struck"] as const;

/// Text with colours and emphasis.
export function Styled({ spans }: { spans: readonly Span[] }) {
  return (
    <>
      {spans.map(({ text, style }, i) => Object.keys(style).length
        ? <span key={i} class={["styled", ...emphasis.filter((name) => style[name]).map((name) => `is-${name}`)].join(" ")} style={properties(style)}>{text}</span>
        : text)}
    </>
  );
}
