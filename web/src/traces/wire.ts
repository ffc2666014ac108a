// Traces, as sent by GET /traces/{id}.

export interface Wait {
  kind: "approval" | "question" | "dependency" | "limit";
  id: string;
  /// "open" while it still waits.
  outcome: string;
  offset_ms: number;
  duration_ms: number;
}

/// One attempt of an agent that judges its own answer.
export interface Iteration {
  attempt: number;
  passed: boolean;
  score: number | null;
  critique: string;
  tokens: number;
  duration_ms: number;
}

export interface Span {
  id: string;
  parent: string | null;
  order: number;
  depth: number;
  kind: "agent" | "run" | "work" | "attempt";
  agent: string;
  model: string;
  status: string;
  trace_id: string;
  parent_chain: string[];
  offset_ms: number;
  duration_ms: number;
  queued_ms: number;
  waited_ms: number;
  waits: Wait[];
  tokens: number;
  cost_usd: number | null;
  total_tokens: number;
  total_cost_usd: number | null;
  error: { type: string; message: string; severity: string; attempting: string | null } | null;
  reflection: { outcome: "passed" | "partial" | null; iterations: Iteration[] } | null;
  file: string | null;
}

export interface Trace {
  trace_id: string;
  session_id: string;
  kind: "chat" | "run" | "work" | "live" | "auto";
  title: string;
  status: string;
  duration_ms: number;
  waited_ms: number;
  tokens: number;
  cost_usd: number | null;
  agents: number;
  failed: number;
  spans: Span[];
}
