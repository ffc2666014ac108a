// Texts about chats and subagents, and where in a chat a subagent is shown. Pure.
import type { LogEvent } from "../base/event.ts";
import { safeText } from "../base/safe_text.ts";
import { duration, oneLine, valueText } from "../base/text.ts";
import type { ChatRow, SubagentRow, Waiting } from "./state.ts";
import type { Entry } from "./wire.ts";

export const titleOf = (chat: ChatRow): string => oneLine(chat.title || chat.id, 120);

/// "rate limited, retrying in 12 s"
export function waitingText(waiting: Waiting, now: number): string {
  const why = safeText(waiting.why.replace(/_/g, " ")) || "waiting";
  const left = waiting.until - now;
  return left > 0 ? `${why}, retrying in ${duration(left + 999)}` : `${why}, retrying`;
}

/// For how long a subagent has been queued or running, or how long it took.
export function subagentSince(subagent: SubagentRow, now: number): string {
  if (subagent.status === "queued" || subagent.status === "running") {
    const from = Date.parse((subagent.status === "running" ? subagent.started_at : undefined) ?? subagent.spawned_at ?? "");
    return Number.isNaN(from) ? "" : `for ${duration(now - from)}`;
  }
  return typeof subagent.duration_ms === "number" ? `took ${duration(subagent.duration_ms)}` : "";
}

/// A tool's input in one line: its most telling field, else its JSON.
export function inputLine(input: unknown): string {
  if (input && typeof input === "object" && !Array.isArray(input)) {
    const fields = input as Record<string, unknown>;
    for (const key of ["task", "path", "file_path", "query", "command", "pattern", "url", "text"]) if (typeof fields[key] === "string") return oneLine(fields[key] as string, 120);
    if (!Object.keys(fields).length) return "";
    return oneLine(JSON.stringify(fields), 120);
  }
  return oneLine(valueText(input), 120);
}

const stem = (path: string): string => (path.split("/").at(-1) ?? "").replace(/\.md$/, "");

/// The subagent whose file a wikilink names: [[tester-3f]], [[folder/tester-3f]], [[tester-3f.md]].
export function linkedSubagent(target: string, among: readonly SubagentRow[]): SubagentRow | undefined {
  const name = stem((target.split("#")[0] ?? "").trim());
  return name ? among.find((subagent) => stem(subagent.file ?? "") === name || `${subagent.agent}-${subagent.task_id}` === name) : undefined;
}

export interface Placement {
  /// By the tool use that spawned the subagent.
  by_use: Map<string, SubagentRow>;
  /// By the number of the entry that they are shown after; 0 is before all entries, Infinity after all.
  after: Map<number, SubagentRow[]>;
}

/// Where to show each subagent: at the note about its spawning. Without a note, it is matched to a use of spawn_agent: by
/// the task id in the tool's result, then by agent and task, then by agent in the order of spawning.
export function placeSubagents(entries: Iterable<Entry>, subagents: readonly SubagentRow[]): Placement {
  const by_use = new Map<string, SubagentRow>();
  const left = new Set([...subagents].sort((a, b) => (a.spawned_at ?? "").localeCompare(b.spawned_at ?? "") || a.task_id.localeCompare(b.task_id)));
  const answers = new Map<string, string>();
  const after = new Map<number, SubagentRow[]>();
  const put = (n: number, subagent: SubagentRow) => {
    after.set(n, [...(after.get(n) ?? []), subagent]);
    left.delete(subagent);
  };
  const by_id = new Map(subagents.map((subagent) => [subagent.task_id, subagent]));
  const uses: { key: string; agent: string; task: string; answer: () => string | undefined }[] = [];
  for (const entry of entries) {
    const noted = by_id.get(entry.about ?? "");
    if (noted && left.has(noted)) put(entry.n, noted);
    for (const result of entry.results ?? []) answers.set(result.id, result.text);
    for (const use of entry.tools ?? []) {
      if (!/(^|__|\.)spawn_agent$/.test(use.name)) continue;
      const input = (use.input ?? {}) as { agent?: unknown; task?: unknown };
      uses.push({ key: toolUseKey(entry.n, use.id), agent: String(input.agent ?? ""), task: String(input.task ?? ""), answer: () => answers.get(use.id) });
    }
  }
  const match = (fits: (use: (typeof uses)[number], subagent: SubagentRow) => boolean) => {
    for (const use of uses) {
      if (by_use.has(use.key)) continue;
      for (const subagent of left) {
        if (!fits(use, subagent)) continue;
        by_use.set(use.key, subagent);
        left.delete(subagent);
        break;
      }
    }
  };
  match((use, subagent) => (use.answer() ?? "").includes(subagent.task_id) && use.agent === subagent.agent);
  match((use, subagent) => use.agent === subagent.agent && !!subagent.task && subagent.task === use.task);
  match((use, subagent) => use.agent === subagent.agent && !subagent.task);
  for (const subagent of left) put(subagent.after ?? Infinity, subagent);
  return { by_use, after };
}

export const toolUseKey = (n: number, id: string): string => `${n}/${id}`;

/// A description of an event about a chat or a subagent in one line.
export function describeCrew(event: LogEvent): string {
  const { data } = event;
  const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string) : "");
  const number = (key: string) => (typeof data[key] === "number" ? (data[key] as number) : undefined);
  const error = data.error as { message?: string } | undefined;
  switch (event.type) {
    case "chat.started": return oneLine([text("agent"), text("title")].filter(Boolean).join(" · "), 200);
    case "chat.entry": return oneLine([text("role"), text("text") || toolNames(data)].filter(Boolean).join(": "), 200);
    case "chat.turn": return oneLine(error?.message ?? text("turn"), 200);
    case "chat.waiting": return oneLine(text("why").replace(/_/g, " "), 200);
    case "chat.ended": return oneLine(text("status"), 200);
    case "subagent.entry": return oneLine([text("role"), text("text") || toolNames(data)].filter(Boolean).join(": "), 200);
    case "subagent.queued": return number("position") ? `position ${number("position")}` : "";
    case "chat.tool":
    case "subagent.tool": return oneLine([text("name"), text("summary")].filter(Boolean).join(" · "), 200);
    default: return oneLine(text("summary") || [text("error_type"), text("message")].filter(Boolean).join(": "), 200);
  }
}

const toolNames = (data: Record<string, unknown>): string =>
  [...((data.tools ?? []) as { name?: string }[]), ...((data.results ?? []) as { name?: string }[])].map(({ name }) => name ?? "").filter(Boolean).join(", ");

/// What the field for messages says while it is empty. Who waits for the user is not answering.
export function composerHint({ turn, status }: Pick<ChatRow, "turn" | "status">, badge?: string): string {
  if (turn === "running" && badge === "needs you") return "The agent waits for you: see what needs you. You can already type your next message.";
  if (turn === "running") return "The agent is answering. You can already type your next message.";
  return status === "active" ? "Type a message" : "Type a message to resume this chat";
}
