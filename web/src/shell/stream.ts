// Carries the daemon's events to whatever shows them: gathered for a moment, applied at once.
import { batch, effect, signal } from "@preact/signals";
import { get } from "../base/api.ts";
import { follow, link, loaded } from "../base/connection.ts";
import { readEvents, type LogEvent } from "../base/event.ts";
import { empty_log, takeEvents, withHistory, type EventLog } from "../base/event_log.ts";
import { view } from "../base/views.ts";
import { applyCrewEvents, crewReconnected, readCrew, readCrewIfTroubled } from "../crew/model.ts";
import { applyDefinitionEvents, readDefinitions, readDefinitionsIfTroubled } from "../definitions/model.ts";
import { handoff_list, takeHandoffEvents } from "../handoffs/model.ts";
import { takeQuestionEvents } from "../inbox/model.ts";
import { keepLocksFresh, lock_list } from "../locks/model.ts";
import { catchUp, catchUpIfFollowing, selected, takeOutputEvents, takeRunEvents } from "../runs/model.ts";
import { keepSessionsFresh, session_list } from "../sessions/model.ts";
import { work_list } from "../work/model.ts";
import { countLive } from "../world/model.ts";

export const log = signal<EventLog>(empty_log);

const lists = [session_list, lock_list, work_list, handoff_list];

let waiting: LogEvent[] = [];
let scheduled = false;

function deliver(events: LogEvent[]): void {
  waiting.push(...events);
  if (scheduled) return;
  scheduled = true;
  setTimeout(flush, document.hidden ? 500 : 40);
}

function flush(): void {
  scheduled = false;
  const events = waiting;
  waiting = [];
  batch(() => {
    const { log: after, fresh } = takeEvents(log.peek(), events);
    log.value = after;
    takeRunEvents(fresh);
    takeQuestionEvents(fresh);
    session_list.apply(events);
    lock_list.apply(events);
    work_list.apply(events);
    takeHandoffEvents(events);
    applyCrewEvents(events);
    applyDefinitionEvents(events);
    countLive(events);
    if (events.some((event) => event.type === "state.snapshot")) loaded.value = true;
    takeOutputEvents(events);
  });
  if (events.some((event) => event.type === "state.snapshot" || event.type === "log.truncated")) {
    readLists();
    readDefinitions();
    readCrew();
  } else keepFresh(events);
  catchUpIfFollowing();
}

function readLists(): void {
  for (const list of lists) void list.read();
}

/// What is looked at and what no event tells of is read again.
function keepFresh(events: readonly LogEvent[]): void {
  if (document.hidden) return;
  for (const list of lists) list.retryIfTroubled();
  if (view.peek() === "agents") keepSessionsFresh();
  if (view.peek() === "locks") keepLocksFresh(events);
}

/// A view that somebody turns to is read anew as far as events do not tell.
function lookedAt(): void {
  if (document.hidden || !loaded.peek()) return;
  for (const list of lists) list.readIfTroubled();
  if (view.peek() === "chats" || view.peek() === "crew") {
    readDefinitionsIfTroubled();
    readCrewIfTroubled();
  }
  if (view.peek() === "agents") void session_list.read();
  if (view.peek() === "locks") void lock_list.read();
}

/// What happened shortly before the page was opened: a reload does not empty the list.
async function learnHistory(): Promise<void> {
  try {
    const earlier = await get<{ id: number }[]>(`/events?since=${Math.max(0, log.peek().cursor - 150)}&limit=150`);
    log.value = withHistory(log.peek(), readEvents(earlier));
  } catch {
    // Older than the log goes back: the list begins with what comes.
  }
}

export function startStream(): void {
  document.addEventListener("visibilitychange", lookedAt);
  effect(() => {
    void view.value;
    lookedAt();
  });
  let was = link.peek().kind;
  effect(() => {
    const kind = link.value.kind;
    // A daemon that was away: heartbeats and waiters have moved on without an event of their own.
    if (kind === "live" && was === "stale") {
      readLists();
      readDefinitions();
      crewReconnected();
    }
    if (kind === "live" && was !== "live" && selected.peek()) void catchUp();
    was = kind;
  });
  effect(() => { if (loaded.value) void learnHistory(); });
  void follow(() => log.peek().cursor, deliver);
}
