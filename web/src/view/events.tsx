import { openSubject, show_output_events, state } from "../model.ts";
import { describe } from "../words.ts";
import { describeCrew, isCrewEvent } from "../words_crew.ts";
import { describeLive, isLiveEvent } from "../words_world.ts";
import { describeShared, subjectOf } from "../words_coordination.ts";

const shown = 60;
const isShared = (type: string) => /^(session|lock|work|handoff|memory)\./.test(type);

export function Events() {
  const all = state.value.events;
  const list = (show_output_events.value ? all : all.filter((event) => event.type !== "agent.output")).slice(-shown).reverse();
  return (
    <section class="events" aria-label="Events">
      <div class="events-head">
        <h2 class="heading">Events</h2>
        <label class="toggle">
          <input type="checkbox" checked={show_output_events.value} onChange={(event) => { show_output_events.value = event.currentTarget.checked; }} />
          output
        </label>
      </div>
      {list.length ? (
        <ol class="event-list">
          {list.map((event) => (
            <li key={event.id} class={`event is-${event.type.split(".")[1] ?? "other"}`}>
              <time dateTime={event.timestamp}>{event.timestamp.slice(11, 19)}</time>
              <span class="event-type">{event.type}</span>
              {event.entity && <button type="button" class="plain" onClick={() => openSubject(event)}>{subjectOf(event)}</button>}
              <span class="event-text">{isShared(event.type) ? describeShared(event) : isCrewEvent(event.type) ? describeCrew(event) : isLiveEvent(event.type) ? describeLive(event) : describe(event)}</span>
            </li>
          ))}
        </ol>
      ) : <p class="hint">What happens from now on appears here.</p>}
    </section>
  );
}
