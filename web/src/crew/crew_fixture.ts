// Events and states of chats, as the daemon would send them.
import type { LogEvent } from "../base/event.ts";
import { event as anEvent, lastId } from "../base/event_fixture.ts";
import { empty_crew, mergeChat, openedChat, type Crew } from "./state.ts";
import type { Entry } from "./wire.ts";

/// An event of the chat "c".
export const event = (type: string, data: Record<string, unknown> = {}, ...id: [] | [number | null]): LogEvent =>
  ({ ...anEvent(type, { ...(/^(chat|subagent)/.test(type) ? { chat_id: "c" } : {}), ...data }, "c", ...id), timestamp: "2026-11-16T10:00:00.000Z" });
export const entry = (n: number, role: Entry["role"] = "assistant", text = `entry ${n}`): Entry => ({ n, role, text });
export const piece = (n: number, text: string, more = {}) => event("chat.text", { task_id: null, n, text, ...more });
/// An event of the subagent "3f".
export const sub = (what: string, data = {}) => event(`subagent.${what}`, { task_id: "3f", agent: "tester", ...data });
export const opened = (): Crew => mergeChat(openedChat(empty_crew, "c"), { id: "c", status: "active", turn: "idle", entries: [entry(1, "user")], subagents: [] }, lastId());
export const streaming = (crew: Crew) => crew.chats.get("c")?.streaming;
export const numbers = (crew: Crew) => [...crew.entries.keys()];
