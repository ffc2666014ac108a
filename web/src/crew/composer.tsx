import { useEffect, useRef, useState } from "preact/hooks";
import { safeText } from "../base/safe_text.ts";
import { memberWith } from "../members/model.ts";
import { useSending } from "../ui/sending.ts";
import { drafts, sendMessage, stopTurn } from "./model.ts";
import type { ChatRow } from "./state.ts";
import { composerHint } from "./texts.ts";

/// Enter submits the form, Shift+Enter inserts a line. During input method composition, Enter does neither.
export function submitByEnter(event: KeyboardEvent): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  (event.currentTarget as HTMLTextAreaElement).form?.requestSubmit();
}

/// The field for messages to a chat. Typing is always possible, sending only when the agent is not answering.
export function Composer({ chat }: { chat: ChatRow }) {
  const [text, setText] = useState(drafts.get(chat.id) ?? "");
  const { is_sending, error, send } = useSending();
  const field = useRef<HTMLTextAreaElement>(null);
  const is_running = chat.turn === "running";
  const can_send = !is_running && !is_sending && text.trim() !== "";
  const change = (draft: string) => {
    setText(draft);
    if (draft) drafts.set(chat.id, draft);
    else drafts.delete(chat.id);
  };
  useEffect(() => {
    const box = field.current;
    if (!box) return;
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight + 2, 220)}px`;
  }, [text]);
  const submit = async () => {
    if (await send(() => sendMessage(chat.id, text))) change("");
    field.current?.focus();
  };
  return (
    <form class="composer" aria-label="Send a message" onSubmit={(event) => { event.preventDefault(); if (can_send) void submit(); }}>
      {error && <p class="error" role="alert">{safeText(error)}</p>}
      <textarea ref={field} aria-label="Your message" rows={1} maxLength={1048576} value={text} readOnly={is_sending}
        placeholder={composerHint(chat, memberWith({ by: "thread", id: chat.id })?.badge)}
        onInput={(event) => change(event.currentTarget.value)} onKeyDown={submitByEnter} />
      <div class="composer-foot">
        <span class="faint">Enter to send, Shift+Enter for a new line</span>
        <span class="spacer" />
        {is_running && <button type="button" class="button is-danger" onClick={() => { void send(() => stopTurn(chat.id)); }}>Stop</button>}
        <button type="submit" class="button is-main" disabled={!can_send}>Send</button>
      </div>
    </form>
  );
}
