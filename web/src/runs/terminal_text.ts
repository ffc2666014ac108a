// What a terminal is given of a run's output, and what is typed into it. Pure.
import { deceptive } from "../base/safe_text.ts";
import type { Line } from "./wire.ts";

export function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(binary);
}

export function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/// Turns the records of an output into the text of a terminal, each record once, in order.
export class TerminalFeed {
  #last = 0;
  #decoder = new TextDecoder();

  /// The text of the lines that were not taken yet. `is_anew`: they do not follow what was taken before, so that the terminal has
  /// to be emptied first. Characters that reorder text are replaced: the screen shows what the program printed, in its order.
  take(lines: readonly Line[]): { text: string; is_anew: boolean } {
    const first = lines[0]?.seq ?? 0;
    const is_anew = this.#last > 0 && first > 0 && (first > this.#last + 1 || lines.at(-1)!.seq < this.#last);
    if (is_anew) {
      this.#last = 0;
      this.#decoder = new TextDecoder();
    }
    let text = "";
    for (const line of lines.slice(Math.max(0, first ? this.#last + 1 - first : 0))) {
      // A character may be split between two records of raw bytes.
      text += line.raw ? this.#decoder.decode(fromBase64(line.raw), { stream: true }) : this.#decoder.decode() + line.data;
      if (line.eol !== false) text += "\r\n";
      this.#last = line.seq;
    }
    return { text: text.replace(deceptive, "\ufffd"), is_anew };
  }
}

/// How many rows and columns fit; undefined if the size of the box or of a cell is not known.
export function sizeFor(box: { width: number; height: number }, cell: { width: number; height: number }): { rows: number; cols: number } | undefined {
  if (!(cell.width > 0 && cell.height > 0 && box.width > 0 && box.height > 0)) return undefined;
  const within = (count: number, min: number) => Math.max(min, Math.min(1000, Math.floor(count)));
  return { rows: within(box.height / cell.height, 4), cols: within(box.width / cell.width, 10) };
}
