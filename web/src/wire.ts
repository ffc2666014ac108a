// The shapes that the daemon sends: GET /state, /agents, /questions, and the event log.

export type Status = "starting" | "running" | "completed" | "failed" | "killed";

export interface Run {
  task_id: string;
  status: Status;
  backend?: string;
  argv?: string[];
  task?: string | null;
  worktree?: string;
  branch?: string | null;
  pid?: number | null;
  exit_code?: number | null;
  signal?: number | null;
  error?: string | null;
  error_detail?: string | null;
  line_count?: number;
  last_seq?: number;
  created_at?: string;
  started_at?: string | null;
  ended_at?: string | null;
  pty?: boolean;
}

export interface Question {
  id: string;
  task_id: string;
  kind?: "question" | "permission";
  prompt: string;
  options?: string[];
  status: "pending" | "answered" | "expired";
  response?: string | null;
  delivered?: boolean;
  delivery_error?: string | null;
  asked_at?: string;
}

export interface Line {
  seq: number;
  ts: string;
  stream: "stdout" | "stderr";
  data: string;
  eol?: false;
}

export interface OutputPage {
  task_id: string;
  lines: Line[];
  last_seq: number;
  more?: boolean;
}

/// One event of the log as the stream carries it. `id` is null for what is not in the log
/// (a heartbeat, a question that is told again to a new client).
export interface LogEvent {
  id: number | null;
  type: string;
  entity: string;
  timestamp: string;
  data: Record<string, unknown>;
}

export interface Failure {
  code: string;
  message: string;
  hint?: string;
}
