import { useMemo, useRef } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { oneLine, valueText } from "../base/text.ts";
import { Lines } from "../ui/lines.tsx";
import { Markdown, type LinkOf } from "../ui/markdown.tsx";
import type { SubagentRow } from "./state.ts";
import { SubagentCard } from "./subagent_card.tsx";
import type { Entry, ToolResult, ToolUse } from "./wire.ts";
import { inputLine, useKey } from "./words.ts";

const shown_text = 8000;
const cut = (text: string) => (text.length > shown_text ? `${text.slice(0, shown_text)}\n… ${text.length - shown_text} more characters` : text);

/// A tool's use, folded: its name and what it was asked; what came back when opened.
function Use({ use, result }: { use: ToolUse; result: ToolResult | undefined }) {
  return (
    <details class={`fold use ${result?.is_error ? "is-failed" : ""}`}>
      <summary>
        <span aria-hidden="true">{!result ? "◌" : result.is_error ? "✗" : "✓"}</span> <code>{safeText(use.name)}</code> {inputLine(use.input)}
        {result?.is_error && <span class="use-error"> failed: {oneLine(result.text, 120)}</span>}
        {!result && <span class="faint"> no result yet</span>}
      </summary>
      {use.input !== undefined && <pre tabIndex={0}><code><Lines text={cut(valueText(use.input))} /></code></pre>}
      {result && <pre tabIndex={0}><code><Lines text={cut(result.text)} /></code></pre>}
    </details>
  );
}

/// The same list for as long as it holds the same.
function useSame<Item>(list: Item[]): Item[] {
  const last = useRef(list);
  if (last.current.length !== list.length || list.some((item, i) => item !== last.current[i])) last.current = list;
  return last.current;
}

const speakers: Record<Entry["role"], string> = { user: "You", assistant: "Agent", tool: "Tools", note: "" };

/// One entry of a chat. It never changes, so it is made anew only when what belongs to it does.
export function EntryView({ entry, speaker, results, uses, cards, linkOf, links_mark }: {
  entry: Entry; speaker: string; results: ReadonlyMap<string, ToolResult>; uses: ReadonlySet<string>; cards: ReadonlyMap<string, SubagentRow>; linkOf: LinkOf; links_mark: string;
}) {
  // What the tools answered stands with their uses; only an answer that has none is shown by itself.
  const lonely = (entry.results ?? []).filter(({ id }) => !uses.has(id)).map(({ id, name }): ToolUse => ({ id, name: name ?? "tool" }));
  const own = [...(entry.tools ?? []), ...lonely].map((use) => ({ use, result: results.get(use.id), card: cards.get(useKey(entry.n, use.id)) }));
  const marks = own.flatMap(({ result, card }) => [result, card]);
  return useMemo(() => {
    const text = entry.role === "tool" || entry.about ? "" : entry.text ?? "";
    if (!text.trim() && !own.length) return null;
    if (entry.role === "note") return <li class="entry is-note"><Markdown text={text} linkOf={linkOf} links_mark={links_mark} /></li>;
    return (
      <li class={`entry is-${entry.role}`}>
        <p class="entry-who">{entry.role === "assistant" ? safeText(speaker) : speakers[entry.role] ?? safeText(entry.role)}</p>
        {text && <Markdown text={text} linkOf={linkOf} links_mark={links_mark} />}
        {own.map(({ use, result, card }) => card ? <SubagentCard key={use.id} one={card} linkOf={linkOf} /> : <Use key={use.id} use={use} result={result} />)}
      </li>
    );
  }, [entry, speaker, links_mark, useSame(marks)]);
}
