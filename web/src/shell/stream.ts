// Distributes the daemon's events to all capabilities, in small batches.
import { batch, effect, signal } from "@preact/signals";
import { get } from "../base/api.ts";
import { follow, link, loaded } from "../base/connection.ts";
import type { LogEvent } from "../base/event.ts";
import { readHistory } from "../base/event_history.ts";
import { appendEvents, empty_log, withHistory, type EventLog } from "../base/event_log.ts";
import { view } from "../base/views.ts";
import { applyApprovalEvents, readApprovals } from "../approvals/model.ts";
import { applyCrewEvents, crewReconnected, readCrew, readCrewIfFailed } from "../crew/model.ts";
import { applyDefinitionEvents, readDefinitions, readDefinitionsIfFailed } from "../definitions/model.ts";
import { applyHandoffEvents, handoff_list } from "../handoffs/model.ts";
import { applyQuestionEvents } from "../inbox/model.ts";
import { keepLocksFresh, lock_list } from "../locks/model.ts";
import { applyMemberEvents, readMembers } from "../members/model.ts";
import { applyOutputEvents, applyRunEvents, catchUp, catchUpIfFollowing, selected } from "../runs/model.ts";
import { keepSessionsFresh, session_list } from "../sessions/model.ts";
import { applyTraceEvents } from "../traces/model.ts";
import { applyTrustEvents, readTrust } from "../trust/model.ts";
import { work_list } from "../work/model.ts";

export const log = signal<EventLog>(empty_log);

const lists = [session_list, lock_list, work_list, handoff_list];

let pending: LogEvent[] = [];
let scheduled = false;

function deliver(events: LogEvent[]): void {
  pending.push(...events);
  if (scheduled) return;
  scheduled = true;
  setTimeout(flush, document.hidden ? 500 : 40);
}

function flush(): void {
  scheduled = false;
  const events = pending;
  pending = [];
  batch(() => {
    const { log: after, fresh } = appendEvents(log.peek(), events);
    log.value = after;
    applyRunEvents(fresh);
    applyQuestionEvents(fresh);
    session_list.apply(events);
    lock_list.apply(events);
    work_list.apply(events);
    applyHandoffEvents(events);
    applyCrewEvents(events);
    applyDefinitionEvents(events);
    applyTrustEvents(events);
    applyApprovalEvents(events);
    applyTraceEvents(events);
    if (events.some((event) => event.type === "state.snapshot")) loaded.value = true;
    applyOutputEvents(events);
  });
  if (events.some((event) => event.type === "state.snapshot" || event.type === "log.truncated")) {
    readLists();
    readDefinitions();
    readTrust();
    readApprovals();
    readCrew();
    void readMembers();
  } else keepFresh(events);
  catchUpIfFollowing();
}

function readLists(): void {
  for (const list of lists) void list.read();
}

/// Reads again what is visible and not reported by events.
function keepFresh(events: readonly LogEvent[]): void {
  if (document.hidden) return;
  for (const list of lists) list.retryIfFailed();
  if (view.peek() === "crew") keepSessionsFresh();
  if (view.peek() === "locks" || view.peek() === "crew") keepLocksFresh(events);
  applyMemberEvents(events);
}

/// Reads again what events do not report, when a view becomes visible.
function refreshShownView(): void {
  if (document.hidden || !loaded.peek()) return;
  for (const list of lists) list.readIfFailed();
  if (view.peek() === "crew" || view.peek() === "definitions") readDefinitionsIfFailed();
  if (view.peek() === "crew") {
    readCrewIfFailed();
    void session_list.read();
  }
  if (view.peek() === "locks") void lock_list.read();
  void readMembers();
}

/// Reads the events from before the page was opened, so that a reload does not empty the list.
async function showHistory(): Promise<void> {
  try {
    const earlier = await readHistory(log.peek().cursor, (query) => get(`/events?${query}`));
    log.value = withHistory(log.peek(), earlier);
  } catch {
    // The list begins with new events.
  }
}

export function startStream(): void {
  document.addEventListener("visibilitychange", refreshShownView);
  effect(() => {
    void view.value;
    refreshShownView();
  });
  let was = link.peek().kind;
  effect(() => {
    const kind = link.value.kind;
    // After an outage: heartbeats and waiting requests have changed without events.
    if (kind === "connected" && was === "disconnected") {
      readLists();
      readDefinitions();
      readTrust();
      crewReconnected();
      void readMembers();
    }
    if (kind === "connected" && was !== "connected" && selected.peek()) void catchUp();
    was = kind;
  });
  effect(() => { if (loaded.value) void showHistory(); });
  void follow(() => log.peek().cursor, deliver);
}
