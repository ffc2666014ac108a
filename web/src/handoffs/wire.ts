// Handoffs, as sent by GET /handoffs.

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
  /// A final handoff of a session that did nothing.
  empty?: boolean;
  /// The agent's own handoff that a final one begins with.
  carries?: string | null;
  changeset_id?: string | null;
  created_at?: string;
}

export interface Commit {
  id: string;
  author: string;
  subject: string;
  created_at: string;
}

/// What a session changed, as sent in GET /handoffs/{id}. Without an id: of a session that is still live.
export interface Changeset {
  id: string | null;
  session_id: string;
  /// Only zeros: the repository had no commit. Null: unknown, or no repository.
  base: string | null;
  head: string | null;
  /// The first 1,000.
  files: string[];
  file_count: number;
  created_at: string;
  commits: Commit[] | null;
  more_commits: boolean;
}
