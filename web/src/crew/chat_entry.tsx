import { useMemo, useRef } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { oneLine, valueText } from "../base/text.ts";
import { Lines } from "../ui/lines.tsx";
import { Markdown, type ResolveLink } from "../ui/markdown.tsx";
import type { SubagentRow } from "./state.ts";
import { SubagentCard } from "./subagent_card.tsx";
import type { Entry, ToolResult, ToolUse } from "./wire.ts";
import { inputLine, toolUseKey } from "./texts.ts";

const shown_text = 8000;
const cut = (text: string) => (text.length > shown_text ? `${text.slice(0, shown_text)}\n… ${text.length - shown_text} more characters` : text);

/// A use of a tool: its name and input, and the result when opened.
function ToolUseView({ use, result }: { use: ToolUse; result: ToolResult | undefined }) {
  return (
    <details class={`fold use ${result?.is_error ? "is-failed" : ""}`}>
      <summary>
        <span aria-hidden="true">{!result ? "◌" : result.is_error ? "✗" : "✓"}</span> <code>{safeText(use.name)}</code> {inputLine(use.input)}
        {result?.is_error && <span class="use-error"> failed: {oneLine(result.text, 120)}</span>}
        {!result && <span class="faint"> no result yet</span>}
      </summary>
      {use.input !== undefined && <pre tabIndex={0}><code><Lines text={cut(valueText(use.input))} /></code></pre>}
      {result && <pre tabIndex={0}><code><Lines text={cut(result.text)} is_output /></code></pre>}
    </details>
  );
}

/// Returns the previous list as long as the items are the same.
function useSame<Item>(list: Item[]): Item[] {
  const last = useRef(list);
  if (last.current.length !== list.length || list.some((item, i) => item !== last.current[i])) last.current = list;
  return last.current;
}

const speakers: Record<Entry["role"], string> = { user: "You", assistant: "Agent", tool: "Tools", note: "" };

/// One entry of a chat. Entries never change, so it is rendered again only when its results or subagents change.
export function EntryView({ entry, speaker, results, uses, cards, resolveLink, links_version }: {
  entry: Entry; speaker: string; results: ReadonlyMap<string, ToolResult>; uses: ReadonlySet<string>; cards: ReadonlyMap<string, SubagentRow>; resolveLink: ResolveLink; links_version: string;
}) {
  // Results are shown with their tool uses; a result without a known use is shown by itself.
  const orphans = (entry.results ?? []).filter(({ id }) => !uses.has(id)).map(({ id, name }): ToolUse => ({ id, name: name ?? "tool" }));
  const own = [...(entry.tools ?? []), ...orphans].map((use) => ({ use, result: results.get(use.id), card: cards.get(toolUseKey(entry.n, use.id)) }));
  const marks = own.flatMap(({ result, card }) => [result, card]);
  return useMemo(() => {
    const text = entry.role === "tool" || entry.about ? "" : entry.text ?? "";
    if (!text.trim() && !own.length) return null;
    if (entry.role === "note") return <li class="entry is-note"><Markdown text={text} resolveLink={resolveLink} links_version={links_version} /></li>;
    return (
      <li class={`entry is-${entry.role}`}>
        <p class="entry-who">{entry.role === "assistant" ? safeText(speaker) : speakers[entry.role] ?? safeText(entry.role)}</p>
        {text && <Markdown text={text} resolveLink={resolveLink} links_version={links_version} />}
        {own.map(({ use, result, card }) => card ? <SubagentCard key={use.id} subagent={card} resolveLink={resolveLink} /> : <ToolUseView key={use.id} use={use} result={result} />)}
      </li>
    );
  }, [entry, speaker, links_version, useSame(marks)]);
}
