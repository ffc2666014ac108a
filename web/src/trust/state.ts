// What waits for the user's trust, and what the user has put off. Pure.
import type { WaitingFile } from "./wire.ts";

/// Names exactly what waits: another file, or another content of one, is something else.
export const keyOf = (files: readonly WaitingFile[]): string => JSON.stringify(files.map(({ path, sha256, problem }) => [path, sha256, problem]));

/// The files to ask about: none of them if the user has put off exactly these.
export const toAsk = (files: readonly WaitingFile[], put_off: string): readonly WaitingFile[] => (files.length && keyOf(files) !== put_off ? files : []);

/// What is trusted if the user agrees: each path with the content that was shown.
export function itemsOf(files: readonly WaitingFile[]): Record<string, string> {
  return Object.fromEntries(files.flatMap(({ path, sha256, state }) => (sha256 && state !== "refused" ? [[path, sha256]] : [])));
}

export type DiffLine = { kind: "added" | "removed" | "place" | "same"; text: string };

/// A unified diff by line, without the two lines that name the files.
export function diffLines(diff: string): DiffLine[] {
  const lines = diff.replace(/\n$/, "").split("\n");
  return lines.filter((line, i) => i > 1 && line !== "\\ No newline at end of file").map((line) => {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : line.startsWith("@@") ? "place" : "same";
    return { kind, text: line };
  });
}
