// Server-sent events from bytes that arrive in any pieces. Pure: no network, no clock.

export interface Frame {
  event: string;
  id: string | null;
  data: string;
}

/// Feed it text in any pieces; it gives back the frames that became whole.
export class FrameParser {
  #rest = "";
  #event = "";
  #id: string | null = null;
  #data: string[] = [];

  push(text: string): Frame[] {
    const frames: Frame[] = [];
    this.#rest += text;
    // A lone CR at the very end may be the first half of CRLF: leave it for the next piece.
    const lines = this.#rest.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (this.#data.length) frames.push({ event: this.#event || "message", id: this.#id, data: this.#data.join("\n") });
        this.#event = "";
        this.#id = null;
        this.#data = [];
        continue;
      }
      if (line.startsWith(":")) continue;
      const colon = line.indexOf(":");
      const name = colon < 0 ? line : line.slice(0, colon);
      let value = colon < 0 ? "" : line.slice(colon + 1);
      if (value.startsWith(" ")) value = value.slice(1);
      if (name === "event") this.#event = value;
      else if (name === "data") this.#data.push(value);
      else if (name === "id" && !value.includes("\0")) this.#id = value;
    }
    return frames;
  }
}
