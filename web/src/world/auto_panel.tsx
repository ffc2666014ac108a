import { useEffect, useState } from "preact/hooks";
import { now } from "../base/clock.ts";
import { visibleText } from "../base/safe_text.ts";
import { Field, FormError, invalidProps } from "../ui/field.tsx";
import { useSending } from "../ui/sending.ts";
import { countdownText, endText, turnLeftText, type AutoMode } from "./auto_mode.ts";
import { Transcript } from "./auto_transcript.tsx";
import { auto_mode, chosen_conversation, earlier_conversations, joinAuto, leaveAuto, openConversation, readEarlier, sayAuto, selected, shown_conversation, startAuto, stopAuto, world } from "./model.ts";
import { fieldOf } from "./texts.ts";

/// Starts and stops auto mode. Its state is the server's: it changes when the server says so.
export function AutoButton({ failed }: { failed: (error: string) => void }) {
  const { is_sending, error, send } = useSending();
  const auto = auto_mode.value;
  useEffect(() => failed(error), [error]);
  const label = auto.is_active ? (is_sending ? "Stopping…" : "Stop auto") : is_sending ? "Starting…" : "Auto";
  return (
    <>
      {auto.is_active && <Countdown />}
      <button type="button" class={`button is-auto${auto.is_active ? " is-main" : ""}`} data-testid="auto" aria-pressed={auto.is_active} disabled={is_sending}
        title={auto.is_active ? "Stop the conversation" : "Let agents talk to each other"} onClick={() => { void send(() => (auto.is_active ? stopAuto() : startAuto())); }}>{label}</button>
    </>
  );
}

/// Brings the conversation into view.
export function showPanel(): void {
  const panel = document.getElementById(panel_id);
  panel?.scrollIntoView({ block: "nearest" });
  panel?.focus({ preventScroll: true });
}

/// How long the main conversation may still last; opens it. What only looks like a clock stops nothing.
function Countdown() {
  const open = () => {
    chosen_conversation.value = null;
    showPanel();
  };
  const left = countdownText(auto_mode.value, now.value + world.value.offset);
  return <button type="button" class="button is-time" data-testid="auto-time" title="Show the conversation" aria-label={`${left} left: show the conversation`} onClick={open}>{left}</button>;
}

export const panel_id = "auto-panel";

/// Takes part with turns of one's own, or no longer.
function TakePart({ auto }: { auto: AutoMode }) {
  const { is_sending, error, send } = useSending();
  const { person } = world.value;
  const takes_part = auto.people.includes(person);
  const others = auto.people.filter((name) => name !== person);
  return (
    <p class="submit-foot">
      <button type="button" class="button is-small" disabled={is_sending} title={takes_part ? "The agents continue without you" : "You get your own turn in every round"}
        onClick={() => { void send(() => (takes_part ? leaveAuto(auto.conversation) : joinAuto(auto.conversation))); }}>{takes_part ? "Leave" : "Take part"}</button>
      {others.length > 0 && <span class="faint">{`Also taking part: ${others.map(visibleText).join(", ")}.`}</span>}
      {auto.person_turn && (
        <strong role="status" data-testid="auto-person-turn">
          {auto.person_turn === person ? "It is your turn" : `It is ${visibleText(auto.person_turn)}'s turn`}
          {auto.turn_ends_at_ms > 0 && <span aria-hidden="true">{`: ${turnLeftText(auto, now.value + world.value.offset)}`}</span>}
        </strong>
      )}
      {error && <span class="error" role="alert">{visibleText(error)}</span>}
    </p>
  );
}

function JoinForm({ conversation }: { conversation: string }) {
  const [text, setText] = useState("");
  const { is_sending, error, field, send } = useSending();
  const failure = { error, field: fieldOf(field) };
  return (
    <form class="one-line" aria-label="Speak in the conversation" onSubmit={(event) => { event.preventDefault(); void send(() => sayAuto(text.trim(), conversation)).then((is_done) => { if (is_done) setText(""); }); }}>
      <Field label="Say something to them" id="auto-say" name="text" failure={failure}><input id="auto-say-text" {...invalidProps(failure, "auto-say", "text")} maxLength={8000} value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} /></Field>
      <button type="submit" class="button" disabled={is_sending || !text.trim()}>Say</button>
      <FormError failure={failure} fields={["text"]} />
    </form>
  );
}

