// Runs and their output, as sent by GET /agents and /agents/{id}/output.

export type Status = "starting" | "running" | "completed" | "failed" | "killed";

export interface Run {
  task_id: string;
  status: Status;
  backend?: string;
  argv?: string[];
  task?: string | null;
  worktree?: string;
  branch?: string | null;
  confined?: string;  // "no", or what it may
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
  waits_for?: string | null;  // why nothing of it is read, such as a full disk; of one that is over: when its agent goes on
}

export interface Line {
  seq: number;
  ts: string;
  stream: "stdout" | "stderr";
  data: string;
  eol?: false;
  /// The exact bytes in base64, if `data` is not exact.
  raw?: string;
  /// What an agent program printed as JSON, in words: perhaps several lines, or none.
  told?: true;
}

export interface OutputPage {
  task_id: string;
  lines: Line[];
  last_seq: number;
  more?: boolean;
}
