// Subagents and chats, as sent by GET /subagents and /chats.

export interface ToolUse {
  id: string;
  name: string;
  input?: unknown;
}

export interface ToolResult {
  id: string;
  name?: string;
  text: string;
  is_error?: boolean;
}

/// One entry of a chat; it never changes.
export interface Entry {
  n: number;
  role: "user" | "assistant" | "tool" | "note";
  text?: string;
  tools?: ToolUse[];
  results?: ToolResult[];
  /// In a note: the id of the subagent that was spawned here.
  about?: string;
}

export type SubagentStatus = "queued" | "running" | "completed" | "failed" | "cancelled";

export interface Subagent {
  task_id: string;
  agent: string;
  chat_id?: string;
  task?: string;
  status: SubagentStatus;
  depth?: number;
  queue_position?: number;
  model?: string;
  permissions?: string[];
  inherited?: boolean;
  summary?: string;
  result?: string;
  truncated?: boolean;
  file?: string;
  tokens?: number;
  cost_usd?: number | null;
  duration_ms?: number | null;
  error_type?: string | null;
  error_message?: string | null;
  severity?: string;
  parent_chain?: string[];
  run_id?: string | null;
  spawned_at?: string;
  completed_at?: string | null;
}

export interface Chat {
  id: string;
  title?: string;
  folder?: string;
  /// "run" and "client" are not conversations and no members: they group the agents that were spawned by a person or another
  /// program.
  kind?: "chat" | "run" | "client";
  status: "active" | "completed" | "failed";
  turn?: "idle" | "running";
  agent?: string;
  model?: string;
  model_version?: string | null;
  provider?: string | null;
  permissions?: string[];
  queue_depth?: number;
  total_tokens?: number;
  cost_usd?: number | null;
  started_at?: string;
  ended_at?: string | null;
  /// The id of the last event that this reply takes into account.
  last_event?: number;
  /// Why its last turn failed.
  error?: { type: string; message: string };
}

export interface ChatReply extends Chat {
  subagents?: Subagent[];
  entries?: Entry[];
  more?: boolean;
}
