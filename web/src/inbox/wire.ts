// A question, as sent by GET /questions and in the data of events.

/// One of the things that a question asks at once, with its own options.
export interface Part {
  prompt: string;
  options: { label: string; description: string }[];
  takes_several: boolean;
}

export interface Question {
  id: string;
  task_id: string;
  kind?: "question" | "permission";
  prompt: string;
  options?: string[];
  /// What Claude Code asks, each with its options; empty for other askers.
  questions?: Part[];
  status: "pending" | "answered" | "expired";
  response?: string | null;
  delivered?: boolean;
  delivery_error?: string | null;
  asked_at?: string;
  /// Who asked.
  member?: string | null;
  /// Of an expired one: what became of its asker.
  withdrawn_because?: string | null;
  trace_id?: string | null;
}
