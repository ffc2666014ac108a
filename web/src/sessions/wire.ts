// A session as GET /sessions sends it. An event's data is the session in the same shape.

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
