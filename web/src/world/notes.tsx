import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { duration } from "../base/text.ts";
import { world } from "./model.ts";
import { hearersText, noteText, receiptsText } from "./words.ts";

/// What was said and done lately, newest first.
export function Notes() {
  const { notes } = world.value;
  if (!notes.length) return <p class="hint">Messages and actions of the live agents appear here.</p>;
  return (
    <ol class="life-notes" aria-label="Activity" tabIndex={0}>
      {[...notes].reverse().map((note) => (
        <li key={note.seq} class={`is-${note.kind}`}>
          <b>{safeText(note.name)}</b>{" "}
          {!!note.to?.count && <span class="faint">{hearersText(note.to)} </span>}
          <span>{note.kind === "said" ? `“${noteText(note)}”` : noteText(note)}</span>{" "}
          <span class="since">{duration(now.value - note.at)} ago{note.receipts && ` · ${receiptsText(note.receipts)}`}</span>
        </li>
      ))}
    </ol>
  );
}
