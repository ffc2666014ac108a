// What GET /trust sends.

export interface WaitingFile {
  path: string;
  state: "new" | "changed" | "refused";
  /// What it would do: "defines the model lead".
  reasons: string[];
  /// What is trusted if the user agrees; null if it cannot be.
  sha256: string | null;
  /// What is new since it was trusted last.
  diff: string;
  /// Why it cannot be trusted.
  problem: string | null;
}

export interface TrustList {
  waiting?: WaitingFile[];
}
