// Auto mode: agents that talk to each other. How messages of the socket change what is known of it. Pure.
import { isNumber, text, texts } from "./reading.ts";
import type { WorldMessage } from "./wire.ts";

export interface AutoLine {
  number: number;
  agent_id: string;
  name: string;
  text: string;
  at_ms: number;
}

export interface AutoMode {
  is_active: boolean;
  conversation: string;
  topic: string;
  prompt: string;
  cast: readonly { agent_id: string; name: string; role: string }[];
  model: string;
  pattern: string;
  responding: string;
  duration_ms: number;
  /// By the daemon's clock.
  ends_at_ms: number;
  /// Why the last one ended; empty if none has.
  reason: string;
  detail: string;
  lines: readonly AutoLine[];
}

export const no_auto_mode: AutoMode = {
  is_active: false, conversation: "", topic: "", prompt: "", cast: [], model: "", pattern: "", responding: "", duration_ms: 0, ends_at_ms: 0, reason: "", detail: "", lines: [],
};

const max_lines = 400;
const number = (value: unknown): number => (isNumber(value) ? value : 0);

/// A conversation as a snapshot, a start or an answer tells it. What was said is kept if it is still the same one.
export function readAutoMode(value: unknown, known: AutoMode): AutoMode {
  const from = value as Record<string, unknown> | null;
  if (!from || typeof from !== "object") return known;
  const conversation = text(from.conversationId);
  if (!conversation) return { ...no_auto_mode };
  const names = texts(from.personaNames), roles = texts(from.roles);
  return {
    is_active: from.active === true, conversation, topic: text(from.topic), prompt: text(from.prompt),
    cast: texts(from.agentIds).map((agent_id, i) => ({ agent_id, name: names[i] ?? agent_id, role: roles[i] ?? "" })),
    model: text(from.modelName), pattern: text(from.interactionPattern), responding: text(from.respondingAgentId),
    duration_ms: number(from.durationMs), ends_at_ms: number(from.endsAtMs), reason: text(from.reason), detail: text(from.detail),
    lines: conversation === known.conversation ? known.lines : [],
  };
}

/// Adds lines that are not known yet, in their order.
export function withLines(auto: AutoMode, more: readonly AutoLine[]): AutoMode {
  const all = new Map(auto.lines.map((line) => [line.number, line]));
  for (const line of more) all.set(line.number, line);
  return { ...auto, lines: [...all.values()].sort((a, b) => a.number - b.number).slice(-max_lines) };
}

export function applyAutoMode(auto: AutoMode, message: WorldMessage): AutoMode {
  switch (message.type) {
    case "autoModeStarted": return readAutoMode({ ...message, active: true }, auto);
    case "autoModeTurnChange": return { ...auto, responding: text(message.respondingAgentId) };
    case "autoModeTimeoutSet": return { ...auto, duration_ms: number(message.durationMs), ends_at_ms: number(message.endsAtMs) };
    case "autoModeEnded": return { ...auto, is_active: false, responding: "", reason: text(message.reason), detail: text(message.detail) };
    case "agentMessage":
    case "autoModePersonSpoke":
      return message.conversationId === auto.conversation
        ? withLines(auto, [{ number: number(message.number), agent_id: text(message.id), name: text(message.name), text: text(message.text), at_ms: number(message.atMs) }])
        : auto;
    default: return auto;
  }
}

/// "3:41" until the end, by the daemon's time.
export function countdownText(auto: AutoMode, server_ms: number): string {
  // This machine's idea of the time may be a second old.
  const left = Math.max(0, Math.ceil(Math.min(auto.ends_at_ms - server_ms, auto.duration_ms) / 1000));
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
}

const reasons: Record<string, string> = {
  keyword: "the agents ended it", timer: "its time was over", user: "it was stopped", agent_exit: "an agent left", no_progress: "they repeated themselves", restart: "the daemon was restarted",
};
export const endText = ({ reason, detail }: AutoMode): string => (reason ? `${reasons[reason] ?? reason}${detail ? ` (${detail})` : ""}` : "");
