import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { ago, cost, oneLine, tokens } from "../base/text.ts";
import { BadgeOf } from "../members/member_badge.tsx";
import { ConfirmButton } from "../ui/confirm_button.tsx";
import { Facts } from "../ui/facts.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { EntryView } from "./chat_entry.tsx";
import { Composer } from "./composer.tsx";
import { chat, chat_subagents, chats_error, chats_loaded, crew, endChat, entries_error, entries_loaded, openChat, placement, readSubagent, subagentLinks, subagents } from "./model.ts";
import type { ChatRow } from "./state.ts";
import { SubagentCard } from "./subagent_card.tsx";
import type { ToolResult } from "./wire.ts";
import { titleOf, waitingText } from "./texts.ts";

const shown_entries = 200;

const resolveLink = subagentLinks(chat_subagents);
const resolveSubagent = subagentLinks(subagents);

/// The state of the current turn: its text so far, what it waits for, or why it failed.
function TurnStatus({ at, speaker }: { at: ChatRow; speaker: string }) {
  const { streaming } = at;
  return (
    <>
      {at.turn === "running" && (
        <li class="entry is-assistant is-streaming">
          <p class="entry-who">{safeText(speaker)} <BadgeOf target={{ by: "thread", id: at.id }} /></p>
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

function ChatView({ at }: { at: ChatRow }) {
  return (
    <>
      <header class="pane-head">
        <div class="pane-title">
          <h3>{titleOf(at)}</h3>
          <span class="pane-since">{ago(at.ended_at ?? at.started_at, now.value)}</span>
          <span class="spacer" />
          {at.status === "active" && at.turn !== "running" && <ConfirmButton key={at.id} label="End chat" confirm_label="End it now" act={() => endChat(at.id)} />}
        </div>
        <Facts of={[
          ["model", [at.model, at.model_version !== at.model && at.model_version].filter(Boolean).join(" · ")],
          ["spent with subagents", [tokens(at.total_tokens), cost(at.cost_usd)].filter(Boolean).join(", ")], ["queued", at.queue_depth ? String(at.queue_depth) : ""], ["folder", at.folder],
        ]} />
      </header>
      <Transcript key={`t-${at.id}`} at={at} />
      <Composer key={`c-${at.id}`} chat={at} />
    </>
  );
}

/// A chat with its transcript, or a subagent with its task and report.
export function ThreadPane({ id }: { id: string }) {
  const subagent = crew.value.subagents.get(id);
  const is_chat = crew.value.chats.has(id);
  useEffect(() => {
    if (is_chat) openChat(id);
    // Only the newest chats and subagents are read at first.
    else if (!subagent && chats_loaded.value) readSubagent(id).catch(() => openChat(id));
  }, [id, is_chat, !subagent, chats_loaded.value]);
  if (subagent) {
    return (
      <div class="panel is-scrolled" tabIndex={0} role="group" aria-label="Task and report">
        <SubagentCard subagent={subagent} resolveLink={resolveSubagent} is_open />
      </div>
    );
  }
  const at = chat.value;
  if (at && is_chat && crew.value.open === id) return <ChatView at={at} />;
  const error = chats_error.value || entries_error.value;
  return error ? <p class="error" role="alert">{safeText(error)}</p> : <p class="hint">Loading…</p>;
}
