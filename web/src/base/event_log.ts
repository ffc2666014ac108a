// The newest events, and how far the page has read the log. Pure: the same events give the same log.
import type { LogEvent } from "./event.ts";

export interface EventLog {
  /// The newest events, oldest first.
  events: readonly LogEvent[];
  /// The number of the last event seen: where a new connection goes on.
  cursor: number;
}

export const empty_log: EventLog = { events: [], cursor: 0 };
const kept_events = 300;

/// Pieces of an answer are many, and soon told again as a whole; the steps of live agents are never at an end.
const isWorthALine = ({ type }: LogEvent): boolean => !/^(chat\.text|live\.(agent_state_changed|agent_moved|user_moved|message_receipt))$/.test(type);

/// The log after these events, in order, and those of them that are new: a reconnection may tell again what is known.
export function takeEvents(before: EventLog, events: readonly LogEvent[]): { log: EventLog; fresh: LogEvent[] } {
  let { cursor } = before;
  const fresh: LogEvent[] = [];
  const shown: LogEvent[] = [];
  for (const event of events) {
    if (event.type === "state.snapshot") {
      // Its number counts even when it is lower: then this is another log, and the old cursor means nothing.
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
    if (event.id !== null && isWorthALine(event)) shown.push(event);
  }
  return { log: { events: shown.length ? [...before.events, ...shown].slice(-kept_events) : before.events, cursor }, fresh };
}

/// Puts events from before the page was opened in front of the list; they change nothing else.
export function withHistory(log: EventLog, earlier: readonly LogEvent[]): EventLog {
  const oldest = log.events[0]?.id ?? log.cursor + 1;
  return { ...log, events: [...earlier.filter((event) => event.id !== null && event.id < oldest && isWorthALine(event)), ...log.events].slice(-kept_events) };
}
