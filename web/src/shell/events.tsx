import { signal } from "@preact/signals";
import { isOutput } from "../base/event_log.ts";
import { describe, subjectOf } from "./event_texts.ts";
import { openEventSubject } from "./navigation.ts";
import { log } from "./stream.ts";

const shown = 60;
const show_output_events = signal(false);

export function Events() {
  const all = log.value.events;
  const list = (show_output_events.value ? all : all.filter((event) => !isOutput(event))).slice(-shown).reverse();
  return (
    <section class="events" aria-label="Events">
      <div class="events-head">
        <h2 class="heading">Events</h2>
        <label class="toggle">
          <input type="checkbox" checked={show_output_events.value} onChange={(event) => { show_output_events.value = event.currentTarget.checked; }} />
          Show output
        </label>
      </div>
      {list.length ? (
        <ol class="event-list">
          {list.map((event) => (
            <li key={event.id} class={`event is-${event.type.split(".")[1] ?? "other"}`}>
              <time dateTime={event.timestamp}>{event.timestamp.slice(11, 19)}</time>
              <span class="event-type">{event.type}</span>
              {event.entity && <button type="button" class="plain" onClick={() => openEventSubject(event)}>{subjectOf(event)}</button>}
              <span class="event-text">{describe(event)}</span>
            </li>
          ))}
        </ol>
      ) : <p class="hint">New events appear here.</p>}
    </section>
  );
}
