// A session, as sent by GET /sessions and in the data of events.

export interface Session {
  agent_id: string;
  session_id: string;
  agent_type?: string;
  capabilities?: string[];
  current_task?: string | null;
  last_heartbeat?: string;
  started_at?: string;
}