/// Which of several conversations is shown.
function Choice({ shown }: { shown: AutoMode }) {
  const { auto, beside } = world.value;
  if (!beside.size) return null;
  const choose = (one: AutoMode) => { chosen_conversation.value = one === auto ? null : one.conversation; };
  return (
    <ul class="auto-cast" aria-label="Conversations">
      {[auto, ...beside.values()].filter(({ conversation }) => conversation).map((one) => (
        <li key={one.conversation}><button type="button" class={`button is-small${one === shown ? " is-main" : ""}`} aria-current={one === shown} onClick={() => choose(one)}>{visibleText(one.topic)}{one.is_active ? "" : " (over)"}</button></li>
      ))}
    </ul>
  );
}

/// Ends the conversation that is shown; the Auto button ends the main one.
function StopButton({ conversation }: { conversation: string }) {
  const { is_sending, error, send } = useSending();
  return (
    <>
      <button type="button" class="button is-small" disabled={is_sending} onClick={() => { void send(() => stopAuto(conversation)); }}>Stop</button>
      {error && <span class="error" role="alert">{visibleText(error)}</span>}
    </>
  );
}

/// Who takes part; whoever is still in the world can be selected.
function Cast({ auto }: { auto: AutoMode }) {
  const { agents } = world.value;
  return (
    <ul class="auto-cast" aria-label="Cast">
      {auto.cast.map((one) => {
        const text = `${visibleText(one.name)}, ${visibleText(one.role)}`;
        const is_next = auto.is_active && one.agent_id === auto.responding;
        return (
          <li key={one.agent_id}>
            {agents.has(one.agent_id)
              ? <button type="button" class={`button is-small${is_next ? " is-main" : ""}`} aria-current={is_next} onClick={() => { selected.value = one.agent_id; }}>{text}</button>
              : <span class="chip is-gone">{text}</span>}
          </li>
        );
      })}
    </ul>
  );
}

/// Conversations that are over, the newest first.
function Earlier() {
  const { error, send } = useSending();
  const all = earlier_conversations.value;
  return (
    <details onToggle={(event) => { if (event.currentTarget.open) void send(readEarlier); }}>
      <summary>Earlier conversations</summary>
      {error && <p class="error" role="alert">{visibleText(error)}</p>}
      {all && !all.length && <p class="hint">There are none.</p>}
      <ul class="earlier" aria-label="Earlier conversations">
        {(all ?? []).map(({ id, topic, ended }) => (
          <li key={id}><button type="button" class="plain" onClick={() => { void send(() => openConversation(id)).then((is_done) => { if (is_done) showPanel(); }); }}>{visibleText(topic)}</button> <span class="faint">{visibleText(ended)}</span></li>
        ))}
      </ul>
    </details>
  );
}

/// What the agents talk about, who takes part and what was said. It stays when the conversation is over.
export function AutoPanel() {
  const auto = shown_conversation.value;
  return (
    <section class="life is-auto" aria-label="Auto mode" id={panel_id} tabIndex={-1}>
      <Choice shown={auto} />
      <header class="pane-title">
        <h3>{auto.conversation ? visibleText(auto.topic) : "Auto mode"}</h3>
        <span class="spacer" />
        {auto.is_active && <span class="badge is-speaking" data-testid="auto-countdown">{countdownText(auto, now.value + world.value.offset)}</span>}
        {auto.is_active && <StopButton conversation={auto.conversation} />}
        {auto.conversation && !auto.is_active && <span class="badge">over</span>}
      </header>
      {!auto.conversation && <p class="hint">Press Auto, and two agents talk to each other about a topic. “Topic and cast” lets you choose.</p>}
      {auto.conversation && auto.prompt !== auto.topic && <p class="faint">{visibleText(auto.prompt)}</p>}
      {auto.is_active && auto.ends_when && <p class="faint">{`Ends after ${visibleText(auto.ends_when)}.`}</p>}
      {auto.conversation && <Cast auto={auto} />}
      {!auto.is_active && auto.reason && <p class="notice" role="status" data-testid="auto-ended">{`The conversation is over: ${visibleText(endText(auto))}`}</p>}
      {auto.conversation && <Transcript key={`lines-${auto.conversation}`} auto={auto} />}
      {auto.is_active && <TakePart key={`part-${auto.conversation}`} auto={auto} />}
      {auto.is_active && <JoinForm conversation={auto.conversation} />}
      <Earlier />
    </section>
  );
}
