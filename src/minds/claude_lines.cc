// The lines of `claude -p --output-format stream-json --include-partial-messages`.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "minds/program_lines.h"

namespace cru::minds {
namespace {

constexpr size_t max_messages = 10'000;

std::string type_of_status(int64_t status, std::string_view words) {
  if (status == 401 || status == 403) return "authentication";
  if (status == 429) return "rate_limited";
  if (status == 413) return "too_long";
  if (status >= 500) return "overloaded";
  return type_of_words(words);
}

double number_or_zero(const json::object& object, std::string_view key) {
  json::error_code error;
  const auto* value = object.if_contains(key);
  double number = value && value->is_number() ? value->to_number<double>(error) : 0;
  return !error && std::isfinite(number) && number > 0 ? number : 0;
}

class ClaudeReader final : public JsonLinesReader {
 public:
  ClaudeReader() { reply_.reports_heard.emplace(); }
  void begin_turn() override {
    before_ = reply_.usage;
    replies_before_ = replies_;
    by_message_.clear();
    failure_.reset();
    limit_until_.reset();
    ended_ = interrupted_ = false;
  }
  std::vector<ProgramEvent> read_object(std::string_view type, const json::object& data) override {
    if (auto session = text_or(data, "session_id"); !session.empty()) reply_.resume = session;
    if (type == "assistant" && !ended_) count_message(data);
    if (type == "user") read_results(data);
    // What its own subagents say is theirs.
    if (!text_or(data, "parent_tool_use_id").empty()) return {};
    if (type == "system") return read_system(data);
    if (type == "stream_event") return read_piece(data);
    if (type == "assistant") return read_message(data);
    if (type == "control_request") return read_request(data);
    if (type == "rate_limit_event") return read_limit(data);
    if (type == "result") read_result(data);
    return {};
  }

 private:
  std::vector<ProgramEvent> read_system(const json::object& data) {
    auto subtype = text_or(data, "subtype");
    if (subtype == "init") reply_.model_version = text_or(data, "model", reply_.model_version);
    if (subtype != "api_retry") return {};
    auto why = type_of_status(int_or(data, "error_status"), text_or(data, "error"));
    if (why != "rate_limited" && why != "overloaded") why = "connection";
    return {{.kind = ProgramEvent::Kind::waiting,
             .text = why,
             .wait = Duration(std::clamp<int64_t>(int_or(data, "retry_delay_ms"), 0, 86'400'000))}};
  }

  /// A piece of a message that comes whole in a moment.
  std::vector<ProgramEvent> read_piece(const json::object& data) {
    const auto* event = object_at(data, "event");
    if (!event) return {};
    auto type = text_or(*event, "type");
    if (type == "message_start") streamed_.clear();
    if (type == "content_block_start") begins_ = true;
    const auto* delta = type == "content_block_delta" ? object_at(*event, "delta") : nullptr;
    if (!delta || text_or(*delta, "type") != "text_delta") return {};
    auto text = text_or(*delta, "text");
    if (text.empty()) return {};
    streamed_ += text;
    if (std::exchange(begins_, false)) return say(text);
    return {{.text = std::string(text)}};
  }

  std::vector<ProgramEvent> read_message(const json::object& data) {
    std::vector<ProgramEvent> events;
    const auto* message = object_at(data, "message");
    const auto* content = message ? array_at(*message, "content") : nullptr;
    if (!content) return events;
    for (const auto& item : *content) {
      const auto* block = item.if_object();
      if (!block) continue;
      if (text_or(*block, "type") == "text") {
        auto text = text_or(*block, "text");
        last_text_ = text;
        if (streamed_.find(text) == std::string::npos)
          for (auto& event : say(text)) events.push_back(std::move(event));
      } else if (text_or(*block, "type") == "tool_use") {
        const auto* input = object_at(*block, "input");
        events.push_back({.kind = ProgramEvent::Kind::tool,
                          .text = std::string(text_or(*block, "name")),
                          .input = input ? *input : json::object()});
      }
    }
    return events;
  }

  void read_results(const json::object& data) {
    const auto* message = object_at(data, "message");
    const auto* content = message ? array_at(*message, "content") : nullptr;
    for (const auto& item : content ? *content : json::array()) {
      const auto* block = item.if_object();
      if (!block || text_or(*block, "type") != "tool_result" || bool_or(*block, "is_error")) continue;
      hear(text_or(*block, "content"));
      const auto* parts = array_at(*block, "content");
      for (const auto& part : parts ? *parts : json::array())
        if (part.is_object()) hear(text_or(part.get_object(), "text"));
    }
  }

