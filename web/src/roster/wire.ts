// A member of the crew, as sent by GET /crew.

export type Word = "needs you" | "failed" | "disconnected" | "speaking" | "listening" | "thinking" | "using a tool" | "queued" | "idle" | "done";

export interface Member {
  id: string;
  name: string;
  kind: "person" | "claude" | "codex" | "gemini" | "command" | "model" | "script";
  badge: Word;
  since: string;
  evidence?: string | null;
  doing?: string | null;
  /// The name of the member that spawned it.
  parent?: string | null;
  definition?: string | null;
  program?: string | null;
  tokens?: number | null;
  cost_usd?: number | null;
  facets: { run: string | null; session: string | null; thread: string | null; body: string | null };
}
