#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "inbox/parts.h"
#include "runs/adapters/adapters.h"

namespace cru::runs {
namespace {

std::vector<std::string> labels_of(const json::object& question) {
  std::vector<std::string> labels;
  if (const auto* options = array_at(question, "options"))
    for (const auto& option : *options)
      if (const auto* object = option.if_object()) labels.emplace_back(text_or(*object, "label"));
  return labels;
}

inbox::Part part_of(const json::object& question) {
  inbox::Part part{.prompt = std::string(text_or(question, "question")),
                   .options = labels_of(question),
                   .takes_several = bool_or(question, "multiSelect")};
  if (const auto* options = array_at(question, "options"))
    for (const auto& option : *options)
      if (const auto* object = option.if_object())
        part.descriptions.emplace_back(text_or(*object, "description"));
  return part;
}

/// The questions that are asked at once; of a single one, the labels are its options.
std::vector<inbox::Part> read_questions(const json::object& input, Asked& asked) {
  std::vector<inbox::Part> parts;
  const auto* questions = array_at(input, "questions");
  for (const auto& item : questions ? *questions : json::array())
    if (const auto* question = item.if_object()) parts.push_back(part_of(*question));
  asked.prompt = inbox::prompt_of(parts);
  if (parts.size() == 1) asked.options = parts[0].options;
  return parts;
}

/// "Bash: touch file" says more than a JSON dump; the whole input stays in the reply's context.
std::string describe_tool(std::string_view tool, const json::object& input) {
  for (auto key : {"command", "file_path", "path", "url", "pattern", "query"})
    if (auto text = text_or(input, key); !text.empty()) return fmt::format("Allow {}: {}", tool, text);
  return fmt::format("Allow {}: {}", tool, cut_with_ellipsis(to_text(input), 2000));
}

/// One answer a question: a JSON object from question to answer, or one line for each in order.
json::object to_answers(const json::array& questions, std::string_view answer) {
  json::object answers;
  if (auto parsed = parse_json(answer); parsed && parsed->is_object()) return parsed->get_object();
  for (const auto& item : questions) {
    const auto* question = item.if_object();
    if (!question) continue;
    auto end = questions.size() > 1 ? answer.find('\n') : std::string_view::npos;
    answers[text_or(*question, "question")] = trim(answer.substr(0, end));
    answer = end == std::string_view::npos ? std::string_view() : answer.substr(end + 1);
  }
  return answers;
}

int64_t sum_of(const json::object& counts, std::initializer_list<std::string_view> keys) {
  int64_t sum = 0;
  for (auto key : keys) sum += std::clamp<int64_t>(int_or(counts, key), 0, max_tokens);
  return sum;
}

/// `usage` leaves its subagents out; `modelUsage` does not.
std::optional<int64_t> tokens_in(const json::object& result) {
  if (const auto* models = object_at(result, "modelUsage"); models && !models->empty()) {
    int64_t sum = 0;
    for (const auto& model : *models)
      if (const auto* counts = model.value().if_object())
        sum += sum_of(*counts,
                      {"inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"});
    return sum;
  }
  const auto* usage = object_at(result, "usage");
  if (!usage) return {};
  return sum_of(*usage,
                {"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"});
}

std::optional<double> cost_in(const json::object& result) {
  const auto* cost = result.if_contains("total_cost_usd");
  json::error_code error;
  double dollars = cost && cost->is_number() ? cost->to_number<double>(error) : -1;
  return !error && std::isfinite(dollars) && dollars >= 0 ? std::optional(dollars) : std::nullopt;
}

constexpr std::string_view settings_flag = "--settings";
constexpr const char* stays = "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR";

/// The settings of the command line, of which the last count: where they stand, if they are JSON.
struct Settings {
  size_t at = 0;  ///< 0: there are none
  std::optional<json::object> given = {};
};
Settings settings_in(const std::vector<std::string>& argv) {
  Settings found;
  for (size_t i = 1; i < argv.size() && argv[i] != "--"; ++i) {
    if (argv[i].starts_with("--settings=")) found = {i, {}};
    if (argv[i] != settings_flag || i + 1 == argv.size()) continue;
    auto parsed = parse_json(argv[i + 1]);
    found = {i, {}};
    if (parsed && parsed->is_object()) found.given = parsed->get_object();
    ++i;
  }
  return found;
}

json::object& object_in(json::object& parent, const char* key) {
  auto& value = parent[key];
  if (!value.is_object()) value = json::object();
  return value.get_object();
}

/// The shell goes back to the folder of the run after each command, whatever the settings of the project say:
/// those of the command line go over them. A file of settings that somebody names there is left as it is.
void keep_folder(std::vector<std::string>& argv) {
  auto [at, given] = settings_in(argv);
  if (at > 0 && !given) return;
  auto settings = given.value_or(json::object());
  object_in(settings, "env")[stays] = "1";
  auto& denied = object_in(settings, "permissions")["deny"];
  if (!denied.is_array()) denied = json::array();
  denied.get_array().push_back("EnterWorktree");
  if (at > 0)
    argv[at + 1] = to_text(settings);
  else
    argv.insert(argv.begin() + 1, {std::string(settings_flag), to_text(settings)});
}

class ClaudeAdapter final : public Adapter {
 public:
  Result<Launch> launch(const std::vector<std::string>& argv, const std::string& task) const override {
    if (task.empty()) return fail(Code::invalid_argument, "a task is required", "task");
    std::vector<std::string> words{
        "claude",         "-p",          "--output-format",          "stream-json", "--verbose",
        "--input-format", "stream-json", "--permission-prompt-tool", "stdio"};
    words.insert(words.end(), argv.begin(), argv.end());
    keep_folder(words);
    return Launch{std::move(words), true};
  }

