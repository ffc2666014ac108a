import { useEffect, useRef, useState } from "preact/hooks";
import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { Field, FormError, invalidProps } from "../ui/field.tsx";
import { Lines } from "../ui/lines.tsx";
import { useSending } from "../ui/sending.ts";
import { countdownText, endText, type AutoMode } from "./auto_mode.ts";
import { auto_mode, chosen_conversation, sayAuto, selected, shown_conversation, startAuto, stopAuto, world, type AutoWishes } from "./model.ts";
import { fieldOf } from "./texts.ts";

/// Starts and stops auto mode. Its state is the server's: it changes when the server says so.
export function AutoButton({ failed }: { failed: (error: string) => void }) {
  const { is_sending, error, send } = useSending();
  const auto = auto_mode.value;
  useEffect(() => failed(error), [error]);
  const label = auto.is_active ? (is_sending ? "Stopping…" : `Auto ${countdownText(auto, now.value + world.value.offset)}`) : is_sending ? "Starting…" : "Auto";
  return (
    <button type="button" class={`button is-auto${auto.is_active ? " is-main" : ""}`} data-testid="auto" aria-pressed={auto.is_active} disabled={is_sending}
      title={auto.is_active ? "Stop the conversation" : "Let agents talk to each other"} onClick={() => { void send(() => (auto.is_active ? stopAuto() : startAuto())); }}>{label}</button>
  );
}

const patterns = ["walk-to-agent", "stay-at-desk", "meet-at-table"];
const id = "auto";

/// The form to start a conversation with a topic and a cast of one's own; `beside` another one that goes on.
function AutoForm({ beside }: { beside: boolean }) {
  const [values, setValues] = useState({ topic: "", agents: "2", pattern: patterns[0]!, model: "", minutes: "", turns: "" });
  const { is_sending, error, field, send } = useSending();
  const set = (name: keyof typeof values) => (event: { currentTarget: { value: string } }) => setValues({ ...values, [name]: event.currentTarget.value });
  const failure = { error, field: fieldOf(field) };
  const start = () => {
    const wishes: AutoWishes = { agentCount: Number(values.agents), interactionPattern: values.pattern };
    if (values.topic.trim()) wishes.topic = values.topic.trim();
    if (values.model.trim()) wishes.models = values.model.split(",").map((name) => name.trim()).filter(Boolean);
    if (values.minutes.trim()) wishes.timeoutMs = Math.round(Number(values.minutes) * 60_000);
    if (values.turns.trim()) wishes.maxTurns = Math.round(Number(values.turns));
    if (beside) wishes.beside = true;
    return startAuto(wishes).then(({ conversationId }) => { chosen_conversation.value = beside ? String(conversationId ?? "") : null; });
  };
  const common = (name: string) => ({ id: `${id}-${name}`, ...invalidProps(failure, id, name) });
  return (
    <form class="submit is-chat" aria-label="Start a conversation" onSubmit={(event) => { event.preventDefault(); void send(start); }}>
      <Field label="Topic" id={id} name="topic" failure={failure}><input {...common("topic")} maxLength={1000} value={values.topic} placeholder="one of ours, at random" onInput={set("topic")} /></Field>
      <Field label="Agents" id={id} name="agentCount" failure={failure}><select {...common("agentCount")} value={values.agents} onChange={set("agents")}>{["2", "3", "4", "5", "6", "7", "8"].map((n) => <option key={n} value={n}>{n}</option>)}</select></Field>
      <Field label="How they meet" id={id} name="interactionPattern" failure={failure}><select {...common("interactionPattern")} value={values.pattern} onChange={set("pattern")}>{patterns.map((name) => <option key={name} value={name}>{name}</option>)}</select></Field>
      <Field label="Minds, in turn" id={id} name="models" failure={failure}><input {...common("models")} maxLength={200} value={values.model} placeholder="scripted, without a model" onInput={set("model")} /></Field>
      <Field label="Minutes at most" id={id} name="timeoutMs" failure={failure}><input {...common("timeoutMs")} type="number" min="0.1" max="1440" step="any" value={values.minutes} placeholder="as configured" onInput={set("minutes")} /></Field>
      <Field label="Messages at most" id={id} name="maxTurns" failure={failure}><input {...common("maxTurns")} type="number" min="1" step="1" value={values.turns} placeholder="no limit" onInput={set("turns")} /></Field>
      <FormError failure={failure} fields={["topic", "agentCount", "interactionPattern", "models", "timeoutMs", "maxTurns"]} />
      <p class="is-whole submit-foot"><button type="submit" class="button is-main" disabled={is_sending}>Start</button></p>
    </form>
  );
}

