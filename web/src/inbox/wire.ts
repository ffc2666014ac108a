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
}
