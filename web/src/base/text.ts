// Formats values for people: durations, times, long texts. Pure.
import { safeText } from "./safe_text.ts";

/// "4 s", "3 min 20 s", "2 h 5 min", "3 d".
export function duration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s < 600 && s % 60 ? ` ${s % 60} s` : ""}`;
  if (s < 86400) return `${Math.floor(s / 3600)} h${s % 3600 >= 60 ? ` ${Math.floor((s % 3600) / 60)} min` : ""}`;
  return `${Math.floor(s / 86400)} d`;
}

/// "12 s ago"; empty if there is no such time.
export function ago(time: string | null | undefined, now: number): string {
  const at = Date.parse(time ?? "");
  return Number.isNaN(at) ? "" : `${duration(now - at)} ago`;
}

/// "in 4 min"; "now" if the time has passed; empty if there is no such time.
export function ahead(time: string | null | undefined, now: number): string {
  const at = Date.parse(time ?? "");
  if (Number.isNaN(at)) return "";
  return at <= now ? "now" : `in ${duration(at - now + 999)}`;
}

/// Text on a single line, safe to show, at most `max_length` characters long.
export function oneLine(text: string, max_length = 400): string {
  const line = safeText(text.replace(/\s+/g, " ").trim());
  return line.length > max_length ? `${line.slice(0, max_length)}…` : line;
}

/// Any value as text: strings unchanged, everything else as JSON.
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/// "840 tok", "14.1k tok"; empty if unknown.
export function tokens(count: number | null | undefined): string {
  if (!count) return "";
  return `${count < 1000 ? count : count < 999_500 ? `${(count / 1000).toFixed(count < 99_950 ? 1 : 0)}k` : `${(count / 1e6).toFixed(1)}M`} tok`;
}

/// "$0.42"; "<$0.01" for less than that; empty if unknown.
export function cost(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return "";
  return usd > 0 && usd < 0.005 ? "<$0.01" : `$${usd.toFixed(2)}`;
}

/// "1 agent", "2 agents"
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
