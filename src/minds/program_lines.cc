#include "minds/program_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "minds/usage_limit.h"

namespace cru::minds {
namespace {

constexpr size_t max_text = 4u << 20;
constexpr std::string_view ask_mark = "::cru-ask ";

class CommandReader final : public ProgramReader {
 public:
  CommandReader() { ended_ = true; }  // its exit is all that it says about its end
  std::vector<ProgramEvent> read(std::string_view line) override {
    if (line.starts_with(ask_mark))
      return {{.kind = ProgramEvent::Kind::question, .text = std::string(line.substr(ask_mark.size()))}};
    auto& text = reply_.message.text;
    if (text.size() + line.size() > max_text) return {};
    if (!text.empty()) text += "\n";
    text += line;
    return {{.text = std::string(line) + "\n"}};
  }
};

}  // namespace

std::vector<ProgramEvent> ProgramReader::say(std::string_view text) {
  if (text.empty()) return {};
  return {{.text = (std::exchange(has_spoken_, true) ? "\n\n" : "") + std::string(text)}};
}

void ProgramReader::hear(std::string_view result) {
  if (result.find("task_id") == std::string_view::npos) return;  // most are something else, and long
  auto parsed = parse_json(result);
  const auto* reply = parsed ? parsed->if_object() : nullptr;
  auto status = reply ? text_or(*reply, "status") : std::string_view();
  if (reply_.reports_heard && (status == "completed" || status == "failed" || status == "cancelled"))
    reply_.reports_heard->emplace_back(text_or(*reply, "task_id"));
}

std::optional<Duration> ProgramReader::limit_wait() const {
  if (!failure_ || failure_->first != "rate_limited") return {};
  return wait_in_words(failure_->second);
}

void ProgramReader::fail_with(std::string type, std::string message) {
  failure_ = {std::move(type), message.empty() ? "it failed without an error message"
                                               : safe_for_terminal(message.substr(0, 2000), Newlines::keep)};
}

std::vector<ProgramEvent> JsonLinesReader::read(std::string_view line) {
  auto parsed = parse_json(line);
  if (!parsed || !parsed->is_object()) return {};
  return read_object(text_or(parsed->get_object(), "type"), parsed->get_object());
}

Result<Reply> ProgramReader::finish(const std::string& how_it_ended, const std::string& trace) {
  if (failure_) return fail(mind_failure(failure_->first, failure_->second, {}, trace));
  if (!ended_) return fail(mind_failure("run_failed", how_it_ended, {}, trace));
  reply_.message.role = Message::Role::assistant;
  if (reply_.stop_reason.empty()) reply_.stop_reason = "end_turn";
  return reply_;
}

std::string type_of_words(std::string_view words) {
  struct Sign {
    std::string_view words, type;
  };
  static constexpr std::array signs = {Sign{"401", "authentication"},
                                       Sign{"Unauthorized", "authentication"},
                                       Sign{"authentication", "authentication"},
                                       Sign{"Please run /login", "authentication"},
                                       Sign{"API key", "authentication"},
                                       Sign{"rate limit", "rate_limited"},
                                       Sign{"usage limit", "rate_limited"},
                                       Sign{"hit your limit", "rate_limited"},
                                       Sign{"limit reached", "rate_limited"},
                                       Sign{"429", "rate_limited"},
                                       Sign{"quota", "rate_limited"},
                                       Sign{"verloaded", "overloaded"},
                                       Sign{"529", "overloaded"},
                                       Sign{"prompt is too long", "too_long"},
                                       Sign{"Prompt is too long", "too_long"},
                                       Sign{"context window", "too_long"},
                                       Sign{"stream disconnected", "connection"},
                                       Sign{"ECONNREFUSED", "connection"},
                                       Sign{"onnection", "connection"}};
  for (const auto& sign : signs)
    if (words.find(sign.words) != std::string_view::npos) return std::string(sign.type);
  return "run_failed";
}

std::unique_ptr<ProgramReader> command_reader() { return std::make_unique<CommandReader>(); }

std::unique_ptr<ProgramReader> program_reader(ProviderKind kind) {
  switch (kind) {
    case ProviderKind::claude:
      return claude_reader();
    case ProviderKind::codex:
      return codex_reader();
    case ProviderKind::gemini:
      return gemini_reader();
    default:
      return command_reader();
  }
}

}  // namespace cru::minds
