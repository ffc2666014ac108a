// A lock, as sent by GET /locks and in the data of events.

export interface Lock {
  file_path: string;
  locked_by: string;
  agent_type?: string;
  session_id?: string;
  member?: string | null;
  locked_at?: string;
  expires_at?: string;
  reason?: string | null;
  fencing_token?: number;
  waiters?: number;
}
