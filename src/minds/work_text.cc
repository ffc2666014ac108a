#include "minds/work_text.h"

#include <fmt/format.h>

#include "base/text.h"

namespace cru::minds {
namespace {

constexpr size_t max_input = 300;

/// One line, however many it has.
std::string in_a_line(std::string_view text) {
  auto first = text.substr(0, text.find('\n'));
  auto line = cut_with_ellipsis(first, max_input);
  return first.size() < text.size() && first.size() <= max_input ? line + " …" : line;
}

std::string why_waiting(const ProgramEvent& event) {
  auto why = event.text == "rate_limited" ? "the rate limit"
             : event.text == "overloaded" ? "the overloaded model"
                                          : "the connection";
  return event.wait.count() > 0 ? fmt::format("… waiting {} for {}", format_duration(event.wait), why)
                                : fmt::format("… waiting for {}", why);
}

std::string tell(const ProgramEvent& event) {
  switch (event.kind) {
    case ProgramEvent::Kind::text:
      return std::string(trim(event.text));
    case ProgramEvent::Kind::tool:
      return tool_in_words(event.text, event.input);
    case ProgramEvent::Kind::waiting:
      return why_waiting(event);
    case ProgramEvent::Kind::question:
      break;  // it is in the inbox
  }
  return {};
}

/// "Which DB? Which port?": what Claude Code asks; its options are in the inbox.
std::string questions_in(const json::object& input) {
  std::string all;
  if (const auto* questions = array_at(input, "questions"))
    for (const auto& each : *questions)
      if (const auto* question = each.if_object())
        all += fmt::format("{}{}", all.empty() ? "" : " ", text_or(*question, "question"));
  return all;
}

/// "a.cc, b.cc": what Codex changes.
std::string files_in(const json::object& input) {
  std::string all;
  if (const auto* changes = array_at(input, "changes"))
    for (const auto& each : *changes)
      if (const auto* change = each.if_object())
        all += fmt::format("{}{}", all.empty() ? "" : ", ", text_or(*change, "path"));
  return all;
}

}  // namespace

std::string tool_in_words(std::string_view tool, const json::object& input) {
  for (auto key : {"command", "file_path", "path", "url", "pattern", "query", "prompt", "description"})
    if (auto text = text_or(input, key); !text.empty()) return fmt::format("→ {}: {}", tool, in_a_line(text));
  if (input.empty()) return fmt::format("→ {}", tool);
  if (auto asked = questions_in(input); !asked.empty())
    return fmt::format("→ {}: {}", tool, in_a_line(asked));
  if (auto files = files_in(input); !files.empty()) return fmt::format("→ {}: {}", tool, in_a_line(files));
  return fmt::format("→ {}: {}", tool, in_a_line(to_text(input)));
}

std::optional<ProviderKind> prints_work(std::string_view backend) {
  auto kind = provider_kind_from(backend);
  bool is_program =
      kind == ProviderKind::claude || kind == ProviderKind::codex || kind == ProviderKind::gemini;
  return is_program ? kind : std::nullopt;
}

WorkText::WorkText(ProviderKind kind) : reader_(program_reader(kind)) {}

std::optional<std::string> WorkText::read(std::string_view line) {
  if (!trim(line).starts_with('{')) return std::string(line);
  std::string told;
  for (const auto& event : reader_->read(line))
    if (auto words = tell(event); !words.empty()) told += (told.empty() ? "" : "\n") + words;
  if (auto end = tell_end(); !end.empty()) told += (told.empty() ? "" : "\n") + end;
  return told.empty() ? std::nullopt : std::optional(std::move(told));
}

std::string WorkText::tell_end() {
  if (auto failure = reader_->failure(); failure != std::exchange(failure_, failure) && !failure.empty())
    return "✗ " + failure;
  if (!reader_->has_ended() || std::exchange(has_told_end_, true)) return {};
  auto reply = reader_->finish({}, {});
  if (!reply) return {};  // told above
  auto cost = reply->cost_usd ? fmt::format(", ${:.4f}", *reply->cost_usd) : std::string();
  return fmt::format("✓ done: {} tokens{}", reply->usage.total(), cost);
}

}  // namespace cru::minds
