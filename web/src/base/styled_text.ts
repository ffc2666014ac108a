// Text with the colours and the emphasis that a program chose (SGR sequences), as spans that are safe to show. All other
// escape sequences are removed, as in safe_text.ts. Pure.
import { escapes, hasEscapes, printedText } from "./safe_text.ts";

/// 0 to 255: a colour of the palette. Otherwise red, green and blue.
export type Colour = number | readonly [number, number, number];

export interface Style {
  text?: Colour;
  paper?: Colour;
  bold?: true;
  dim?: true;
  italic?: true;
  underline?: true;
  struck?: true;
  inverse?: true;
}

export interface Span {
  text: string;
  style: Style;
}

export const plain: Style = {};
const max_spans = 400;

const isSgr = (sequence: string): boolean => /^(?:\x1b\[|\x9b)[0-9;:]*m$/.test(sequence);

/// The style after an SGR sequence. Parameters that are not known change nothing.
function afterSgr(before: Style, sequence: string): Style {
  const style: Style = { ...before };
  // "38;5;1" and "38:5:1" are the same; of "4:3" the part after the colon is only the kind of underline.
  const groups = sequence.slice(sequence.startsWith("\x9b") ? 1 : 2, -1).split(";").map((group) => group.split(":"));
  const number = (text: string | undefined): number => (text ? Number(text) : 0);
  for (let i = 0; i < groups.length; ++i) {
    const [first, ...inner] = groups[i]!;
    const code = number(first);
    if (code === 38 || code === 48 || code === 58) {
      const rest = inner.length ? inner : groups.slice(i + 1, i + 5).map(([value]) => value ?? "");
      const kind = number(rest[0]);
      if (!inner.length) i += kind === 5 ? 2 : kind === 2 ? 4 : groups.length;
      // With colons, an empty colour space may stand before the three components.
      const parts = rest.slice(inner.length > 4 ? 2 : 1).map(number);
      const colour = kind === 5 ? parts[0]! : kind === 2 && parts.length >= 3 ? ([parts[0]!, parts[1]!, parts[2]!] as const) : undefined;
      if (colour === undefined || (typeof colour === "number" ? [colour] : colour).some((value) => !(value >= 0 && value <= 255))) continue;
      if (code === 38) style.text = colour;
      else if (code === 48) style.paper = colour;
    } else if (code === 4 && inner.length && number(inner[0]) === 0) delete style.underline;
    else setSimple(style, code);
  }
  return style;
}

function setSimple(style: Style, code: number): void {
  if (code === 0) for (const key of Object.keys(style) as (keyof Style)[]) delete style[key];
  else if (code === 1) style.bold = true;
  else if (code === 2) style.dim = true;
  else if (code === 3) style.italic = true;
  else if (code === 4 || code === 21) style.underline = true;
  else if (code === 7) style.inverse = true;
  else if (code === 9) style.struck = true;
  else if (code === 22) {
    delete style.bold;
    delete style.dim;
  } else if (code === 23) delete style.italic;
  else if (code === 24) delete style.underline;
  else if (code === 27) delete style.inverse;
  else if (code === 29) delete style.struck;
  else if (code === 39) delete style.text;
  else if (code === 49) delete style.paper;
  else if (code >= 30 && code <= 37) style.text = code - 30;
  else if (code >= 40 && code <= 47) style.paper = code - 40;
  else if (code >= 90 && code <= 97) style.text = code - 82;
  else if (code >= 100 && code <= 107) style.paper = code - 92;
}

/// The style at the end of a line that begins with `style`: like a terminal, the next line continues with it.
export function styleAfter(line: string, style: Style): Style {
  if (!hasEscapes(line)) return style;
  for (const [sequence] of line.matchAll(escapes)) if (isSgr(sequence)) style = afterSgr(style, sequence);
  return style;
}

/// One line of output that begins with `style`, at most `max_length` characters of it; `rest` is how many more there are.
export function styledText(line: string, style: Style = plain, max_length = Infinity): { spans: Span[]; rest: number } {
  let spans: Span[] = [];
  let is_rewritten = false;
  const add = (text: string): void => {
    // The text after a carriage return overwrites the line; one at the end does not.
    for (const [i, part] of text.split("\r").entries()) {
      if (i) is_rewritten = true;
      if (!part) continue;
      if (is_rewritten) spans = [];
      is_rewritten = false;
      const last = spans.at(-1);
      if (last && (last.style === style || spans.length >= max_spans)) last.text += part;
      else spans.push({ text: part, style });
    }
  };
  let at = 0;
  if (hasEscapes(line)) {
    for (const found of line.matchAll(escapes)) {
      add(line.slice(at, found.index));
      at = found.index + found[0].length;
      if (isSgr(found[0])) style = afterSgr(style, found[0]);
    }
  }
  add(line.slice(at));
  let left = max_length;
  let rest = 0;
  const shown: Span[] = [];
  for (const span of spans) {
    const text = printedText(span.text);
    if (left > 0) shown.push({ text: text.slice(0, left), style: span.style });
    rest += Math.max(0, text.length - left);
    left = Math.max(0, left - text.length);
  }
  return { spans: shown, rest };
}
