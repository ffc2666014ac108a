import { useEffect, useRef, useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { useSending } from "../ui/sending.ts";
import { drafts, say, stopTurn } from "./model.ts";
import type { ChatRow } from "./state.ts";

/// Enter sends, Shift+Enter makes a line; while a word is composed by an input method Enter belongs to it.
export function sendsByEnter(event: KeyboardEvent): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  (event.currentTarget as HTMLTextAreaElement).form?.requestSubmit();
}

/// What a person says in a chat. It can be typed at any time, and sent when it is their turn.
export function Composer({ chat }: { chat: ChatRow }) {
  const [text, setText] = useState(drafts.get(chat.id) ?? "");
  const { is_sending, trouble, send } = useSending();
  const field = useRef<HTMLTextAreaElement>(null);
  const is_running = chat.turn === "running";
  const can_send = !is_running && !is_sending && text.trim() !== "";
  const type = (now: string) => {
    setText(now);
    if (now) drafts.set(chat.id, now);
    else drafts.delete(chat.id);
  };
  useEffect(() => {
    const box = field.current;
    if (!box) return;
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight + 2, 220)}px`;
  }, [text]);
  const go = async () => {
    if (await send(() => say(chat.id, text))) type("");
    field.current?.focus();
  };
  return (
    <form class="composer" aria-label="Send a message" onSubmit={(event) => { event.preventDefault(); if (can_send) void go(); }}>
      {trouble && <p class="trouble" role="alert">{safeText(trouble)}</p>}
      <textarea ref={field} aria-label="Your message" rows={1} maxLength={1048576} value={text} readOnly={is_sending}
        placeholder={is_running ? "The agent is answering. You can already type your next message." : chat.status === "active" ? "Type a message" : "Type a message to resume this chat"}
        onInput={(event) => type(event.currentTarget.value)} onKeyDown={sendsByEnter} />
      <div class="composer-foot">
        <span class="faint">Enter to send, Shift+Enter for a new line</span>
        <span class="spring" />
        {is_running && <button type="button" class="button is-danger" onClick={() => { void send(() => stopTurn(chat.id)); }}>Stop</button>}
        <button type="submit" class="button is-main" disabled={!can_send}>Send</button>
      </div>
    </form>
  );
}
