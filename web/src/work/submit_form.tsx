import { useEffect, useRef, useState } from "preact/hooks";
import { submitWork } from "./model.ts";

/// A person submits work. What is typed stays until the daemon has taken it.
export function SubmitForm({ done }: { done: () => void }) {
  const [kind, setKind] = useState("");
  const [text, setText] = useState("");
  const [priority, setPriority] = useState("5");
  const [after, setAfter] = useState("");
  const [sending, setSending] = useState(false);
  const [trouble, setTrouble] = useState("");
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const send = async () => {
    setSending(true);
    setTrouble("");
    try {
      await submitWork({ task_type: kind.trim(), description: text, priority: Number(priority) || 5, depends_on: after.split(/[\s,]+/).filter(Boolean) });
      done();
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
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
      {trouble && <p class="trouble is-whole" role="alert">{trouble}</p>}
      <p class="is-whole submit-foot">
        <button type="submit" class="button is-main" disabled={sending || !kind.trim() || !text.trim()}>Submit</button>
        <button type="button" class="button" onClick={done}>Close</button>
      </p>
    </form>
  );
}
