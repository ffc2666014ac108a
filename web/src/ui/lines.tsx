import { safeText, visibleText } from "../base/safe_text.ts";

/// Untrusted text, line by line, without any markup: all of it, or, of what a program printed, what a terminal would show.
export function Lines({ text, is_output = false }: { text: string; is_output?: boolean }) {
  const shown = is_output ? safeText : visibleText;
  return <>{text.split("\n").map((line, i) => <span class="text-line" key={i}>{shown(line)}</span>)}</>;
}

/// Untrusted text with paragraphs and "- " lists.
export function ParagraphText({ text }: { text: string }) {
  const blocks: { list: boolean; lines: string[] }[] = [];
  for (const line of text.split("\n")) {
    const item = /^\s*[-*•]\s+(.*)$/.exec(line);
    const last = blocks.at(-1);
    if (!line.trim()) blocks.push({ list: false, lines: [] });
    else if (last && last.list === !!item) last.lines.push(item ? item[1]! : line);
    else blocks.push({ list: !!item, lines: [item ? item[1]! : line] });
  }
  return (
    <div class="note">
      {blocks.filter(({ lines }) => lines.length).map(({ list, lines }, i) => list
        ? <ul key={i}>{lines.map((line, j) => <li key={j}>{safeText(line)}</li>)}</ul>
        : <p key={i}>{lines.map((line, j) => <span class="text-line" key={j}>{safeText(line)}</span>)}</p>)}
    </div>
  );
}
