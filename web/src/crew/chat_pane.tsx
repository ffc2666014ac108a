import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { ago, oneLine } from "../base/text.ts";
import { Badge } from "../ui/badge.tsx";
import { ConfirmButton } from "../ui/confirm_button.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { EntryView } from "./chat_entry.tsx";
import { Composer } from "./composer.tsx";
import { chat, chat_subagents, chats, chats_loaded, crew, endChat, entries_error, entries_loaded, placement, subagentLinks } from "./model.ts";
import { is_new_chat_open, NewChat } from "./new_chat.tsx";
import type { ChatRow } from "./state.ts";
import { SubagentCard } from "./subagent_card.tsx";
import type { ToolResult } from "./wire.ts";
import { chatState, cost, titleOf, tokens, waitingText } from "./texts.ts";

const shown_entries = 200;

const resolveLink = subagentLinks(chat_subagents);

/// The state of the current turn: its text so far, what it waits for, or why it failed.
function TurnStatus({ at, speaker }: { at: ChatRow; speaker: string }) {
  const { streaming } = at;
  return (
    <>
      {at.turn === "running" && (
        <li class="entry is-assistant is-streaming">
          <p class="entry-who">{safeText(speaker)} <Badge status="running" /></p>
          {streaming?.is_partial && streaming.text && <span class="faint">…</span>}
          {streaming?.text && <Markdown text={streaming.text} resolveLink={resolveLink} is_live />}
          {at.tool && <p class="sub-line"><span class="faint">tool</span> <code>{oneLine(at.tool.name, 60)}</code> {oneLine(at.tool.summary, 200)}</p>}
          {at.waiting && <p class="sub-line is-waiting">{waitingText(at.waiting, now.value)}</p>}
        </li>
      )}
      {at.error && at.turn !== "running" && (
        <li class={`entry is-error ${at.error.type === "cancelled" ? "is-cancelled" : ""}`}>
          <p role="alert"><span aria-hidden="true">{at.error.type === "cancelled" ? "■ " : "✗ "}</span>{at.error.type && <b>{safeText(at.error.type.replace(/_/g, " "))}: </b>}{safeText(at.error.message)}</p>
        </li>
      )}
    </>
  );
}

function Transcript({ at }: { at: ChatRow }) {
  const [shown, show] = useState(shown_entries);
  const box = useRef<HTMLDivElement>(null);
  const [follows, follow] = useState(true);
  const newest = useRef(0);
  const place = useRef({ top: 0, size: "" });
  const all = useMemo(() => [...crew.value.entries.values()], [crew.value.entries]);
  const results = useMemo(() => new Map(all.flatMap((entry) => (entry.results ?? []).map((result): [string, ToolResult] => [result.id, result]))), [all]);
  const uses = useMemo(() => new Set(all.flatMap((entry) => (entry.tools ?? []).map(({ id }) => id))), [all]);
  const { by_use, after } = placement.value;
  // Wikilinks name files of subagents, so the entries are rendered again when there are more of them.
  const links_version = chat_subagents.value.map((subagent) => subagent.task_id + (subagent.file ?? "")).join();
  const speaker = at.agent || "Agent";
  useLayoutEffect(() => {
    const last = all.at(-1);
    // Scroll to the end when the user has sent a message.
    const has_sent = last?.role === "user" && last.n > newest.current;
    newest.current = last?.n ?? 0;
    if (has_sent && !follows) follow(true);
    if ((follows || has_sent) && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !follows) return;
    const observer = new ResizeObserver(() => { element.scrollTop = element.scrollHeight; });
    observer.observe(element);
    return () => observer.disconnect();
  }, [follows]);
  const scrolled = () => {
    const element = box.current!;
    const before = place.current;
    place.current = { top: element.scrollTop, size: `${element.clientWidth} ${element.clientHeight}` };
    if (element.scrollHeight - element.scrollTop - element.clientHeight < 40) follow(true);
    // A change of size also scrolls.
    else if (element.scrollTop < before.top && place.current.size === before.size) follow(false);
  };
  const cards = (n: number) => after.get(n)?.map((subagent) => <li key={subagent.task_id} class="entry is-tool"><SubagentCard subagent={subagent} resolveLink={resolveLink} /></li>);
  const hidden = Math.max(0, all.length - shown);
  return (
    <div class="transcript-frame">
      <div class="transcript" ref={box} onScroll={scrolled} tabIndex={0} role="log" aria-live="off" aria-label="Transcript" data-testid="transcript">
        {entries_error.value && <p class="error" role="alert">Could not load the transcript: {entries_error.value}</p>}
        {!entries_loaded.value && !entries_error.value && <p class="hint">Loading…</p>}
        {hidden > 0 && <button type="button" class="button" onClick={() => { follow(false); show(shown + shown_entries); }}>Show {hidden} earlier entries</button>}
        <ol class="entries">
          {cards(0)}
          {all.slice(hidden).map((entry) => [
            <EntryView key={entry.n} entry={entry} speaker={speaker} results={results} uses={uses} cards={by_use} resolveLink={resolveLink} links_version={links_version} />, cards(entry.n),
          ])}
          {cards(Infinity)}
          {entries_loaded.value && <TurnStatus at={at} speaker={speaker} />}
        </ol>
        {entries_loaded.value && !all.length && at.turn !== "running" && !at.error && <p class="hint">No messages yet.</p>}
      </div>
      {!follows && <button type="button" class="follow" onClick={() => follow(true)}><span aria-hidden="true">↓</span> Follow</button>}
    </div>
  );
}

