// Definitions and minds, as sent by GET /definitions, /definitions/validate and /minds.

export interface Definition {
  name: string;
  description: string;
  model?: string;
  model_source?: "definition" | "default" | "parent";
  permissions?: string[];
  enabled?: boolean;
  source?: "system" | "project";
  path?: string;
  /// The path of the definition that this one overrides.
  overrides?: string | null;
  prompt?: string;
}

/// A problem in a definition's file, and a suggestion how to fix it.
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
