#include <algorithm>

#include "base/text.h"
#include "runs/adapters/adapters.h"

namespace cru::runs {
namespace {

class CommandAdapter final : public Adapter {
 public:
  Result<Launch> launch(const std::vector<std::string>& argv, const std::string&) const override {
    if (argv.empty() || argv.front().empty())
      return fail(Code::invalid_argument, "a command is required", "argv",
                  "for example: cru run -- make test");
    return Launch{argv, true};
  }
  std::optional<Asked> read_line(int64_t seq, std::string_view line) const override {
    return read_ask_line(seq, line);
  }
  std::string reply(std::string_view, std::string_view answer) const override {
    return to_answer_line(answer);
  }
  std::string_view mark() const override { return ask_mark; }
};

int64_t count_in(const json::object& counts, std::string_view key) {
  return std::clamp<int64_t>(int_or(counts, key), 0, max_tokens);
}

/// Never empty, which would mean that it did not fail.
std::string failure_in(const json::object& error) {
  auto words = text_or(error, "message");
  return cut_with_ellipsis(words.empty() ? "it failed without saying why" : words, 2000);
}

/// Cached tokens are among the input's. A turn tells those of all of its thread.
std::optional<Report> codex_report(std::string_view line) {
  if (auto failed = object_of_type(line, "turn.failed")) {
    const auto* error = object_at(*failed, "error");
    return Report{.tokens = {}, .cost_usd = {}, .failure = failure_in(error ? *error : json::object())};
  }
  auto completed = object_of_type(line, "turn.completed");
  const auto* usage = completed ? object_at(*completed, "usage") : nullptr;
  if (!usage) return {};
  return Report{.tokens = count_in(*usage, "input_tokens") + count_in(*usage, "output_tokens"),
                .cost_usd = {},
                .failure = {}};
}

std::optional<Report> gemini_report(std::string_view line) {
  auto result = object_of_type(line, "result");
  if (!result) return {};
  Report report;
  if (const auto* stats = object_at(*result, "stats"))
    report.tokens = count_in(*stats, "input_tokens") + count_in(*stats, "output_tokens");
  if (const auto* error = object_at(*result, "error"))
    report.failure = failure_in(*error);
  else if (text_or(*result, "status") == "error")
    report.failure = failure_in({});
  return report;
}

/// codex exec and gemini take their task as the last argument and never read stdin.
class OneShotAdapter final : public Adapter {
 public:
  using ReadReport = std::optional<Report> (*)(std::string_view line);
  /// `task_flag` stands right before the task; empty for none.
  OneShotAdapter(std::vector<std::string> argv, std::string task_flag, ReadReport report)
      : argv_(std::move(argv)), task_flag_(std::move(task_flag)), report_(report) {}
  Result<Launch> launch(const std::vector<std::string>& argv, const std::string& task) const override {
    auto words = argv_;
    words.insert(words.end(), argv.begin(), argv.end());
    if (task.empty()) return fail(Code::invalid_argument, "a task is required", "task");
    if (!task_flag_.empty()) words.push_back(task_flag_);
    words.push_back(task);
    return Launch{std::move(words), false};
  }
  std::optional<Report> read_report(std::string_view line) const override { return report_(line); }
  std::optional<Asked> read_line(int64_t seq, std::string_view line) const override {
    return read_ask_line(seq, line);
  }
  std::string reply(std::string_view, std::string_view answer) const override {
    return to_answer_line(answer);
  }
  std::string_view mark() const override { return ask_mark; }

 private:
  std::vector<std::string> argv_;
  std::string task_flag_;
  ReadReport report_;
};

}  // namespace

void take_off_sandbox(std::string_view backend, std::vector<std::string>& argv) {
  if (backend != "codex" || argv.size() < 2) return;
  for (const auto& word : argv)
    if (word == "--sandbox" || word == "-s" || word == "--full-auto" || word.starts_with("--sandbox=") ||
        word.starts_with("--dangerously-bypass"))
      return;
  argv.insert(argv.begin() + 2, {"--sandbox", "danger-full-access"});
}

std::optional<Asked> read_ask_line(int64_t seq, std::string_view line) {
  if (!line.starts_with(ask_mark)) return {};
  auto rest = line.substr(ask_mark.size());
  Asked asked{.key = std::to_string(seq), .prompt = {}, .options = {}, .reply_context = R"({"form":"line"})"};
  auto parsed = parse_json(rest);
  if (!parsed || !parsed->is_object()) {
    // Not JSON: the rest of the line is the question itself.
    asked.prompt = rest;
  } else {
    const auto& object = parsed->get_object();
    asked.prompt = text_or(object, "prompt");
    if (const auto* options = array_at(object, "options"))
      for (const auto& option : *options)
        if (option.is_string() && asked.options.size() < 64) asked.options.emplace_back(option.get_string());
  }
  if (asked.prompt.empty()) return {};
  return asked;
}

std::optional<json::object> object_of_type(std::string_view line, std::string_view type) {
  if (line.find(type) == std::string_view::npos) return {};
  auto parsed = parse_json(line);
  if (!parsed || !parsed->is_object() || text_or(parsed->get_object(), "type") != type) return {};
  return std::move(parsed->get_object());
}

std::string to_answer_line(std::string_view answer) {
  std::string line;
  for (size_t at = 0; at < answer.size(); ++at) {
    bool ends_line = answer[at] == '\n' || answer[at] == '\r';
    if (answer.substr(at).starts_with("\r\n")) ++at;
    line += ends_line ? ' ' : answer[at];
  }
  return line + "\n";
}

const Adapter& command_adapter() {
  static const CommandAdapter adapter;
  return adapter;
}

const Adapter* find_adapter(std::string_view backend) {
  static const OneShotAdapter codex({"codex", "exec", "--json"}, "", codex_report);
  static const OneShotAdapter gemini({"gemini", "--output-format", "stream-json"}, "--prompt", gemini_report);
  if (backend == "command") return &command_adapter();
  if (backend == "claude") return &claude_adapter();
  if (backend == "codex") return &codex;
  if (backend == "gemini") return &gemini;
  return nullptr;
}

}  // namespace cru::runs
