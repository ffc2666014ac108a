// The colours that a program chose, made readable on the page: in both schemes, text keeps a contrast of at least 4.5 to what
// is behind it. Pure.
import type { Colour, Style } from "./styled_text.ts";

export type Rgb = readonly [number, number, number];
export interface Colours {
  /// Undefined: as the text around it.
  text?: Rgb;
  paper?: Rgb;
}
export interface Scheme {
  ink: Rgb;
  paper: Rgb;
}

/// The ink of output and its paper under the pointer (--out-ink, --sunk of theme.css), where the contrast is lowest.
export const schemes: { light: Scheme; dark: Scheme } = {
  light: { ink: [0x22, 0x28, 0x2a], paper: [0xec, 0xea, 0xe2] },
  dark: { ink: [0xd5, 0xdd, 0xd8], paper: [0x0b, 0x10, 0x0e] },
};

const min_contrast = 4.5;
const black: Rgb = [0, 0, 0];
const white: Rgb = [255, 255, 255];
const named: readonly Rgb[] = [
  [0, 0, 0], [205, 49, 49], [13, 188, 121], [229, 229, 16], [36, 114, 200], [188, 63, 188], [17, 168, 205], [229, 229, 229],
  [102, 102, 102], [241, 76, 76], [35, 209, 139], [245, 245, 67], [59, 142, 234], [214, 112, 214], [41, 184, 219], [255, 255, 255],
];

/// A colour of the palette: 16 named ones, a cube of 6 × 6 × 6, and 24 greys.
export function rgbOf(colour: Colour): Rgb {
  if (typeof colour !== "number") return colour;
  if (colour < 16) return named[colour]!;
  if (colour >= 232) return [8 + 10 * (colour - 232), 8 + 10 * (colour - 232), 8 + 10 * (colour - 232)];
  const level = (n: number): number => (n % 6 ? 55 + 40 * (n % 6) : 0);
  return [level(Math.floor((colour - 16) / 36)), level(Math.floor((colour - 16) / 6)), level(colour - 16)];
}

function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((value) => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

/// As in WCAG: 1 (none) to 21 (black on white).
export function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high! + 0.05) / (low! + 0.05);
}

const mix = (a: Rgb, b: Rgb, part: number): Rgb => [0, 1, 2].map((i) => Math.round(a[i]! + (b[i]! - a[i]!) * part)) as unknown as Rgb;

/// `text`, made darker or lighter until it can be read on `paper`.
function readable(text: Rgb, paper: Rgb): Rgb {
  const end = contrast(black, paper) >= contrast(white, paper) ? black : white;
  for (let part = 0; part < 1; part += 0.05) {
    const tried = mix(text, end, part);
    if (contrast(tried, paper) >= min_contrast) return tried;
  }
  return end;
}

/// The colours of a style in a scheme.
export function coloursIn(scheme: Scheme, style: Style): Colours {
  let text = style.text === undefined ? undefined : rgbOf(style.text);
  let paper = style.paper === undefined ? undefined : rgbOf(style.paper);
  if (style.inverse) [text, paper] = [paper ?? scheme.paper, text ?? scheme.ink];
  const behind = paper ?? scheme.paper;
  if (style.dim) text = mix(text ?? scheme.ink, behind, 0.35);
  if (paper) text ??= scheme.ink;
  return { ...(text && { text: readable(text, behind) }), ...(paper && { paper }) };
}