function Empty() {
  return (
    <section class="empty">
      <h2>{chats_loaded.value ? "No chats yet" : "Loading…"}</h2>
      {chats_loaded.value && (
        <>
          <p>Start one here, or in a terminal in this project:</p>
          <pre><code>cru chat</code></pre>
          <button type="button" class="button is-main" onClick={() => { is_new_chat_open.value = true; }}>New chat</button>
        </>
      )}
    </section>
  );
}

export function ChatPane() {
  const at = chat.value;
  if (is_new_chat_open.value) return <section class="sheet" aria-label="New chat"><header class="sheet-head"><h2>New chat</h2></header><NewChat /></section>;
  if (!at) {
    if (entries_error.value) return <section class="empty"><h2>Chat not found</h2><p class="error" role="alert">{safeText(entries_error.value)}</p></section>;
    return chats.value.length ? <section class="empty"><h2>{crew.value.open ? "Loading…" : "Select a chat"}</h2></section> : <Empty />;
  }
  const facts: [string, string][] = [
    ["agent", at.agent ?? ""], ["model", [at.model, at.model_version !== at.model && at.model_version].filter(Boolean).join(" · ")],
    ["usage", [tokens(at.total_tokens), cost(at.cost_usd)].filter(Boolean).join(", ")], ["queued", at.queue_depth ? String(at.queue_depth) : ""], ["folder", at.folder ?? ""],
  ];
  return (
    <section class="pane" aria-label={`Chat ${titleOf(at)}`}>
      <header class="pane-head">
        <div class="pane-title">
          <h2>{titleOf(at)}</h2>
          <Badge status={chatState(at)} />
          <span class="pane-since">{ago(at.ended_at ?? at.started_at, now.value)}</span>
          <span class="spacer" />
          {at.status === "active" && at.turn !== "running" && (at.kind ?? "chat") === "chat" && <ConfirmButton key={at.id} label="End chat" confirm_label="End it now" act={() => endChat(at.id)} />}
        </div>
        <dl class="facts">
          {facts.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd title={safeText(value)}>{oneLine(value, 200)}</dd></div>)}
        </dl>
      </header>
      <Transcript key={`t-${at.id}`} at={at} />
      {(at.kind ?? "chat") === "chat"
        ? <Composer key={`c-${at.id}`} chat={at} />
        : <p class="composer faint">{at.kind === "run" ? "These agents were spawned from the command line or this page." : "These agents were spawned by another program."} You cannot send messages here.</p>}
    </section>
  );
}
