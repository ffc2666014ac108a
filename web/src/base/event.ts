// One event of the daemon's log, as the stream and GET /events send it.

/// `id` is null for events that are not in the log (a heartbeat, or a question that is sent again to a new client).
export interface LogEvent {
  id: number | null;
  type: string;
  entity: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/// Parses one frame of the stream. Returns null if it is not JSON, so that frames of a newer daemon are ignored.
export function readEvent(frame: { event: string; id: string | null; data: string }): LogEvent | null {
  let body: unknown;
  try {
    body = JSON.parse(frame.data);
  } catch {
    return null;
  }
  if (typeof body !== "object" || body === null) return null;
  const outer = body as Record<string, unknown>;
  const data = (typeof outer.data === "object" && outer.data !== null ? outer.data : outer) as Record<string, unknown>;
  const id = frame.id === null ? null : Number(frame.id);
  return {
    id: id === null || !Number.isSafeInteger(id) ? null : id,
    type: typeof outer.type === "string" ? outer.type : frame.event,
    entity: String(outer.entity_id ?? data.task_id ?? ""),
    timestamp: String(outer.timestamp ?? ""),
    data,
  };
}

/// The reply of GET /events: `next` is the `since` that continues it.
export interface EventPage {
  readonly events: readonly { id: number }[];
  readonly more: boolean;
  readonly next: number;
}

/// Parses the events of such a page, without the entries that cannot be parsed.
export const readEvents = (list: readonly { id: number }[]): LogEvent[] =>
  list.map((event) => readEvent({ event: "", id: String(event.id), data: JSON.stringify(event) })).filter((event): event is LogEvent => event !== null);
