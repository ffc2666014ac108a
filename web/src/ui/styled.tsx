import { coloursIn, schemes, type Rgb } from "../base/readable_colours.ts";
import type { Span, Style } from "../base/styled_text.ts";

const hex = (colour: Rgb | undefined): string | undefined => colour && `#${colour.map((value) => value.toString(16).padStart(2, "0")).join("")}`;

/// The colours for both schemes, as properties that styled.css chooses from.
function properties(style: Style): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of ["light", "dark"] as const) {
    const { text, paper } = coloursIn(schemes[name], style);
    if (text) found[`--text-${name}`] = hex(text)!;
    if (paper) found[`--paper-${name}`] = hex(paper)!;
  }
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
