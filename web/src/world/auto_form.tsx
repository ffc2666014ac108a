import { useEffect, useState } from "preact/hooks";
import { visibleText } from "../base/safe_text.ts";
import { counted } from "../base/text.ts";
import { useFirstField } from "../definitions/fields.tsx";
import { definitions } from "../definitions/model.ts";
import { Field, FormError, invalidProps, isInvalid } from "../ui/field.tsx";
import { useSending } from "../ui/sending.ts";
import { castProblem, firstQuestion, max_cast, min_cast } from "./auto_mode.ts";
import { auto_choices, auto_mode, chosen_conversation, readAutoChoices, startAuto, type AutoWishes } from "./model.ts";
import { fieldOf } from "./texts.ts";

export const auto_form_id = "auto-form";
const id = "auto";
const patterns = [["walk-to-agent", "walk to the speaker"], ["stay-at-desk", "stay at the desk"], ["meet-at-table", "meet at the table"]] as const;
const fields = ["topic", "personas", "interactionPattern", "models", "timeoutMs", "maxTurns"];

/// One who may take part: of the built-in cast, or defined by the project.
function Candidate({ name, role, title, is_chosen, is_full, toggle }: { name: string; role: string; title: string; is_chosen: boolean; is_full: boolean; toggle: () => void }) {
  return (
    <label class={`chip${is_chosen ? " is-chosen" : ""}`} title={title}>
      <input type="checkbox" checked={is_chosen} disabled={is_full && !is_chosen} onChange={toggle} />
      <span>{visibleText(name)}{role && <span class="faint">{`, ${visibleText(role)}`}</span>}</span>
    </label>
  );
}

/// The form to start a conversation with a topic and a cast of one's own. While one goes on, it starts another beside it.
export function AutoForm({ started, close }: { started: () => void; close: () => void }) {
  const beside = auto_mode.value.is_active;
  const [values, setValues] = useState({ topic: "", pattern: patterns[0][0] as string, model: "", minutes: "", turns: "" });
  const [cast, setCast] = useState<readonly string[]>(["Ada", "Bertrand"]);
  const [defined, setDefined] = useState<readonly string[]>([]);
  const { is_sending, error, field, send } = useSending();
  const first = useFirstField<HTMLTextAreaElement>();
  useEffect(() => { void readAutoChoices(); }, []);
  const { topics, personas } = auto_choices.value;
  const set = (name: keyof typeof values) => (event: { currentTarget: { value: string } }) => setValues({ ...values, [name]: event.currentTarget.value });
  const count = cast.length + defined.length;
  const problem = castProblem(count);
  const named = fieldOf(field);
  const failure = problem ? { error: problem, field: "personas" } : { error, field: ["definitions", "agentCount", "requires_approval"].includes(named) ? "personas" : named };
  const toggled = (all: readonly string[], name: string) => (all.includes(name) ? all.filter((one) => one !== name) : [...all, name]);
  const start = async () => {
    const wishes: AutoWishes = { agentCount: count, personas: personas.map(({ name }) => name).filter((name) => cast.includes(name)), interactionPattern: values.pattern };
    if (defined.length) wishes.definitions = [...defined];
    if (values.topic.trim()) wishes.topic = values.topic.trim();
    if (values.model.trim()) wishes.models = values.model.split(",").map((name) => name.trim()).filter(Boolean);
    if (values.minutes.trim()) wishes.timeoutMs = Math.round(Number(values.minutes) * 60_000);
    if (values.turns.trim()) wishes.maxTurns = Math.round(Number(values.turns));
    if (beside) wishes.beside = true;
    const { conversationId } = await startAuto(wishes);
    chosen_conversation.value = beside ? String(conversationId ?? "") : null;
    started();
  };
  const common = (name: string) => ({ id: `${id}-${name}`, ...invalidProps(failure, id, name) });
  return (
    <form class="submit is-auto-form" id={auto_form_id} aria-label="Start a conversation" onSubmit={(event) => { event.preventDefault(); if (!problem) void send(start); }} onKeyDown={(event) => { if (event.key === "Escape") close(); }}>
      <Field label="Topic" id={id} name="topic" failure={failure} wide={true}>
        <textarea ref={first} {...common("topic")} rows={2} maxLength={1000} value={values.topic} placeholder="your own question, or one from the list at random" onInput={set("topic")}
          onKeyDown={(event) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); event.currentTarget.form?.requestSubmit(); } }} />
      </Field>
      <Field label="From the list" id={id} name="list" failure={failure}>
        <select id={`${id}-list`} value={topics.some(({ prompt }) => prompt === values.topic) ? values.topic : ""} onChange={set("topic")}>
          <option value="">{values.topic.trim() ? "your own" : "at random"}</option>
          {topics.map(({ name, prompt }) => <option key={name} value={prompt}>{firstQuestion(prompt)}</option>)}
        </select>
      </Field>
      <Field label="How they meet" id={id} name="interactionPattern" failure={failure}><select {...common("interactionPattern")} value={values.pattern} onChange={set("pattern")}>{patterns.map(([name, text]) => <option key={name} value={name}>{text}</option>)}</select></Field>
      <Field label="Minutes at most" id={id} name="timeoutMs" failure={failure}><input {...common("timeoutMs")} type="number" min="0.1" max="1440" step="any" value={values.minutes} placeholder="as configured" onInput={set("minutes")} /></Field>
      <fieldset class="is-whole cast-choice" aria-describedby={isInvalid(failure, "personas") ? `${id}-personas-error` : undefined}>
        <legend>{`Cast: ${counted(count, "agent")} (${min_cast} to ${max_cast})`}</legend>
        <div class="auto-cast">
          {personas.map(({ name, role, character }) => <Candidate key={name} name={name} role={role} title={character} is_chosen={cast.includes(name)} is_full={count >= max_cast} toggle={() => setCast(toggled(cast, name))} />)}
          {definitions.value.filter(({ enabled }) => enabled !== false).map(({ name, description }) => <Candidate key={`of ${name}`} name={name} role="definition" title={description} is_chosen={defined.includes(name)} is_full={count >= max_cast} toggle={() => setDefined(toggled(defined, name))} />)}
        </div>
        {isInvalid(failure, "personas") && <p class="error" role="alert" id={`${id}-personas-error`}>{visibleText(failure.error)}</p>}
      </fieldset>
      <Field label="Models, in turn" id={id} name="models" failure={failure}><input {...common("models")} maxLength={200} value={values.model} placeholder="the built-in script" onInput={set("model")} /></Field>
      <Field label="Messages at most" id={id} name="maxTurns" failure={failure}><input {...common("maxTurns")} type="number" min="1" step="1" value={values.turns} placeholder="no limit" onInput={set("turns")} /></Field>
      <FormError failure={failure} fields={fields} />
      <p class="submit-foot">
        <button type="submit" class="button is-main" disabled={is_sending || problem !== ""}>{beside ? "Start beside the other" : "Start"}</button>
        <button type="button" class="button" onClick={close}>Close</button>
      </p>
    </form>
  );
}
