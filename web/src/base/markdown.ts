// What agents write, taken apart: the part of markdown that they use, and nothing that a page would obey. Pure, and
// linear in the text: every search that fails is not made again.
import { inlines, longest_line, type Inline } from "./markdown_inline.ts";
import { safeText } from "./safe_text.ts";

export type Block =
  | { kind: "paragraph"; inlines: Inline[] }
  /// `level` as written, `rank` as it nests: one that no reader of headings stumbles over.
  | { kind: "heading"; level: number; rank: number; inlines: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; ordered: boolean; start: number; items: Block[][] }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "rule" };

const deepest = 5;
const first_rank = 3;

const fence = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,40})[^`]*$/;
const item = /^(\s*)([-*+•]|(\d{1,9})[.)])(?:\s+(.*)|)$/;
const heading = /^\s{0,3}(#{1,6})\s+(.+)$/;
const rule = /^\s{0,3}(?:-\s*-\s*-[-\s]*|\*\s*\*\s*\*[*\s]*|_\s*_\s*_[_\s]*)$/;
const quote = /^\s{0,3}>\s?(.*)$/;

/// One line as it may be shown. A long one is cut: nobody reads it, and the file has it.
function shownLine(line: string): string {
  const safe = safeText(line.length > longest_line ? line.slice(0, longest_line) : line);
  return line.length > longest_line ? `${safe} … ${line.length - longest_line} more characters` : safe;
}

/// The text's blocks. Line ends of any kind end a line: nothing is written over.
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

/// What begins at this line, if it is more than a paragraph's.
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
  if (depth >= deepest) return null;
  if (quote.test(line))
    return takeWhile(lines, at, (next) => quote.test(next), (text) => ({ kind: "quote", blocks: blocksOf(text.map((each) => quote.exec(each)![1]!), depth + 1, ranks) }));
  const first = item.exec(line);
  // "1986. A good year" in the middle of a sentence begins no list.
  if (!first || (in_paragraph && first[3] !== undefined && first[3] !== "1")) return null;
  return takeList(lines, at, depth, ranks);
}

function takeWhile(lines: readonly string[], at: number, goes_on: (line: string) => boolean, make: (lines: string[]) => Block): Taken {
  let next = at;
  while (next < lines.length && goes_on(lines[next]!)) ++next;
  return { block: make(lines.slice(at, next)), next };
}

/// A fence that never closes holds the rest: so text that is still coming looks as it will.
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
      // A list goes on after an empty line only if what follows belongs to it.
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

/// The beginning of a long text, cut between lines, and whether there is more.
export function beginning(text: string, most_characters: number, most_lines: number): { text: string; is_cut: boolean } {
  let end = -1;
  for (let count = 0; count < most_lines; ++count) {
    const next = text.indexOf("\n", end + 1);
    if (next < 0 || next > most_characters) {
      if (next < 0 && text.length <= most_characters) end = text.length;
      else if (end <= 0) end = most_characters;
      break;
    }
    end = next;
  }
  return { text: text.slice(0, end), is_cut: text.slice(end).trim() !== "" };
}
