// Parses server-sent events from text that arrives in arbitrary chunks. Pure: no network, no clock.

export interface Frame {
  event: string;
  id: string | null;
  data: string;
}

/// Accepts text in arbitrary chunks and returns the frames that they complete.
export class FrameParser {
  #rest = "";
  #event = "";
  #id: string | null = null;
  #data: string[] = [];

  push(text: string): Frame[] {
    const frames: Frame[] = [];
    this.#rest += text;
    // A CR at the end may be the first half of a CRLF: leave it for the next chunk.
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
