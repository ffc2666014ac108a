// All states that a badge can show, each with its glyph.

export type State =
  | "needs-you" | "failed" | "disconnected" | "speaking" | "listening" | "thinking" | "using-tool" | "queued" | "idle" | "done"
  | "pending" | "blocked" | "claimed" | "running" | "completed" | "cancelled";

export const glyphs: Record<State, string> = {
  "needs-you": "⚑", failed: "✗", disconnected: "⊘", speaking: "»", listening: "◎", thinking: "…", "using-tool": "◐", queued: "◔", idle: "○", done: "✓",
  pending: "◌", blocked: "‖", claimed: "◐", running: "●", completed: "✓", cancelled: "■",
};
