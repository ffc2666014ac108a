// The newest events, and how far the page has read the log. Pure.
import type { LogEvent } from "./event.ts";

export interface EventLog {
  /// The newest events, oldest first.
  events: readonly LogEvent[];
  /// The id of the last event received; a new connection continues after it.
  cursor: number;
}

export const empty_log: EventLog = { events: [], cursor: 0 };
/// Of output, and of everything else: a run that prints much does not push the rest out of the list.
const max_events = 150;
const max_output_events = 150;

/// Leaves out frequent events that would fill the list: chunks of an answer, and every step of the live agents.
export const isListed = ({ type }: LogEvent): boolean => !/^(chat\.text|live\.(agent_state_changed|agent_moved|user_moved|message_receipt))$/.test(type);

export const isOutput = ({ type }: LogEvent): boolean => type === "agent.output";

function newest(events: readonly LogEvent[]): readonly LogEvent[] {
  const outputs = events.filter(isOutput).length;
  const too_many = { output: outputs - max_output_events, other: events.length - outputs - max_events };
  if (too_many.output <= 0 && too_many.other <= 0) return events;
  return events.filter((event) => too_many[isOutput(event) ? "output" : "other"]-- <= 0);
}

/// Appends events in order. `fresh` contains those that the page has not seen yet: a reconnection may repeat events.
export function appendEvents(before: EventLog, events: readonly LogEvent[]): { log: EventLog; fresh: LogEvent[] } {
  let { cursor } = before;
  const fresh: LogEvent[] = [];
  const shown: LogEvent[] = [];
  for (const event of events) {
    if (event.type === "state.snapshot") {
      // A lower id means that this is another log, so the old cursor is meaningless.
      cursor = event.id ?? cursor;
      fresh.push(event);
      continue;
    }
    if (event.id !== null) {
      if (event.id <= cursor) continue;
      cursor = event.id;
    }
    if (event.type === "heartbeat" || event.type === "log.truncated") continue;
    fresh.push(event);
    if (event.id !== null && isListed(event)) shown.push(event);
  }
  return { log: { events: shown.length ? newest([...before.events, ...shown]) : before.events, cursor }, fresh };
}

/// Adds events from before the page was opened to the front of the list. They change nothing else.
export function withHistory(log: EventLog, earlier: readonly LogEvent[]): EventLog {
  const oldest = log.events[0]?.id ?? log.cursor + 1;
  return { ...log, events: newest([...earlier.filter((event) => event.id !== null && event.id < oldest && isListed(event)), ...log.events]) };
}
