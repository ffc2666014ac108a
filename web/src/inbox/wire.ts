// A question, as sent by GET /questions and in the data of events.

export interface Question {
  id: string;
  task_id: string;
  kind?: "question" | "permission";
  prompt: string;
  options?: string[];
  status: "pending" | "answered" | "expired";
  response?: string | null;
  delivered?: boolean;
  delivery_error?: string | null;
  asked_at?: string;
  /// Who asked.
  member?: string | null;
  /// Of an expired one: what became of its asker.
  withdrawn_because?: string | null;
}
