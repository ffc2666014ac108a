// The shapes of coordination, as GET /sessions, /locks, /work and /handoffs send them. An event's data is the
// item in the same shape.

export interface Session {
  agent_id: string;
  session_id: string;
  agent_type?: string;
  capabilities?: string[];
  status: "active" | "idle" | "disconnected";
  current_task?: string | null;
  last_heartbeat?: string;
  started_at?: string;
  ended_at?: string | null;
  /// Why it ended; only an event says.
  why?: string;
}

export interface Lock {
  file_path: string;
  locked_by: string;
  agent_type?: string;
  session_id?: string;
  locked_at?: string;
  expires_at?: string;
  reason?: string | null;
  fencing_token?: number;
  waiters?: number;
}

export type WorkStatus = "pending" | "claimed" | "running" | "completed" | "failed" | "cancelled";

export interface Work {
  task_id: string;
  status: WorkStatus;
  task_type?: string;
  description?: string;
  input_data?: unknown;
  priority?: number;
  depends_on?: string[];
  blocked_by?: string[];
  attempts?: number;
  max_attempts?: number;
  deadline?: string | null;
  claimed_by?: string | null;
  claimed_by_session?: string | null;
  lease_expires_at?: string | null;
  retry_at?: string | null;
  verify?: string[];
  evidence?: unknown;
  result?: unknown;
  error_message?: string | null;
  submitted_by?: string;
  created_at?: string;
  completed_at?: string | null;
}

export interface Handoff {
  id: string;
  agent_name: string;
  session_id?: string;
  summary: string;
  completed_work?: string[];
  in_progress?: string[];
  decisions?: string[];
  next_steps?: string[];
  relevant_files?: string[];
  kind?: "written" | "final";
  created_at?: string;
}
