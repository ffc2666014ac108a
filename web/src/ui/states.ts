// All states that a badge can show, each with its glyph.

export type State =
  | "starting" | "running" | "completed" | "failed" | "killed" | "needs-you" | "active" | "idle" | "disconnected"
  | "pending" | "blocked" | "claimed" | "cancelled" | "queued" | "listening" | "thinking" | "speaking" | "using-tool" | "done";

export const glyphs: Record<State, string> = {
  starting: "◌", running: "●", completed: "✓", failed: "✗", killed: "■", "needs-you": "⚑",
  active: "●", idle: "○", disconnected: "⊘", pending: "◌", blocked: "‖", claimed: "◐", cancelled: "■", queued: "◔",
  listening: "◎", thinking: "…", speaking: "»", "using-tool": "◐", done: "✓",
};
