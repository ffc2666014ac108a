// Makes text from programs safe to show: terminal escape sequences are removed, and characters that could mislead the
// reader are made visible. Only the display changes; files keep the original bytes. styled_text.ts draws the colours.

/// CSI sequences, OSC/DCS/PM/APC/SOS strings up to their end, and two- and three-byte escapes.
export const escapes =
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_](?:[^\x07\x1b]|\x1b(?!\\))*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]/g;
/// Characters that reorder text, and zero-width characters.
export const deceptive = /[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

export const hasEscapes = (text: string): boolean => text.includes("\x1b") || text.includes("\x9b");

export function stripEscapes(text: string): string {
  return hasEscapes(text) ? text.replace(escapes, "") : text;
}

/// Shows control characters as symbols, and names the characters that could mislead.
export function visibleText(text: string): string {
  return text
    .replace(controls, (c) => String.fromCharCode(c.charCodeAt(0) < 0x20 ? 0x2400 + c.charCodeAt(0) : 0xfffd))
    .replace(deceptive, (c) => `‹U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/// The line as a terminal would show it: the text after a carriage return overwrites the line.
function lastRewrite(text: string): string {
  if (!text.includes("\r")) return text;
  const parts = text.split("\r");
  for (let i = parts.length - 1; i >= 0; --i) if (parts[i]) return parts[i]!;
  return "";
}

/// One line of output, safe to show on the page.
export const safeText = (text: string): string => visibleText(lastRewrite(stripEscapes(text)));
