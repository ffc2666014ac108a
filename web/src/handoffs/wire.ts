// A handoff as GET /handoffs sends it.

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
