// Output of programs, made safe to show: what a terminal would obey is taken out, what could
// deceive the eye is made visible. The file keeps the bytes; this is only how they are shown.

// CSI, OSC/DCS/PM/APC/SOS up to their end, and the two- and three-byte escapes.
const escapes =
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_](?:[^\x07\x1b]|\x1b(?!\\))*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]/g;
// Marks that reorder text, and characters that take no room.
const deceptive = /[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

export function stripEscapes(text: string): string {
  return text.includes("\x1b") || text.includes("\x9b") ? text.replace(escapes, "") : text;
}

/// What a terminal would show of one line: after a carriage return the line is written anew.
function lastRewrite(text: string): string {
  if (!text.includes("\r")) return text;
  const parts = text.split("\r");
  for (let i = parts.length - 1; i >= 0; --i) if (parts[i]) return parts[i]!;
  return "";
}

/// One line of output as it may stand on the page.
export function safeText(text: string): string {
  return lastRewrite(stripEscapes(text))
    .replace(controls, (c) => (c === "\t" ? c : String.fromCharCode(c.charCodeAt(0) < 0x20 ? 0x2400 + c.charCodeAt(0) : 0xfffd)))
    .replace(deceptive, (c) => `‹U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}
