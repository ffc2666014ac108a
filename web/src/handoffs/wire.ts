// A handoff, as sent by GET /handoffs.

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
