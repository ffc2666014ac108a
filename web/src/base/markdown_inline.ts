// Parses markdown within a paragraph: emphasis, code and links. Expects text that is already safe to show. Pure.

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "emphasis" | "deleted"; inlines: Inline[] }
  /// `host` is the target's host if the label does not show it; otherwise empty.
  | { kind: "link"; href: string; host: string; inlines: Inline[] }
  | { kind: "wikilink"; target: string; label: string };

export const max_line_length = 20_000;
const max_label_length = 500;
const max_address_length = 2_000;
const max_depth = 4;

type Part = Extract<Inline, { inlines: Inline[] }>["kind"];
const marks: [string, Part][] = [["**", "strong"], ["__", "strong"], ["~~", "deleted"], ["*", "emphasis"], ["_", "emphasis"]];

/// The URL of an http or https address; null for any other address.
export function safeAddress(address: string): URL | null {
  if (address.length > max_address_length || !/^https?:\/\//i.test(address)) return null;
  try {
    const url = new URL(address);
    return url.protocol === "http:" || url.protocol === "https:" ? url : null;
  } catch {
    return null;
  }
}

/// The host of a URL, unless the label visibly begins with it.
const hidden = (url: URL, shown: string): string => (shown === url.protocol + "//" + url.host || shown.startsWith(`${url.protocol}//${url.host}/`) ? "" : url.host);

export function inlines(text: string, depth = 0): Inline[] {
  return new Reader(text, depth).read();
}

class Reader {
  #at = 0;
  #plain = "";
  readonly #out: Inline[] = [];
  /// Marks without a closing counterpart in the rest of the text.
  readonly #unmatched = new Set<string>();

  constructor(readonly text: string, readonly depth: number) {}

  read(): Inline[] {
    if (this.depth > max_depth) return [{ kind: "text", text: this.text }];
    while (this.#at < this.text.length) {
      const taken = this.#take();
      if (!taken) this.#plain += this.text[this.#at++];
    }
    this.#endPlain();
    return this.#out;
  }

  #endPlain(): void {
    if (this.#plain) this.#out.push({ kind: "text", text: this.#plain });
    this.#plain = "";
  }

  #push(inline: Inline, next: number): true {
    this.#endPlain();
    this.#out.push(inline);
    this.#at = next;
    return true;
  }

  #take(): boolean {
    const { text } = this;
    const c = text[this.#at]!;
    if (c === "\\" && /[\\`*_~[\]()#!>|-]/.test(text[this.#at + 1] ?? "")) {
      this.#plain += text[this.#at + 1];
      this.#at += 2;
      return true;
    }
    if (c === "`") return this.#code();
    if (c === "[" || (c === "!" && text[this.#at + 1] === "[")) return this.#wikilink() || this.#link();
    if (c === "h" || c === "<") return this.#bare();
    if (c === "*" || c === "_" || c === "~") return marks.some(([mark, kind]) => this.#marked(mark, kind)) || this.#skipRun(c);
    return false;
  }

  /// Treats a run of marks such as "****" as plain text, all at once, so that each mark is not tried separately.
  #skipRun(mark: string): boolean {
    let end = this.#at;
    while (this.text[end] === mark) ++end;
    this.#plain += this.text.slice(this.#at, end);
    this.#at = end;
    return true;
  }

  #code(): boolean {
    let start = this.#at;
    while (this.text[start] === "`") ++start;
    const ticks = this.text.slice(this.#at, start);
    const end = this.#partner(ticks, start, (at) => this.text[at - 1] !== "`" && this.text[at + ticks.length] !== "`");
    if (end < 0) return this.#skipRun("`");
    return this.#push({ kind: "code", text: this.text.slice(start, end).replace(/^ (.*\S.*) $/s, "$1") }, end + ticks.length);
  }

  /// The index of the next such mark that is suitable; -1 if there is none, which is remembered.
  #partner(mark: string, from: number, is_suitable: (at: number) => boolean): number {
    if (this.#unmatched.has(mark)) return -1;
    for (let at = this.text.indexOf(mark, from); at >= 0; at = this.text.indexOf(mark, at + 1)) if (is_suitable(at)) return at;
    this.#unmatched.add(mark);
    return -1;
  }

  #marked(mark: string, kind: Part): boolean {
    const { text } = this;
    if (!text.startsWith(mark, this.#at)) return false;
    const start = this.#at + mark.length;
    if (/\s/.test(text[start] ?? " ") || text[start] === mark[0]) return false;
    // There is no emphasis in snake_case_names.
    if (mark[0] === "_" && /[\p{L}\p{N}]/u.test(text[this.#at - 1] ?? "")) return false;
    const end = this.#partner(mark, start + 1, (at) =>
      !/\s/.test(text[at - 1]!) && (mark.length > 1 || (text[at + 1] !== mark && text[at - 1] !== mark))
      && (mark[0] !== "_" || !/[\p{L}\p{N}]/u.test(text[at + mark.length] ?? "")));
    if (end < 0) return false;
    return this.#push({ kind: kind as "strong", inlines: inlines(text.slice(start, end), this.depth + 1) }, end + mark.length);
  }

  #wikilink(): boolean {
    if (!this.text.startsWith("[[", this.#at)) return false;
    const found = /^\[\[([^\][|\n]{1,300})(?:\|([^\][|\n]{1,300}))?\]\]/.exec(this.text.slice(this.#at, this.#at + 2 * max_label_length));
    if (!found) return false;
    const target = found[1]!.trim();
    return this.#push({ kind: "wikilink", target, label: found[2]?.trim() || target }, this.#at + found[0].length);
  }

  /// A link or an image. Images are never loaded, only linked.
  #link(): boolean {
    const rest = this.text.slice(this.#at, this.#at + max_label_length + max_address_length);
    const found = /^!?\[([^\][\n]{0,500})\]\(\s*<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)?)>?(?:\s+"[^"\n]{0,300}")?\s*\)/.exec(rest);
    if (!found) return false;
    const url = safeAddress(found[2]!);
    const label = found[1]!.trim() || found[2]!;
    // An unsafe address is shown as text.
    if (!url) return this.#push({ kind: "text", text: found[2] ? `${label} (${found[2]})` : label }, this.#at + found[0].length);
    const host = label === found[2] ? hidden(url, label) : url.host;
    return this.#push({ kind: "link", href: url.href, host, inlines: [{ kind: "text", text: label }] }, this.#at + found[0].length);
  }

  #bare(): boolean {
    const angled = this.text[this.#at] === "<";
    const start = angled ? this.#at + 1 : this.#at;
    if (this.text[start] !== "h" || /\w/.test(this.text[start - 1] ?? "")) return false;
    const found = /^https?:\/\/[^\s<>"'`|\\^{}]{1,2000}/.exec(this.text.slice(start, start + max_address_length));
    if (!found) return false;
    let address = found[0];
    while (/[.,;:!?*_~]$/.test(address) || (address.endsWith(")") && !address.includes("(")) || (address.endsWith("]") && !address.includes("["))) address = address.slice(0, -1);
    const url = safeAddress(address);
    if (!url) return false;
    const next = start + address.length;
    return this.#push({ kind: "link", href: url.href, host: hidden(url, address), inlines: [{ kind: "text", text: address }] }, angled && this.text[next] === ">" ? next + 1 : next);
  }
}
