// A work item, as sent by GET /work and in the data of events.

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
  claimed_by_member?: string | null;
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