  static std::vector<ProgramEvent> read_request(const json::object& data) {
    const auto* request = object_at(data, "request");
    if (!request || text_or(*request, "subtype") != "can_use_tool") return {};
    return {{.kind = ProgramEvent::Kind::question, .text = std::string(text_or(*request, "tool_name"))}};
  }

  std::vector<ProgramEvent> read_limit(const json::object& data) {
    const auto* limit = object_at(data, "rate_limit_info");
    if (!limit || text_or(*limit, "status") != "rejected") return {};
    auto seconds = std::clamp<int64_t>(int_or(*limit, "resetsAt"), 0, int64_t(1) << 40);
    if (seconds > 0) limit_until_ = from_millis(seconds * 1000);
    return {
        {.kind = ProgramEvent::Kind::waiting, .text = "rate_limited", .until = from_millis(seconds * 1000)}};
  }

  void read_result(const json::object& data) {
    ended_ = true;
    failure_.reset();
    auto subtype = text_or(data, "subtype");
    auto result = text_or(data, "result");
    reply_.message.text = result.empty() ? last_text_ : std::string(result);
    reply_.stop_reason = text_or(data, "stop_reason");
    count(data);
    replies_ =
        std::max(replies_, replies_before_ + std::clamp<int64_t>(int_or(data, "num_turns"), 1, max_messages));
    interrupted_ =
        subtype == "error_during_execution" && text_or(data, "terminal_reason").starts_with("aborted");
    if (subtype == "error_max_turns" && !reply_.message.text.empty()) {
      reply_.stop_reason = "max_turns";
    } else if (bool_or(data, "is_error") || subtype != "success") {
      auto words = result.empty() ? first_error(data, subtype) : std::string(result);
      auto type = type_of_status(int_or(data, "api_error_status"), words);
      // Its words name the limit in many ways; the event before them is plain.
      fail_with(limit_until_ ? "rate_limited" : type, words);
    }
  }

  static std::string first_error(const json::object& data, std::string_view subtype) {
    const auto* errors = array_at(data, "errors");
    if (errors && !errors->empty() && errors->front().is_string())
      return std::string(errors->front().get_string());
    return fmt::format("claude failed with {}", subtype.empty() ? "an error" : subtype);
  }

  /// `usage` leaves its subagents out; `modelUsage` does not.
  void count(const json::object& data) {
    const auto* models = object_at(data, "modelUsage");
    auto counted = reply_.usage;
    reply_.usage = {};
    if (models) {
      for (const auto& member : *models) {
        const auto* used = member.value().if_object();
        if (!used) continue;
        reply_.usage +=
            {tokens_or(*used, "inputTokens"), tokens_or(*used, "outputTokens"),
             tokens_or(*used, "cacheReadInputTokens"), tokens_or(*used, "cacheCreationInputTokens")};
      }
    } else if (const auto* usage = object_at(data, "usage")) {
      reply_.usage = usage_of(*usage);
    }
    // What its messages have told was spent, whatever its sum leaves out: of a turn that was interrupted it
    // may.
    if (reply_.usage.total() < counted.total()) reply_.usage = counted;
    if (data.contains("total_cost_usd")) reply_.cost_usd = number_or_zero(data, "total_cost_usd");
  }

  /// Its sum comes with the result. One that is killed before has cost what its messages tell: each comes in
  /// pieces, and the last piece counts.
  void count_message(const json::object& data) {
    const auto* message = object_at(data, "message");
    const auto* usage = message ? object_at(*message, "usage") : nullptr;
    if (!usage || by_message_.size() >= max_messages) return;
    by_message_[std::string(text_or(*message, "id"))] = usage_of(*usage);
    reply_.usage = before_;
    for (const auto& [id, used] : by_message_) reply_.usage += used;
    replies_ = replies_before_ + static_cast<int64_t>(by_message_.size());
  }

  static Usage usage_of(const json::object& usage) {
    return {tokens_or(usage, "input_tokens"), tokens_or(usage, "output_tokens"),
            tokens_or(usage, "cache_read_input_tokens"), tokens_or(usage, "cache_creation_input_tokens")};
  }

  std::map<std::string, Usage> by_message_;
  Usage before_;  ///< of the turns before this one, of which `modelUsage` has the sum
  int64_t replies_before_ = 0;
  std::string streamed_;  ///< of the message that is coming
  std::string last_text_;
  bool begins_ = true;
};

}  // namespace

std::unique_ptr<ProgramReader> claude_reader() { return std::make_unique<ClaudeReader>(); }

}  // namespace cru::minds
