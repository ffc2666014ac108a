// What the page knows, and how each event changes it. Pure: the same events give the same state.
import type { LogEvent, Question, Run, Status, Line } from "./wire.ts";
import { safeText } from "./safe_text.ts";

export interface RunRow extends Run {
  /// The newest line of its output, made safe; undefined when not known yet.
  last_line?: string;
}

export interface State {
  runs: ReadonlyMap<string, RunRow>;
  questions: ReadonlyMap<string, Question>;
  /// The newest events, oldest first.
  events: readonly LogEvent[];
  /// The number of the last event seen: where a new connection goes on.
  cursor: number;
}

export const empty: State = { runs: new Map(), questions: new Map(), events: [], cursor: 0 };
const kept_events = 300;
const kept_ended_runs = 1000;

/// Pieces of an answer are many, and soon told again as a whole; the steps of live agents are never at an end.
const isWorthALine = ({ type }: LogEvent): boolean => !/^(chat\.text|live\.(agent_state_changed|agent_moved|user_moved|message_receipt))$/.test(type);

const statusOf: Record<string, Status> = {
  "agent.starting": "starting",
  "agent.started": "running",
  "agent.completed": "completed",
  "agent.failed": "failed",
  "agent.killed": "killed",
};

export const isLive = (run: Run): boolean => run.status === "starting" || run.status === "running";
export const isPending = (question: Question): boolean => question.status === "pending";

/// Reads one frame of the stream. Null for one that is not JSON: a newer daemon's, to be passed over.
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

function takeSnapshot(state: State, event: LogEvent): State {
  const runs = new Map<string, RunRow>();
  for (const run of (event.data.agents ?? []) as Run[]) {
    const known = state.runs.get(run.task_id)?.last_line;
    runs.set(run.task_id, known === undefined ? { ...run } : { ...run, last_line: known });
  }
  const questions = new Map(((event.data.questions ?? []) as Question[]).map((question) => [question.id, question]));
  // Its number counts even when it is lower: then this is another log, and the old cursor means nothing.
  return { ...state, runs, questions, cursor: event.id ?? state.cursor };
}

/// The state after these events, in order.
export function reduce(state: State, events: readonly LogEvent[]): State {
  if (!events.length) return state;
  let { cursor } = state;
  let runs = new Map(state.runs);
  let questions = new Map(state.questions);
  const log = [...state.events];
  for (const event of events) {
    if (event.type === "state.snapshot") {
      const fresh = takeSnapshot({ runs, questions, events: log, cursor }, event);
      runs = new Map(fresh.runs);
      questions = new Map(fresh.questions);
      cursor = fresh.cursor;
      continue;
    }
    if (event.id !== null) {
      // A reconnection may tell again what is known already.
      if (event.id <= cursor) continue;
      cursor = event.id;
    }
    if (event.type === "heartbeat" || event.type === "log.truncated") continue;
    if (event.id !== null && isWorthALine(event)) log.push(event);
    if (event.type.includes("question")) applyQuestion(questions, event);
    else if (event.type.startsWith("agent.")) applyRun(runs, event);
    else if (event.type === "run.purged" || event.type === "tasks.purged") runs.delete(event.entity);
  }
  if (log.length > kept_events) log.splice(0, log.length - kept_events);
  forgetOldest(runs);
  return { runs, questions, events: log, cursor };
}

/// Puts events from before the page was opened in front of the list; they change nothing else.
export function withHistory(state: State, earlier: readonly LogEvent[]): State {
  const oldest = state.events[0]?.id ?? state.cursor + 1;
  return { ...state, events: [...earlier.filter((event) => event.id !== null && event.id < oldest && isWorthALine(event)), ...state.events].slice(-kept_events) };
}

function applyRun(runs: Map<string, RunRow>, event: LogEvent): void {
  if (!event.entity) return;
  if (event.type === "agent.purged") {
    runs.delete(event.entity);
    return;
  }
  const before: RunRow = runs.get(event.entity) ?? { task_id: event.entity, status: "starting", created_at: event.timestamp };
  const { lines, ...facts } = event.data as { lines?: Line[] } & Partial<Run>;
  const after: RunRow = { ...before };
  if (event.type === "agent.output") {
    const newest = lines?.at(-1);
    after.last_seq = Math.max(before.last_seq ?? 0, newest?.seq ?? facts.last_seq ?? 0);
    if (newest) after.last_line = safeText(newest.data);
  } else {
    // An ended run started again begins anew.
    if (event.type === "agent.started" || event.type === "agent.starting")
      Object.assign(after, { exit_code: null, signal: null, error: null, error_detail: null, ended_at: null });
    Object.assign(after, facts);
    const status = statusOf[event.type];
    if (status) after.status = status;
    if (event.type === "agent.started" && !facts.started_at) after.started_at = event.timestamp;
    if (!isLive(after) && !after.ended_at) after.ended_at = event.timestamp;
  }
  after.task_id = event.entity;
  runs.set(event.entity, after);
}

function applyQuestion(questions: Map<string, Question>, event: LogEvent): void {
  const id = String(event.data.id ?? event.data.question_id ?? "");
  if (!id) return;
  const before = questions.get(id);
  const merged = { status: "pending", prompt: "", task_id: event.entity, ...before, ...event.data, id } as Question;
  if (isPending(merged)) questions.set(id, merged);
  else questions.delete(id);
}

function forgetOldest(runs: Map<string, RunRow>): void {
  if (runs.size <= kept_ended_runs) return;
  for (const run of inOrder(runs).slice(kept_ended_runs)) if (!isLive(run)) runs.delete(run.task_id);
}

const began = (run: Run): string => run.started_at ?? run.created_at ?? "";

/// As the list shows them: live ones first, then newest first.
export function inOrder(runs: ReadonlyMap<string, RunRow>): RunRow[] {
  return [...runs.values()].sort(
    (a, b) => Number(isLive(b)) - Number(isLive(a)) || began(b).localeCompare(began(a)) || a.task_id.localeCompare(b.task_id));
}

/// The questions that wait, oldest first.
export function pending(questions: ReadonlyMap<string, Question>): Question[] {
  return [...questions.values()].filter(isPending).sort((a, b) => (a.asked_at ?? "").localeCompare(b.asked_at ?? ""));
}
