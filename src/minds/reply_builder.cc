#include "minds/reply_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "minds/usage_limit.h"

namespace cru::minds {
namespace {

constexpr Duration max_wait = longest_short_limit;
constexpr size_t max_quoted = 500;

/// A provider's own words, as an error may quote them.
std::string quote(std::string_view words) {
  auto text = safe_for_terminal(words.substr(0, max_quoted));
  return words.size() > max_quoted ? text + "…" : text;
}

struct ErrorWords {
  std::string type, message;
};

/// {"error":{"type","code","message"}}, {"error":"…"} or {"message":"…"}, as the servers have it.
ErrorWords words_of(std::string_view body) {
  auto parsed = parse_json(body);
  if (!parsed || !parsed->is_object()) return {};
  const auto& top = parsed->get_object();
  const auto* error = object_at(top, "error");
  if (!error) return {{}, std::string(text_or(top, "error", text_or(top, "message")))};
  auto code = text_or(*error, "code");
  return {std::string(code.empty() ? text_or(*error, "type") : code),
          std::string(text_or(*error, "message"))};
}

bool is_too_long(std::string_view type, std::string_view message) {
  return type == "context_length_exceeded" || type == "request_too_large" ||
         message.find("prompt is too long") != std::string_view::npos ||
         message.find("maximum context length") != std::string_view::npos;
}

std::string type_of_status(int status) {
  switch (status) {
    case 401:
    case 403:
      return "authentication";
    case 408:
      return "timed_out";
    case 409:
      return "overloaded";
    case 413:
      return "too_long";
    case 429:
      return "rate_limited";
    default:
      return status >= 500 ? "overloaded" : "invalid_request";
  }
}

}  // namespace

std::optional<Time> parse_http_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || !text.ends_with(" GMT")) return {};
  const auto* month = std::ranges::find(months, text.substr(8, 3));
  if (month == months.end()) return {};
  return parse_rfc3339(fmt::format("{}-{:02}-{}T{}Z", text.substr(12, 4), month - months.begin() + 1,
                                   text.substr(5, 2), text.substr(17, 8)));
}

Result<std::vector<ToolUse>> finish_uses(const std::vector<PartialUse>& uses, bool was_cut) {
  std::vector<ToolUse> whole;
  for (const auto& use : uses) {
    auto input = is_blank(use.input) ? Result<json::value>(json::object()) : parse_json(use.input);
    if (input && input->is_object() && !use.name.empty()) {
      whole.push_back({use.id, use.name, std::move(input->get_object())});
    } else if (!was_cut) {
      return fail(mind_failure("invalid_reply", fmt::format("the input of the tool {} is not a JSON object",
                                                            safe_for_terminal(use.name.substr(0, 64)))));
    }
  }
  return whole;
}

json::object schema_of(const ToolSpec& tool) {
  auto schema = tool.input_schema;
  if (!schema.contains("type")) schema["type"] = "object";
  return schema;
}

bool may_pass(const Error& error) {
  auto type = failure_type(error);
  return type == "rate_limited" || type == "overloaded" || type == "connection" || type == "timed_out";
}

Trouble trouble_from(const std::string& provider, std::string_view type, std::string_view message) {
  std::string kind = "invalid_request";
  if (is_too_long(type, message)) kind = "too_long";
  if (type == "overloaded_error" || type == "api_error" || type == "server_error") kind = "overloaded";
  if (type == "rate_limit_error" || type == "rate_limit_exceeded") kind = "rate_limited";
  if (type == "timeout_error") kind = "timed_out";
  if (type == "authentication_error" || type == "permission_error" || type == "invalid_api_key")
    kind = "authentication";
  auto error = mind_failure(kind, fmt::format("{}: {}", provider, message.empty() ? type : quote(message)));
  auto may_retry = may_pass(error);
  return {std::move(error), may_retry};
}

Trouble trouble_from_status(const std::string& provider, int status, std::string_view body,
                            std::string_view retry_after, Time now) {
  auto words = words_of(body);
  auto kind = type_of_status(status);
  if (status == 400 && is_too_long(words.type, words.message)) kind = "too_long";
  auto said = words.message.empty() ? std::string() : ": " + quote(words.message);
  // A refusal of the key may quote it.
  if (kind == "authentication") said.clear();
  auto hint = kind == "authentication" ? "check the key and its permissions: cru doctor"
              : status == 404          ? "check the model's id and base_url"
                                       : "";
  Trouble trouble{mind_failure(kind, fmt::format("{} answered {}{}", provider, status, said), hint)};
  // A quota that is spent comes as 429 too, and does not pass.
  trouble.may_retry = may_pass(trouble.error) && words.type != "insufficient_quota";
  if (trouble.may_retry) trouble.retry_after = parse_retry_after(retry_after, now);
  return trouble;
}

std::optional<Duration> parse_retry_after(std::string_view text, Time now) {
  double seconds = 0;
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (!text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) {
    if (!(seconds >= 0)) return {};
    return seconds >= 120 ? max_wait : Duration(static_cast<int64_t>(seconds * 1000));
  }
  auto date = parse_http_date(text);
  if (!date) return {};
  return std::clamp(std::chrono::duration_cast<Duration>(*date - now), Duration(0), max_wait);
}

Duration back_off(int64_t attempt, std::optional<Duration> asked, uint64_t chance) {
  if (asked) return *asked;
  auto whole =
      std::min(Duration(500) * (int64_t(1) << std::clamp<int64_t>(attempt, 0, 10)), Duration(30'000));
  auto half = whole / 2;
  return half + Duration(static_cast<int64_t>(chance % static_cast<uint64_t>(half.count() + 1)));
}

}  // namespace cru::minds
