import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../base/text.ts";
import { submitWork } from "./model.ts";

/// The form to submit a work item. It keeps its contents until the daemon has accepted them.
export function SubmitForm({ done }: { done: () => void }) {
  const [kind, setKind] = useState("");
  const [text, setText] = useState("");
  const [priority, setPriority] = useState("5");
  const [after, setAfter] = useState("");
  const [sending, setSending] = useState(false);
  const [error, setError] = useState("");
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const send = async () => {
    setSending(true);
    setError("");
    try {
      await submitWork({ task_type: kind.trim(), description: text, priority: Number(priority) || 5, depends_on: after.split(/[\s,]+/).filter(Boolean) });
      done();
    } catch (error) {
      setError(messageOf(error));
      setSending(false);
    }
  };
  return (
    <form class="submit" aria-label="Submit work" onSubmit={(event) => { event.preventDefault(); void send(); }}
      onKeyDown={(event) => { if (event.key === "Escape") done(); }}>
      <label class="field">Type<input ref={first} required maxLength={128} value={kind} placeholder="e.g. test" onInput={(event) => setKind(event.currentTarget.value)} /></label>
      <label class="field">Priority<input type="number" min={1} max={10} required value={priority} onInput={(event) => setPriority(event.currentTarget.value)} /></label>
      <label class="field is-wide">Depends on (task ids)<input value={after} placeholder="none" onInput={(event) => setAfter(event.currentTarget.value)} /></label>
      <label class="field is-whole">Description<textarea required rows={2} maxLength={65536} value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      {error && <p class="error is-whole" role="alert">{error}</p>}
      <p class="is-whole submit-foot">
        <button type="submit" class="button is-main" disabled={sending || !kind.trim() || !text.trim()}>Submit</button>
        <button type="button" class="button" onClick={done}>Close</button>
      </p>
    </form>
  );
}
