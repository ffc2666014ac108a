import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { beginning, parseMarkdown, type Block } from "../base/markdown.ts";
import type { Inline } from "../base/markdown_inline.ts";

/// The address within this page that a wikilink leads to; empty if there is none.
export type ResolveLink = (target: string) => string;

const tags = { strong: "strong", emphasis: "em", deleted: "del" } as const;

function renderInline(inline: Inline, key: number, resolveLink: ResolveLink): ComponentChildren {
  switch (inline.kind) {
    case "text": return inline.text;
    case "code": return <code key={key}>{inline.text}</code>;
    case "link":
      return (
        <span key={key}>
          <a href={inline.href} target="_blank" rel="noopener noreferrer nofollow" title={inline.href}>{renderInlines(inline.inlines, resolveLink)}</a>
          {inline.host && <span class="faint"> ({inline.host})</span>}
        </span>
      );
    case "wikilink": {
      const href = resolveLink(inline.target);
      return href ? <a key={key} class="wikilink" href={href}>{inline.label}</a> : <span key={key} class="wikilink">[[{inline.label}]]</span>;
    }
    default: {
      const Tag = tags[inline.kind];
      return <Tag key={key}>{renderInlines(inline.inlines, resolveLink)}</Tag>;
    }
  }
}

const renderInlines = (inlines: readonly Inline[], resolveLink: ResolveLink): ComponentChildren => inlines.map((inline, i) => renderInline(inline, i, resolveLink));

function renderBlock(block: Block, key: number, resolveLink: ResolveLink): ComponentChildren {
  switch (block.kind) {
    case "paragraph": return <p key={key}>{renderInlines(block.inlines, resolveLink)}</p>;
    case "heading": return <p key={key} class={`md-heading is-level-${block.level}`} role="heading" aria-level={block.rank}>{renderInlines(block.inlines, resolveLink)}</p>;
    case "code": return <pre key={key} tabIndex={0}><code>{block.text}</code></pre>;
    case "quote": return <blockquote key={key}>{renderBlocks(block.blocks, resolveLink)}</blockquote>;
    case "rule": return <hr key={key} />;
    case "list": {
      const items = block.items.map((item, i) => <li key={i}>{renderItem(item, resolveLink)}</li>);
      return block.ordered ? <ol key={key} start={block.start}>{items}</ol> : <ul key={key}>{items}</ul>;
    }
  }
}

/// The first paragraph of a list item is not wrapped in <p>.
function renderItem(blocks: readonly Block[], resolveLink: ResolveLink): ComponentChildren {
  const [first, ...rest] = blocks;
  return first?.kind === "paragraph" ? [<span key="words">{renderInlines(first.inlines, resolveLink)}</span>, ...rest.map((block, i) => renderBlock(block, i, resolveLink))] : renderBlocks(blocks, resolveLink);
}

/// Creates every element explicitly, so that text of an agent never becomes markup.
export const renderBlocks = (blocks: readonly Block[], resolveLink: ResolveLink): ComponentChildren[] => blocks.map((block, i) => renderBlock(block, i, resolveLink));

const shown_characters = 32_768;
const shown_lines = 600;

/// Markdown text of an agent. Of a long text the beginning is shown first; of a text that is still streaming (`is_live`),
/// the end.
export function Markdown({ text, resolveLink, links_version = "", is_live = false }: { text: string; resolveLink: ResolveLink; links_version?: string; is_live?: boolean }) {
  const [whole, showWhole] = useState(false);
  const part = useMemo(() => (whole ? { text, is_cut: false } : is_live ? { text: text.slice(-shown_characters), is_cut: false } : beginning(text, shown_characters, shown_lines)), [text, whole, is_live]);
  const blocks = useMemo(() => renderBlocks(parseMarkdown(part.text), resolveLink), [part.text, links_version]);
  return (
    <div class="md">
      {is_live && text.length > shown_characters && <p class="hint">… the beginning is shown when the answer is complete</p>}
      {blocks}
      {part.is_cut && <button type="button" class="button" onClick={() => showWhole(true)}>Show all {Math.ceil(text.length / 1024).toLocaleString("en")} KB</button>}
    </div>
  );
}
