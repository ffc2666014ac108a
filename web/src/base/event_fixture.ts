// Events as the stream would deliver them, with consecutive ids.
import type { LogEvent } from "./event.ts";

let next = 0;

/// The id of the last event created here.
export const lastId = (): number => next;

export const event = (type: string, data: Record<string, unknown> = {}, entity = "", id: number | null = ++next): LogEvent =>
  ({ id, type, entity, timestamp: `2026-11-16T10:00:${String((id ?? 0) % 60).padStart(2, "0")}.000Z`, data });