function JoinForm({ conversation }: { conversation: string }) {
  const [text, setText] = useState("");
  const { is_sending, error, field, send } = useSending();
  const failure = { error, field: fieldOf(field) };
  return (
    <form class="one-line" aria-label="Join the conversation" onSubmit={(event) => { event.preventDefault(); void send(() => sayAuto(text.trim(), conversation)).then((is_done) => { if (is_done) setText(""); }); }}>
      <Field label="Say something to them" id="auto-say" name="text" failure={failure}><input id="auto-say-text" {...invalidProps(failure, "auto-say", "text")} maxLength={8000} value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} /></Field>
      <button type="submit" class="button" disabled={is_sending || !text.trim()}>Join in</button>
      <FormError failure={failure} fields={["text"]} />
    </form>
  );
}

function Transcript({ auto }: { auto: AutoMode }) {
  const list = useRef<HTMLOListElement>(null);
  const last = auto.lines.at(-1)?.number ?? 0;
  // Follows what is said, unless the reader has gone back.
  useEffect(() => {
    const at = list.current;
    if (at && at.scrollHeight - at.scrollTop - at.clientHeight < 200) at.scrollTop = at.scrollHeight;
  }, [last]);
  if (!auto.lines.length) return <p class="hint">{auto.is_active ? "Nobody has spoken yet." : "Nothing was said."}</p>;
  return (
    <ol class="auto-lines" aria-label="Transcript" ref={list} tabIndex={0}>
      {auto.lines.map((line) => <li key={line.number}><strong>{safeText(line.name)}</strong> <Lines text={line.text} /></li>)}
    </ol>
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
        <li key={one.conversation}><button type="button" class={`button is-small${one === shown ? " is-main" : ""}`} aria-current={one === shown} onClick={() => choose(one)}>{safeText(one.topic)}{one.is_active ? "" : " (over)"}</button></li>
      ))}
    </ul>
  );
}

/// Ends a conversation beside the main one, which the Auto button ends.
function StopButton({ conversation }: { conversation: string }) {
  const { is_sending, error, send } = useSending();
  return (
    <>
      <button type="button" class="button is-small" disabled={is_sending} onClick={() => { void send(() => stopAuto(conversation)); }}>Stop</button>
      {error && <span class="error" role="alert">{safeText(error)}</span>}
    </>
  );
}

/// What the agents talk about, who takes part and what was said, or how to begin.
export function AutoPanel() {
  const auto = shown_conversation.value;
  const is_main = auto === auto_mode.value;
  return (
    <section class="life is-auto" aria-label="Auto mode">
      <Choice shown={auto} />
      <header class="pane-title">
        <h3>{auto.is_active ? safeText(auto.topic) : "Auto mode"}</h3>
        <span class="spacer" />
        {auto.is_active && <span class="badge is-speaking" data-testid="auto-countdown">{countdownText(auto, now.value + world.value.offset)}</span>}
        {auto.is_active && !is_main && <StopButton conversation={auto.conversation} />}
      </header>
      {auto.is_active && auto.prompt !== auto.topic && <p class="faint">{safeText(auto.prompt)}</p>}
      {auto.is_active && auto.ends_when && <p class="faint">{`Ends after ${safeText(auto.ends_when)}.`}</p>}
      {!auto.is_active && auto.reason && <p class="notice" role="status" data-testid="auto-ended">{`The conversation about ${safeText(auto.topic)} is over: ${safeText(endText(auto))}.`}</p>}
      {auto.is_active && (
        <ul class="auto-cast" aria-label="Cast">
          {auto.cast.map((one) => (
            <li key={one.agent_id}>
              <button type="button" class={`button is-small${one.agent_id === auto.responding ? " is-main" : ""}`} aria-current={one.agent_id === auto.responding} onClick={() => { selected.value = one.agent_id; }}>{safeText(one.name)}, {safeText(one.role)}</button>
            </li>
          ))}
        </ul>
      )}
      {auto.conversation && <Transcript auto={auto} />}
      {auto.is_active && <JoinForm conversation={auto.conversation} />}
      {auto_mode.value.is_active
        ? <details key={auto.conversation}><summary>Another conversation</summary><AutoForm beside={true} /></details>
        : <details><summary>Topic, cast and time</summary><AutoForm beside={false} /></details>}
    </section>
  );
}
