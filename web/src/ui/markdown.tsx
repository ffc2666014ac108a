import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { beginning, parseMarkdown, type Block } from "../base/markdown.ts";
import type { Inline } from "../base/markdown_inline.ts";

/// Where a wikilink leads, within this page; empty if nowhere.
export type LinkOf = (target: string) => string;

const tags = { strong: "strong", emphasis: "em", deleted: "del" } as const;

function renderInline(inline: Inline, key: number, linkOf: LinkOf): ComponentChildren {
  switch (inline.kind) {
    case "text": return inline.text;
    case "code": return <code key={key}>{inline.text}</code>;
    case "link":
      return (
        <span key={key}>
          <a href={inline.href} target="_blank" rel="noopener noreferrer nofollow" title={inline.href}>{renderInlines(inline.inlines, linkOf)}</a>
          {inline.host && <span class="faint"> ({inline.host})</span>}
        </span>
      );
    case "wikilink": {
      const href = linkOf(inline.target);
      return href ? <a key={key} class="wikilink" href={href}>{inline.label}</a> : <span key={key} class="wikilink">[[{inline.label}]]</span>;
    }
    default: {
      const Tag = tags[inline.kind];
      return <Tag key={key}>{renderInlines(inline.inlines, linkOf)}</Tag>;
    }
  }
}

const renderInlines = (inlines: readonly Inline[], linkOf: LinkOf): ComponentChildren => inlines.map((inline, i) => renderInline(inline, i, linkOf));

function renderBlock(block: Block, key: number, linkOf: LinkOf): ComponentChildren {
  switch (block.kind) {
    case "paragraph": return <p key={key}>{renderInlines(block.inlines, linkOf)}</p>;
    case "heading": return <p key={key} class={`md-heading is-level-${block.level}`} role="heading" aria-level={block.rank}>{renderInlines(block.inlines, linkOf)}</p>;
    case "code": return <pre key={key} tabIndex={0}><code>{block.text}</code></pre>;
    case "quote": return <blockquote key={key}>{renderBlocks(block.blocks, linkOf)}</blockquote>;
    case "rule": return <hr key={key} />;
    case "list": {
      const items = block.items.map((item, i) => <li key={i}>{renderItem(item, linkOf)}</li>);
      return block.ordered ? <ol key={key} start={block.start}>{items}</ol> : <ul key={key}>{items}</ul>;
    }
  }
}

/// An item that begins with words needs no paragraph around them.
function renderItem(blocks: readonly Block[], linkOf: LinkOf): ComponentChildren {
  const [first, ...rest] = blocks;
  return first?.kind === "paragraph" ? [<span key="words">{renderInlines(first.inlines, linkOf)}</span>, ...rest.map((block, i) => renderBlock(block, i, linkOf))] : renderBlocks(blocks, linkOf);
}

/// Elements only, made one by one: no text of an agent ever is markup.
export const renderBlocks = (blocks: readonly Block[], linkOf: LinkOf): ComponentChildren[] => blocks.map((block, i) => renderBlock(block, i, linkOf));

const shown_characters = 32_768;
const shown_lines = 600;

/// What an agent wrote. A long text shows its beginning first; one that is still coming (`is_live`) its end.
export function Markdown({ text, linkOf, links_mark = "", is_live = false }: { text: string; linkOf: LinkOf; links_mark?: string; is_live?: boolean }) {
  const [whole, showWhole] = useState(false);
  const part = useMemo(() => (whole ? { text, is_cut: false } : is_live ? { text: text.slice(-shown_characters), is_cut: false } : beginning(text, shown_characters, shown_lines)), [text, whole, is_live]);
  const blocks = useMemo(() => renderBlocks(parseMarkdown(part.text), linkOf), [part.text, links_mark]);
  return (
    <div class="md">
      {is_live && text.length > shown_characters && <p class="hint">… the beginning is shown when the answer is complete</p>}
      {blocks}
      {part.is_cut && <button type="button" class="button" onClick={() => showWhole(true)}>Show all {Math.ceil(text.length / 1024).toLocaleString("en")} KB</button>}
    </div>
  );
}
