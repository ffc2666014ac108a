// Rules as JSON: the record that is kept, and what people and programs are told.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "approvals/rules.h"
#include "base/text.h"

namespace cru::approvals {
namespace {

constexpr std::array<std::pair<Verdict, std::string_view>, 3> verdicts = {
    {{Verdict::allow, "allow"}, {Verdict::ask, "ask"}, {Verdict::deny, "deny"}}};
constexpr std::array<std::pair<Scope, std::string_view>, 2> scopes = {
    {{Scope::session, "session"}, {Scope::project, "project"}}};
constexpr std::array<std::pair<Subject, std::string_view>, 3> subjects = {
    {{Subject::files, "files"}, {Subject::command, "command"}, {Subject::call, "call"}}};

template <class T, size_t n>
std::string_view word_of(const std::array<std::pair<T, std::string_view>, n>& table, T value) {
  for (auto [each, word] : table)
    if (each == value) return word;
  return {};
}
template <class T, size_t n>
std::optional<T> value_of(const std::array<std::pair<T, std::string_view>, n>& table, std::string_view word) {
  for (auto [each, known] : table)
    if (known == word) return each;
  return {};
}

constexpr std::array<std::string_view, 14> text_fields = {
    "id",   "verdict", "scope",      "session", "project", "agent",     "subject",
    "tool", "folder",  "executable", "input",   "what",    "made_from", "made_at"};
constexpr std::array<std::string_view, 3> other_fields = {"files", "commands", "reason"};

std::unexpected<Error> damaged_rule(std::string_view field, std::string_view why) {
  auto named = truncate(safe_for_terminal(field), 64);
  return fail(Code::invalid_argument, fmt::format("the field \"{}\" of a rule {}", named, why),
              std::string(named));
}

/// Whatever is missing or mistyped would make a rule another one than the person meant.
Result<> check_fields(const json::object& record) {
  for (auto field : text_fields) {
    const auto* value = record.if_contains(field);
    if (!value) return damaged_rule(field, "is missing");
    if (!value->is_string()) return damaged_rule(field, "must be a string");
  }
  if (const auto* reason = record.if_contains("reason"); reason && !reason->is_string())
    return damaged_rule("reason", "must be a string");
  for (const auto& member : record) {
    std::string_view key = member.key();
    bool is_known = std::ranges::find(text_fields, key) != text_fields.end() ||
                    std::ranges::find(other_fields, key) != other_fields.end();
    if (!is_known) return damaged_rule(key, "is not known");
  }
  return {};
}

/// Nothing, if one of them is no text.
std::optional<std::vector<std::string>> texts_in(const json::array& list) {
  std::vector<std::string> texts;
  for (const auto& item : list) {
    if (!item.is_string()) return {};
    texts.emplace_back(item.get_string());
  }
  return texts;
}

}  // namespace

std::string_view name(Verdict verdict) { return word_of(verdicts, verdict); }
std::string_view name(Scope scope) { return word_of(scopes, scope); }
std::optional<Verdict> verdict_from(std::string_view name) { return value_of(verdicts, name); }
std::optional<Scope> scope_from(std::string_view name) { return value_of(scopes, name); }

json::object to_record(const Rule& rule) {
  json::array commands;
  for (const auto& pattern : rule.commands)
    commands.push_back({{"words", json::value_from(pattern.words)}, {"open", pattern.is_open}});
  return {{"id", rule.id},
          {"verdict", name(rule.verdict)},
          {"scope", name(rule.scope)},
          {"session", rule.session},
          {"project", rule.project},
          {"agent", rule.agent},
          {"subject", word_of(subjects, rule.subject)},
          {"tool", rule.tool},
          {"folder", rule.folder},
          {"executable", rule.executable},
          {"files", json::value_from(rule.files)},
          {"commands", std::move(commands)},
          {"input", rule.input},
          {"what", rule.what},
          {"reason", rule.reason},
          {"made_from", rule.made_from},
          {"made_at", to_rfc3339(rule.made_at)}};
}

Result<Rule> rule_from(const json::object& record) {
  if (auto checked = check_fields(record); !checked) return fail(std::move(checked.error()));
  auto text = [&](std::string_view key) { return std::string(text_or(record, key)); };
  auto verdict = verdict_from(text("verdict"));
  auto scope = scope_from(text("scope"));
  auto subject = value_of(subjects, text("subject"));
  auto made_at = parse_rfc3339(text("made_at"));
  if (!verdict) return damaged_rule("verdict", "must be allow, ask or deny");
  if (!scope) return damaged_rule("scope", "must be session or project");
  if (!subject) return damaged_rule("subject", "must be files, command or call");
  if (!made_at) return damaged_rule("made_at", "must be a time");
  if (text("id").empty()) return damaged_rule("id", "is empty");
  Rule rule{.id = text("id"),
            .verdict = *verdict,
            .scope = *scope,
            .session = text("session"),
            .project = text("project"),
            .agent = text("agent"),
            .subject = *subject,
            .tool = text("tool"),
            .folder = text("folder"),
            .executable = text("executable"),
            .input = text("input"),
            .what = text("what"),
            .reason = text("reason"),
            .made_from = text("made_from"),
            .made_at = *made_at};
  const auto *files = array_at(record, "files"), *commands = array_at(record, "commands");
  auto globs = files ? texts_in(*files) : std::nullopt;
  if (!globs || !std::ranges::all_of(*globs, is_file_pattern))
    return damaged_rule("files", "must be a list of patterns that are relative to the project");
  rule.files = *std::move(globs);
  if (!commands) return damaged_rule("commands", "must be a list");
  for (const auto& item : *commands) {
    const auto* fields = item.if_object();
    const auto* list = fields ? array_at(*fields, "words") : nullptr;
    const auto* is_open = fields ? fields->if_contains("open") : nullptr;
    auto words = list ? texts_in(*list) : std::nullopt;
    if (!words || words->empty() || !is_open || !is_open->is_bool() || fields->size() != 2)
      return damaged_rule("commands", "must have \"words\", a list of strings, and \"open\", true or false");
    rule.commands.push_back({*std::move(words), is_open->get_bool()});
  }
  if (rule.subject == Subject::files && rule.files.empty()) return damaged_rule("files", "is empty");
  if (rule.subject == Subject::command && rule.commands.empty()) return damaged_rule("commands", "is empty");
  if (rule.subject == Subject::call && (rule.input.empty() || rule.tool.empty()))
    return damaged_rule(rule.tool.empty() ? "tool" : "input", "is empty");
  return rule;
}

json::object to_json(const Rule& rule) {
  auto out = to_record(rule);
  for (auto key : {"session", "agent", "tool", "folder", "executable", "input", "what", "reason", "id"})
    if (out[key].is_string() && out[key].get_string().empty()) out[key] = nullptr;
  out["coverage"] = coverage(rule);
  out["covers"] = pattern_of(rule);
  return out;
}

}  // namespace cru::approvals
