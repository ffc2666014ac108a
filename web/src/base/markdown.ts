// Parses the subset of markdown that agents use into blocks. There is no raw HTML, so nothing in the text can become
// markup of the page. Pure, and linear in the length of the text: a search that failed is not repeated.
import { inlines, max_line_length, type Inline } from "./markdown_inline.ts";
import { safeText } from "./safe_text.ts";

export type Block =
  | { kind: "paragraph"; inlines: Inline[] }
  /// `level` is the level as written; `rank` is the level for screen readers, which never skips one.
  | { kind: "heading"; level: number; rank: number; inlines: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; ordered: boolean; start: number; items: Block[][] }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "rule" };

const max_depth = 5;
const first_rank = 3;

const fence = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,40})[^`]*$/;
const item = /^(\s*)([-*+•]|(\d{1,9})[.)])(?:\s+(.*)|)$/;
const heading = /^\s{0,3}(#{1,6})\s+(.+)$/;
const rule = /^\s{0,3}(?:-\s*-\s*-[-\s]*|\*\s*\*\s*\*[*\s]*|_\s*_\s*_[_\s]*)$/;
const quote = /^\s{0,3}>\s?(.*)$/;

/// One line, made safe to show. A very long line is truncated; the file contains all of it.
function shownLine(line: string): string {
  const safe = safeText(line.length > max_line_length ? line.slice(0, max_line_length) : line);
  return line.length > max_line_length ? `${safe} … ${line.length - max_line_length} more characters` : safe;
}

/// The blocks of a text. CR, LF and CRLF all end a line, so a carriage return cannot overwrite text.
export function parseMarkdown(text: string): Block[] {
  const ranks = { last: first_rank - 1 };
  return blocksOf(text.replace(/\r\n?/g, "\n").split("\n").map(shownLine), 0, ranks);
}

interface Ranks {
  last: number;
}

function blocksOf(lines: readonly string[], depth: number, ranks: Ranks): Block[] {
  const out: Block[] = [];
  let words: string[] = [];
  const endParagraph = () => {
    if (words.length) out.push({ kind: "paragraph", inlines: inlines(words.join("\n")) });
    words = [];
  };
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!;
    const taken = takeBlock(lines, at, depth, ranks, words.length > 0);
    if (taken) {
      endParagraph();
      out.push(taken.block);
      at = taken.next;
      continue;
    }
    if (line.trim()) words.push(line);
    else endParagraph();
    ++at;
  }
  endParagraph();
  return out;
}

interface Taken {
  block: Block;
  next: number;
}

/// The block that begins at this line; null if the line belongs to a paragraph.
function takeBlock(lines: readonly string[], at: number, depth: number, ranks: Ranks, in_paragraph: boolean): Taken | null {
  const line = lines[at]!;
  const fenced = fence.exec(line);
  if (fenced) return takeFence(lines, at, fenced[1]!, fenced[2] ?? "");
  const title = heading.exec(line);
  if (title) {
    const level = title[1]!.length;
    ranks.last = Math.min(6, Math.max(first_rank, Math.min(level + first_rank - 1, ranks.last + 1)));
    return { block: { kind: "heading", level, rank: ranks.last, inlines: inlines(title[2]!.replace(/\s#+\s*$/, "")) }, next: at + 1 };
  }
  if (rule.test(line)) return { block: { kind: "rule" }, next: at + 1 };
  if (/^\s{0,3}\|/.test(line)) return takeWhile(lines, at, (next) => /^\s{0,3}\|/.test(next), (text) => ({ kind: "code", language: "", text: text.join("\n") }));
  if (depth >= max_depth) return null;
  if (quote.test(line))
    return takeWhile(lines, at, (next) => quote.test(next), (text) => ({ kind: "quote", blocks: blocksOf(text.map((each) => quote.exec(each)![1]!), depth + 1, ranks) }));
  const first = item.exec(line);
  // "1986. A good year" in the middle of a paragraph does not begin a list.
  if (!first || (in_paragraph && first[3] !== undefined && first[3] !== "1")) return null;
  return takeList(lines, at, depth, ranks);
}

function takeWhile(lines: readonly string[], at: number, belongs: (line: string) => boolean, make: (lines: string[]) => Block): Taken {
  let next = at;
  while (next < lines.length && belongs(lines[next]!)) ++next;
  return { block: make(lines.slice(at, next)), next };
}

/// An unclosed fence extends to the end of the text, so that code is shown as code while it is still streaming.
function takeFence(lines: readonly string[], at: number, mark: string, language: string): Taken {
  const end = new RegExp(`^\\s{0,3}\\${mark[0]}{${Math.min(mark.length, 100)},}\\s*$`);
  let next = at + 1;
  while (next < lines.length && !end.test(lines[next]!)) ++next;
  return { block: { kind: "code", language, text: lines.slice(at + 1, next).join("\n") }, next: next + 1 };
}

function takeList(lines: readonly string[], at: number, depth: number, ranks: Ranks): Taken {
  const first = item.exec(lines[at]!)!;
  const ordered = first[3] !== undefined;
  const margin = first[1]!.length;
  const items: Block[][] = [];
  let own: string[] = [];
  let next = at;
  for (; next < lines.length; ++next) {
    const line = lines[next]!;
    const found = item.exec(line);
    const indent = line.length - line.trimStart().length;
    if (found && indent <= margin + 1) {
      if ((found[3] !== undefined) !== ordered || indent < margin) break;
      if (next > at) items.push(blocksOf(own, depth + 1, ranks));
      own = [found[4] ?? ""];
    } else if (!line.trim()) {
      // A list continues after an empty line only if the next line belongs to it.
      const after = lines[next + 1] ?? "";
      if (!/^\s{2,}\S/.test(after) && !item.test(after)) break;
      own.push("");
    } else if (indent > margin) {
      own.push(line.slice(Math.min(indent, margin + 2)));
    } else {
      break;
    }
  }
  items.push(blocksOf(own, depth + 1, ranks));
  return { block: { kind: "list", ordered, start: Number(first[3] ?? 1), items }, next };
}

/// The beginning of a long text, cut at a line end, and whether anything was cut.
export function beginning(text: string, max_characters: number, max_lines: number): { text: string; is_cut: boolean } {
  let end = -1;
  for (let count = 0; count < max_lines; ++count) {
    const next = text.indexOf("\n", end + 1);
    if (next < 0 || next > max_characters) {
      if (next < 0 && text.length <= max_characters) end = text.length;
      else if (end <= 0) end = max_characters;
      break;
    }
    end = next;
  }
  return { text: text.slice(0, end), is_cut: text.slice(end).trim() !== "" };
}
