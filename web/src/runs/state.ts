// How events change the runs. Pure.
import type { LogEvent } from "../base/event.ts";
import { lastLine } from "./texts.ts";
import type { Line, Run, Status } from "./wire.ts";

export interface RunRow extends Run {
  /// The newest line of its output, safe to show; undefined if not known yet.
  last_line?: string;
}

export type Runs = ReadonlyMap<string, RunRow>;

const max_runs = 1000;

const statusOf: Record<string, Status> = {
  "agent.starting": "starting",
  "agent.started": "running",
  "agent.completed": "completed",
  "agent.failed": "failed",
  "agent.killed": "killed",
};

export const isActive = (run: Run): boolean => run.status === "starting" || run.status === "running";

const agent_programs = new Set(["claude", "codex", "gemini"]);
/// It prints JSON, which can be told in words.
export const printsWork = (run: Run): boolean => agent_programs.has(run.backend ?? "") && !run.pty;

const isRunEvent = ({ type }: LogEvent): boolean => (type.startsWith("agent.") && !type.includes("question")) || type === "run.purged" || type === "tasks.purged";

/// The runs after these events, in order; the same object if none of the events is about runs.
export function applyRuns(before: Runs, events: readonly LogEvent[]): Runs {
  let runs: Map<string, RunRow> | null = null;
  for (const event of events) {
    if (event.type === "state.snapshot") runs = fromSnapshot(runs ?? before, event);
    else if (isRunEvent(event)) applyOne(runs ??= new Map(before), event);
  }
  if (!runs) return before;
  forgetOldest(runs);
  return runs;
}

function fromSnapshot(before: Runs, event: LogEvent): Map<string, RunRow> {
  const runs = new Map<string, RunRow>();
  for (const run of (event.data.agents ?? []) as Run[]) {
    const known = before.get(run.task_id)?.last_line;
    runs.set(run.task_id, known === undefined ? { ...run } : { ...run, last_line: known });
  }
  return runs;
}

function applyOne(runs: Map<string, RunRow>, event: LogEvent): void {
  if (event.type.endsWith(".purged")) {
    runs.delete(event.entity);
    return;
  }
  if (!event.entity) return;
  const before: RunRow = runs.get(event.entity) ?? { task_id: event.entity, status: "starting", created_at: event.timestamp };
  const { lines, ...facts } = event.data as { lines?: Line[] } & Partial<Run>;
  const after: RunRow = { ...before };
  if (event.type === "agent.output") {
    const newest = lines?.at(-1);
    after.last_seq = Math.max(before.last_seq ?? 0, newest?.seq ?? facts.last_seq ?? 0);
    if (newest && !(printsWork(before) && newest.data.startsWith("{"))) after.last_line = lastLine(newest.data);
  } else {
    // A task id can be started again: forget how the earlier run ended.
    if (event.type === "agent.started" || event.type === "agent.starting")
      Object.assign(after, { exit_code: null, signal: null, error: null, error_detail: null, ended_at: null, waits_for: null });
    if (event.type === "agent.starting") delete after.pty;  // the record tells; the event does not
    Object.assign(after, facts);
    const status = statusOf[event.type];
    if (status) after.status = status;
    if (event.type === "agent.started" && !facts.started_at) after.started_at = event.timestamp;
    if (!isActive(after) && !after.ended_at) after.ended_at = event.timestamp;
  }
  after.task_id = event.entity;
  runs.set(event.entity, after);
}

function forgetOldest(runs: Map<string, RunRow>): void {
  if (runs.size <= max_runs) return;
  for (const run of inOrder(runs).slice(max_runs)) if (!isActive(run)) runs.delete(run.task_id);
}

const began = (run: Run): string => run.started_at ?? run.created_at ?? "";

/// In the order of the list: active runs first, then newest first.
export function inOrder(runs: Runs): RunRow[] {
  return [...runs.values()].sort(
    (a, b) => Number(isActive(b)) - Number(isActive(a)) || began(b).localeCompare(began(a)) || a.task_id.localeCompare(b.task_id));
}