  std::string first_input(const std::string& task) const override {
    json::object message{{"type", "user"},
                         {"message", {{"role", "user"}, {"content", task}}},
                         {"parent_tool_use_id", nullptr},
                         {"session_id", ""}};
    return to_text(message) + "\n";
  }

  std::string interruption(const std::string& key) const override {
    json::object request{
        {"type", "control_request"}, {"request_id", "cru-" + key}, {"request", {{"subtype", "interrupt"}}}};
    return to_text(request) + "\n";
  }

  bool is_last_line(std::string_view line) const override {
    return object_of_type(line, "result").has_value();
  }

  /// Never empty, which would mean that it did not fail.
  static std::string_view why_in(const json::object& result) {
    if (auto words = text_or(result, "result"); !words.empty()) return words;
    auto kind = text_or(result, "subtype");  // error_max_turns
    return kind.starts_with("error") ? kind : "it failed without saying why";
  }

  std::optional<Report> read_report(std::string_view line) const override {
    auto result = object_of_type(line, "result");
    if (!result) return {};
    Report report{.tokens = tokens_in(*result), .cost_usd = cost_in(*result), .failure = {}};
    if (bool_or(*result, "is_error")) report.failure = cut_with_ellipsis(why_in(*result), 2000);
    return report;
  }

  std::optional<Asked> read_line(int64_t seq, std::string_view line) const override {
    if (line.find("\"control_request\"") == std::string_view::npos) return read_ask_line(seq, line);
    auto parsed = parse_json(line);
    if (!parsed || !parsed->is_object() || text_or(parsed->get_object(), "type") != "control_request")
      return {};
    const auto* request = object_at(parsed->get_object(), "request");
    if (!request || text_or(*request, "subtype") != "can_use_tool") return {};
    const auto* input = object_at(*request, "input");
    auto request_id = text_or(parsed->get_object(), "request_id");
    auto tool = text_or(*request, "tool_name");
    if (!input || request_id.empty()) return {};
    Asked asked{.key = std::string(request_id), .prompt = {}, .options = {}, .reply_context = {}};
    json::object context{{"form", "claude"}, {"request_id", request_id}, {"tool", tool}, {"input", *input}};
    // Its subagents may work in folders of their own.
    if (auto agent = text_or(*request, "agent_id"); !agent.empty()) context["agent_id"] = agent;
    if (tool == "AskUserQuestion") {
      context[inbox::parts_field] = inbox::to_json(read_questions(*input, asked));
    } else {
      asked.kind = inbox::Kind::permission;
      asked.prompt = describe_tool(tool, *input);
      asked.options = {"allow", "deny"};
    }
    asked.reply_context = to_text(context);
    return asked;
  }

  std::string reply(std::string_view reply_context, std::string_view answer) const override {
    auto parsed = parse_json(reply_context);
    if (!parsed || !parsed->is_object() || text_or(parsed->get_object(), "form") != "claude")
      return to_answer_line(answer);
    const auto& context = parsed->get_object();
    json::object input = object_at(context, "input") ? *object_at(context, "input") : json::object();
    json::object behavior;
    if (text_or(context, "tool") == "AskUserQuestion") {
      const auto* questions = array_at(input, "questions");
      input["answers"] = to_answers(questions ? *questions : json::array(), answer);
      behavior = {{"behavior", "allow"}, {"updatedInput", std::move(input)}};
    } else if (answer == "allow") {
      behavior = {{"behavior", "allow"}, {"updatedInput", std::move(input)}};
    } else {
      auto reason = answer.starts_with("deny:") ? answer.substr(5) : std::string_view();
      while (reason.starts_with(' ')) reason.remove_prefix(1);
      behavior = {{"behavior", "deny"}, {"message", reason.empty() ? "denied by the user" : reason}};
    }
    json::object response{{"subtype", "success"},
                          {"request_id", text_or(context, "request_id")},
                          {"response", std::move(behavior)}};
    return to_text(json::object{{"type", "control_response"}, {"response", std::move(response)}}) + "\n";
  }

  std::string_view mark() const override { return {}; }
};

}  // namespace

bool keeps_folder(const std::vector<std::string>& argv) {
  auto given = settings_in(argv).given;
  const auto* env = given ? object_at(*given, "env") : nullptr;
  bool has_worktree = std::ranges::any_of(
      argv, [](const std::string& word) { return word.starts_with("--worktree") || word == "-w"; });
  return env && text_or(*env, stays) == "1" && !has_worktree;
}

const Adapter& claude_adapter() {
  static const ClaudeAdapter adapter;
  return adapter;
}

}  // namespace cru::runs
