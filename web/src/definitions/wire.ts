// The shapes of definitions and minds, as GET /definitions, /definitions/validate and /minds send them.

export interface Definition {
  name: string;
  description: string;
  model?: string;
  model_source?: "definition" | "default" | "parent";
  permissions?: string[];
  enabled?: boolean;
  source?: "system" | "project";
  path?: string;
  /// The path of what it hides.
  overrides?: string | null;
  prompt?: string;
}

/// What is wrong with a definition's file, where, and what would mend it.
export interface Problem {
  path?: string;
  line?: number;
  field?: string;
  reason?: string;
  suggestion?: string | null;
  severity?: "error" | "warning";
  is_error?: boolean;
}

export interface Mind {
  provider: string;
  kind?: string;
  works: boolean;
  why?: string;
  fix?: string;
  models?: string[];
}
