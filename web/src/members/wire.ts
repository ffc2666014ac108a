// A member of the crew, as sent by GET /crew.

export type Word = "needs you" | "failed" | "disconnected" | "speaking" | "listening" | "thinking" | "using a tool" | "queued" | "idle" | "done";

/// The ids of what a member consists of: a task id, a session id, a chat's or a subagent's id, a live agent's id.
export interface Facets {
  run: string | null;
  session: string | null;
  thread: string | null;
  body: string | null;
}
export type Facet = keyof Facets;

export interface Member {
  id: string;
  name: string;
  kind: "person" | "claude" | "codex" | "gemini" | "command" | "model" | "script";
  /// The word of its badge. Only the daemon decides it.
  badge: Word;
  since: string;
  evidence?: string | null;
  doing?: string | null;
  /// The name and the id of the member that spawned it.
  parent?: string | null;
  parent_id?: string | null;
  /// The name that its handoffs carry.
  agent_id?: string;
  session_id?: string | null;
  definition?: string | null;
  program?: string | null;
  pid?: number | null;
  started_at?: string;
  ended_at?: string | null;
  tokens?: number | null;
  cost_usd?: number | null;
  facets: Facets;
}
