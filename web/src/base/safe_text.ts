// Makes untrusted text safe to show. Only the display changes; files keep the original bytes.
//   visibleText  words, and whatever a person approves, trusts or decides on: nothing is left out.
//   safeText     what programs print: as a terminal would show it, without its escape sequences. styled_text.ts draws the colours.

/// CSI sequences, OSC/DCS/PM/APC/SOS strings up to their end, and two- and three-byte escapes.
export const escapes =
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_](?:[^\x07\x1b]|\x1b(?!\\))*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]/g;

/// Characters that move, hide or reorder what is around them: the list of src/base/text.cc, with which a test compares it.
export const misleading: readonly (readonly [first: number, last: number])[] = [
  [0x00ad, 0x00ad], [0x034f, 0x034f], [0x061c, 0x061c], [0x115f, 0x1160], [0x17b4, 0x17b5], [0x180b, 0x180f], [0x200b, 0x200f],
  [0x2028, 0x202e], [0x2060, 0x206f], [0x3164, 0x3164], [0xfeff, 0xfeff], [0xffa0, 0xffa0], [0xfff9, 0xfffb], [0xe0000, 0xe0fff],
];
const ranges = misleading.map(([first, last]) => `\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`).join("");
const hidden = new RegExp(`[\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f${ranges}]`, "gu");
/// Of output. The two joiners stay: they belong to the words of some languages and to emoji.
export const deceptive = new RegExp(`(?![\\u200c\\u200d])[${ranges}]`, "gu");
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/// A control character as its symbol, any other by its number.
function nameOf(character: string): string {
  const code = character.codePointAt(0)!;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
}

/// Everything that is there, in its order: control characters but the tab, also line breaks, and characters that could mislead are
/// made visible. Of several lines, each is given by itself.
export const visibleText = (text: string): string => text.replace(hidden, nameOf);

export const hasEscapes = (text: string): boolean => text.includes("\x1b") || text.includes("\x9b");

export function stripEscapes(text: string): string {
  return hasEscapes(text) ? text.replace(escapes, "") : text;
}

/// Output whose escape sequences are gone: the control characters that are left, and what could mislead, are made visible.
export const printedText = (text: string): string => text.replace(controls, nameOf).replace(deceptive, nameOf);

/// The line as a terminal would show it: the text after a carriage return overwrites the line.
function lastRewrite(text: string): string {
  if (!text.includes("\r")) return text;
  const parts = text.split("\r");
  for (let i = parts.length - 1; i >= 0; --i) if (parts[i]) return parts[i]!;
  return "";
}

/// One line of output, safe to show on the page. It may hide something: see visibleText.
export const safeText = (text: string): string => printedText(lastRewrite(stripEscapes(text)));
