// Rules as JSON: the record that is kept, and what people and programs are told.
#include <array>

#include "approvals/rules.h"

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
          {"made_from", rule.made_from},
          {"made_at", to_rfc3339(rule.made_at)}};
}

Result<Rule> rule_from(const json::object& record) {
  auto text = [&](std::string_view key) { return std::string(text_or(record, key)); };
  auto verdict = verdict_from(text("verdict"));
  auto scope = scope_from(text("scope"));
  auto subject = value_of(subjects, text("subject"));
  auto made_at = parse_rfc3339(text("made_at"));
  const auto *files = array_at(record, "files"), *commands = array_at(record, "commands");
  auto damaged = [] { return fail(Code::invalid_argument, "a rule is damaged"); };
  if (!verdict || !scope || !subject || !made_at || !files || !commands || text("id").empty())
    return damaged();
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
            .made_from = text("made_from"),
            .made_at = *made_at};
  auto globs = texts_in(*files);
  if (!globs) return damaged();
  rule.files = *std::move(globs);
  for (const auto& item : *commands) {
    const auto* fields = item.if_object();
    const auto* list = fields ? array_at(*fields, "words") : nullptr;
    auto words = list ? texts_in(*list) : std::nullopt;
    if (!words || words->empty()) return damaged();
    rule.commands.push_back({*std::move(words), bool_or(*fields, "open")});
  }
  bool covers_something = rule.subject == Subject::files     ? !rule.files.empty()
                          : rule.subject == Subject::command ? !rule.commands.empty()
                                                             : !rule.input.empty() && !rule.tool.empty();
  if (!covers_something) return damaged();
  return rule;
}

json::object to_json(const Rule& rule) {
  auto out = to_record(rule);
  for (auto key : {"session", "agent", "tool", "folder", "executable", "input", "what", "id"})
    if (out[key].is_string() && out[key].get_string().empty()) out[key] = nullptr;
  out["coverage"] = coverage(rule);
  return out;
}

}  // namespace cru::approvals
