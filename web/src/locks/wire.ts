// A lock as GET /locks sends it. An event's data is the lock in the same shape.

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
