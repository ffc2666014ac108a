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
  /// What ends it besides keyword, time and people, in words; empty if there is nothing.
  ends_when: string;
  /// People who take part with turns of their own.
  people: readonly string[];
  /// The person whose turn it is, and until when by the daemon's clock; empty if it is an agent's.
  person_turn: string;
  turn_ends_at_ms: number;
  lines: readonly AutoLine[];
}

export const no_auto_mode: AutoMode = {
  is_active: false, conversation: "", topic: "", prompt: "", cast: [], model: "", pattern: "", responding: "", duration_ms: 0, ends_at_ms: 0, reason: "", detail: "", ends_when: "", people: [], person_turn: "", turn_ends_at_ms: 0, lines: [],
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
    duration_ms: number(from.durationMs), ends_at_ms: number(from.endsAtMs), reason: text(from.reason), detail: text(from.detail), ends_when: text(from.endsWhen),
    people: texts(from.people), person_turn: text(from.personTurn), turn_ends_at_ms: number(from.personTurnEndsAtMs),
    lines: conversation === known.conversation ? known.lines : [],
  };
}

/// Adds lines that are not known yet, in their order.
export function withLines(auto: AutoMode, more: readonly AutoLine[]): AutoMode {
  const all = new Map(auto.lines.map((line) => [line.number, line]));
  for (const line of more) all.set(line.number, line);
  return { ...auto, lines: [...all.values()].sort((a, b) => a.number - b.number).slice(-max_lines) };
}

/// The main conversation, the only one that most clients know.
export function applyAutoMode(auto: AutoMode, message: WorldMessage): AutoMode {
  switch (message.type) {
    case "autoModeStarted": return readAutoMode({ ...message, active: true }, auto);
    case "autoModeTurnChange": return { ...auto, responding: text(message.respondingAgentId), person_turn: "" };
    case "autoModePersonTurn": return { ...auto, responding: "", person_turn: text(message.name), turn_ends_at_ms: number(message.turnEndsAtMs) };
    case "autoModePeopleChanged": return { ...auto, people: texts(message.people) };
    case "autoModeTimeoutSet": return { ...auto, duration_ms: number(message.durationMs), ends_at_ms: number(message.endsAtMs) };
    case "autoModeEnded": return { ...auto, is_active: false, responding: "", person_turn: "", reason: text(message.reason), detail: text(message.detail) };
    case "agentMessage":
    case "autoModePersonSpoke":
      return message.conversationId === auto.conversation
        ? withLines(auto, [{ number: number(message.number), agent_id: text(message.id), name: text(message.name), text: text(message.text), at_ms: number(message.atMs) }])
        : auto;
    default: return auto;
  }
}

const max_ended = 20;

/// The conversations beside it, by id, oldest first: their messages have names of their own. Of those that are over, the
/// newest stay to be read.
export function applyBeside(all: ReadonlyMap<string, AutoMode>, message: WorldMessage): ReadonlyMap<string, AutoMode> {
  const id = text(message.conversationId);
  const known = all.get(id);
  const type = message.type.replace(/^conversation(?=[A-Z])/, "autoMode");
  const is_of_one = type !== message.type || (known && message.type === "agentMessage");
  if (!id || !is_of_one || (!known && type !== "autoModeStarted")) return all;
  const next = new Map(all).set(id, applyAutoMode(known ?? no_auto_mode, { ...message, type }));
  const ended = [...next].filter(([, { is_active }]) => !is_active).map(([one]) => one);
  for (const old of ended.slice(0, -max_ended)) next.delete(old);
  return next;
}

/// Those of a snapshot. What was said in them is kept, and those that it does not tell of are over.
export function readBeside(value: unknown, known: ReadonlyMap<string, AutoMode>): ReadonlyMap<string, AutoMode> {
  const found = (Array.isArray(value) ? value : []).map((one) => readAutoMode(one, known.get(text((one as Record<string, unknown> | null)?.conversationId)) ?? no_auto_mode));
  return new Map(found.filter(({ conversation }) => conversation).map((one) => [one.conversation, one]));
}

/// "3:41" until the end, by the daemon's time.
// This machine's idea of the time may be a second old.
export const countdownText = (auto: AutoMode, server_ms: number): string => minutesText(Math.min(auto.ends_at_ms - server_ms, auto.duration_ms));
/// The same until a person's turn passes.
export const turnLeftText = (auto: AutoMode, server_ms: number): string => minutesText(auto.turn_ends_at_ms - server_ms);

function minutesText(left_ms: number): string {
  const left = Math.max(0, Math.ceil(left_ms / 1000));
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
}

/// Who says a line: `person` is the one who looks at the page.
export const speakerOf = ({ agent_id, name }: AutoLine, person: string): string => (!agent_id && name === person ? "You" : name);

const reasons: Record<string, string> = {
  keyword: "the agents ended it", timer: "its time was over", user: "it was stopped", agent_exit: "an agent left", no_progress: "the agents repeated themselves", restart: "the daemon was restarted",
  tool: "an agent ended it", budget: "its budget was used up", condition: "its end condition was met", failed: "it could not continue",
};
/// Why it is over, as the end of a sentence; empty while it goes on.
export function endText({ reason, detail }: AutoMode): string {
  if (!reason) return "";
  const words = detail || reasons[reason] || reason;
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

export const min_cast = 2, max_cast = 8;
/// What is wrong with a cast of so many; empty if nothing is.
export const castProblem = (count: number): string =>
  count < min_cast ? "Choose at least two agents." : count > max_cast ? "Choose at most eight agents." : "";

/// The question with which a topic of the list begins; what follows says how to debate it.
export const firstQuestion = (prompt: string): string => prompt.slice(0, prompt.indexOf("?") + 1) || prompt;
