// Texts about approvals. Pure.
import type { LogEvent } from "../base/event.ts";
import { visibleText } from "../base/safe_text.ts";

export function describeApproval({ type, data }: LogEvent): string {
  const text = (key: string) => visibleText(String(data[key] ?? ""));
  if (type === "approval.rule_made") return `rule ${text("id")} ${text("coverage")}`;
  if (type === "approval.rule_revoked") return `rule ${text("id")} was revoked`;
  if (type === "approval.requested") return `${text("id")}: asks for approval to ${text("what")}`;
  if (type === "approval.context_asked") return `${text("id")}: you asked: ${text("question")}`;
  if (type === "approval.context_given") return `${text("id")}: answered: ${text("answer")}`;
  if (type === "approval.used") return `${text("id")}: carried out: ${text("what")}`;
  return `${text("id")} (${text("what")}): ${text("outcome") || text("status")}`;
}
