// An approval, as sent by GET /approvals/{id}.

export interface Approval {
  id: string;
  status: "pending" | "held" | "asking" | "approved" | "denied" | "expired" | "withdrawn";
  tool: string;
  what: string;
  reason: string | null;
  impact: string;
  reversible: boolean;
  undo: "reversible" | "irreversible" | "unknown";
  undo_why: string;
  agent: string;
  /// The asker's name, and its parent's.
  asker?: string;
  child_of?: string | null;
  member: string | null;
  task_id: string | null;
  chat_id: string | null;
  question_id: string | null;
  task: string | null;
  parent_chain: string[];
  preview: { kind: "diff" | "command" | "statement" | "text"; text: string; is_cut: boolean };
  digest: string;
  input: Record<string, unknown>;
  schema: { properties?: Record<string, { type?: string; description?: string }> } | null;
  checked: "at execution" | "at answer";
  via: "tool" | "question" | "hook" | "client";
  expires_at: string | null;
  seconds_left: number | null;
  on_timeout: "abort" | "approve";
  context: { question: string; answer: string | null }[];
  replaces: string | null;
  outcome: string | null;
  why_asked: string | null;
}
/// A rule, as sent by GET /approval-rules.
export interface Rule { id: string; verdict: "allow" | "ask" | "deny"; scope: "session" | "project"; coverage: string }
export interface RuleWish { verdict: Rule["verdict"]; for: Rule["scope"]; covers: string[] }
export interface ApprovalList { approvals: { id: string }[] }
