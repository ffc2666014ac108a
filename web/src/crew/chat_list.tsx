import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { ago } from "../base/text.ts";
import { moveByKey } from "../ui/arrow_keys.ts";
import { Badge } from "../ui/badge.tsx";
import { chats, chats_error, chats_loaded, crew, openChat } from "./model.ts";
import { is_new_chat_open } from "./new_chat.tsx";
import { chatState, cost, titleOf, tokens } from "./texts.ts";

export function ChatList() {
  return (
    <nav class="runs" aria-label="Chats">
      <div class="list-head">
        <h2 class="heading">Chats</h2>
        <button type="button" class="button is-small" aria-expanded={is_new_chat_open.value} onClick={() => { is_new_chat_open.value = !is_new_chat_open.value; }}>New chat</button>
      </div>
      {chats_error.value && <p class="error" role="alert">Could not load chats: {chats_error.value}</p>}
      {!chats.value.length && !chats_error.value && <p class="hint">{chats_loaded.value ? "No chats yet." : "Loading…"}</p>}
      {chats.value.length > 0 && (
        <ul class="run-list" onKeyDown={moveByKey}>
          {chats.value.map((chat) => (
            <li key={chat.id}>
              <button type="button" class={`run is-${chatState(chat)}`} aria-current={chat.id === crew.value.open ? "true" : undefined}
                onClick={() => { is_new_chat_open.value = false; openChat(chat.id); }}>
                <span class="run-id">{titleOf(chat)}</span>
                <span class="run-since">{ago(chat.updated_at ?? chat.ended_at ?? chat.started_at, now.value)}</span>
                <Badge status={chatState(chat)} />
                <span class="run-line">{[tokens(chat.total_tokens), cost(chat.cost_usd)].filter(Boolean).join(" · ")}</span>
                <span class="run-line is-facts">{[chat.agent, chat.model].filter(Boolean).map((fact) => safeText(fact!)).join(" · ")}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </nav>
  );
}
