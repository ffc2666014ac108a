#include "autonomy/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace cru::autonomy {
namespace {

constexpr size_t max_reply_bytes = 256 * 1024;  ///< of a mind; more is no decision
constexpr size_t max_id_bytes = 128;
constexpr int64_t max_coordinate = 63;
constexpr std::string_view fence = "```";

constexpr std::array<std::string_view, 5> actions{"move", "wait", "speak", "collaborate", "complete_task"};

std::unexpected<Error> wrong(std::string_view field, std::string_view reason) {
  return fail(Code::invalid_argument, fmt::format("{}: {}", field, reason), std::string(field));
}

/// What stands between the fences of a block: `after` its first mark the word "json", or none, and then the
/// decision.
Result<std::string_view> without_label(std::string_view after) {
  after = trim(after);
  auto end = std::min(after.find_first_of("{ \t\r\n"), after.size());
  auto label = after.substr(0, end);
  bool is_json =
      std::ranges::equal(label, std::string_view("json"), [](char a, char b) { return (a | 0x20) == b; });
  if (!label.empty() && !is_json) return fail(Code::invalid_argument, "a fenced block that is not JSON");
  return trim(after.substr(end));
}

/// The text of the only fenced block; `words` itself if there is none.
Result<std::string_view> without_fence(std::string_view words) {
  words = trim(words);
  // A mark counts where a line begins with it: within a JSON text there is none such.
  std::array<size_t, 2> marks{};
  size_t found = 0;
  for (size_t line = 0; line < words.size();) {
    auto end = std::min(words.find('\n', line), words.size());
    auto start = std::min(words.find_first_not_of(" \t", line), end);
    if (words.substr(start).starts_with(fence) && found++ < marks.size()) marks[found - 1] = start;
    line = end + 1;
  }
  if (found == 0) return words;
  if (found > marks.size()) return fail(Code::invalid_argument, "more than one fenced block");
  auto inside = words.substr(marks[0] + fence.size());
  if (found == 2) {
    auto rest = words.substr(marks[1] + fence.size());
    if (!trim(rest.substr(0, rest.find('\n'))).empty())
      return fail(Code::invalid_argument, "a fenced block that does not end");
    return without_label(words.substr(marks[0] + fence.size(), marks[1] - marks[0] - fence.size()));
  }
  // One mark at the beginning of a line: the block ends with its line, which ends the words.
  if (!inside.ends_with(fence)) return fail(Code::invalid_argument, "a fenced block that does not end");
  return without_label(inside.substr(0, inside.size() - fence.size()));
}

/// Reads the members of one action, and notes the first that is wrong.
class Members {
 public:
  explicit Members(const json::object& object) : object_(object) {}

  /// Null where it is absent, or null.
  const json::value* find(std::string_view field) const {
    const auto* value = object_.if_contains(field);
    return value && !value->is_null() ? value : nullptr;
  }

  std::string text(std::string_view field, size_t max_bytes, bool is_required) {
    const auto* value = find(field);
    if (!value) return is_required ? say(field, "is missing") : std::string();
    if (!value->is_string()) return say(field, "must be a string");
    std::string_view text = value->get_string();
    if (is_required && trim(text).empty()) return say(field, "must not be empty");
    return cut_words(text, max_bytes);
  }
  std::string id(std::string_view field, bool is_required) {
    auto id = std::string(trim(text(field, max_reply_bytes, is_required)));
    return id.size() > max_id_bytes ? say(field, fmt::format("is longer than {} bytes", max_id_bytes)) : id;
  }
  int16_t coordinate(std::string_view field) {
    const auto* value = find(field);
    if (!value) return say(field, "is missing"), int16_t{0};
    const auto* number = value->if_int64();
    if (number && *number >= 0 && *number <= max_coordinate) return static_cast<int16_t>(*number);
    return say(field, fmt::format("must be an integer from 0 to {}", max_coordinate)), int16_t{0};
  }

  /// `decision`, unless something was wrong.
  Result<Decision> finish(Decision decision) const {
    if (trouble_) return fail(*trouble_);
    return decision;
  }

 private:
  std::string say(std::string_view field, std::string_view reason) {
    if (!trouble_) trouble_ = wrong(field, reason).error();
    return {};
  }

  const json::object& object_;
  std::optional<Error> trouble_;
};

Result<Decision> decision_from(const json::object& object) {
  Members members(object);
  const auto* named = object.if_contains("action");
  if (!named) return wrong("action", "is missing");
  if (!named->is_string()) return wrong("action", "must be a string");
  std::string_view action = named->get_string();
  if (action == "move") {
    Move move{{members.coordinate("x"), members.coordinate("y")},
              members.text("reason", max_reason_bytes, false)};
    return members.finish(std::move(move));
  }
  if (action == "wait") return members.finish(Wait{members.text("reason", max_reason_bytes, false)});
  if (action == "speak") {
    Speak speak{members.text("content", max_content_bytes, true), members.id("recipient", false)};
    return members.finish(std::move(speak));
  }
  if (action == "collaborate") {
    Collaborate collaborate{members.id("with", true), members.text("proposal", max_content_bytes, true)};
    return members.finish(std::move(collaborate));
  }
  if (action == "complete_task") {
    CompleteTask complete{members.id("task_id", true), members.text("result", max_content_bytes, false)};
    return members.finish(std::move(complete));
  }
  return wrong("action",
               fmt::format("\"{}\" is not one of {}", cut_words(action, 64), fmt::join(actions, ", ")));
}

Result<Decision> parse(std::string_view words) {
  if (words.size() > max_reply_bytes)
    return fail(Code::invalid_argument, fmt::format("longer than {} bytes", max_reply_bytes));
  auto text = without_fence(words);
  if (!text) return fail(text.error());
  if (text->empty()) return fail(Code::invalid_argument, "an empty reply");
  auto value = parse_json(*text);
  if (!value) return fail(value.error());
  const auto* object = value->if_object();
  if (!object) return fail(Code::invalid_argument, "not a JSON object");
  return decision_from(*object);
}

json::object members_of(const Move& move) {
  return {{"x", move.to.col}, {"y", move.to.row}, {"reason", move.reason}};
}
json::object members_of(const Wait& wait) { return {{"reason", wait.reason}}; }
json::object members_of(const Speak& speak) {
  json::object out{{"content", speak.content}};
  if (!speak.recipient.empty()) out["recipient"] = speak.recipient;
  return out;
}
json::object members_of(const Collaborate& collaborate) {
  return {{"with", collaborate.with}, {"proposal", collaborate.proposal}};
}
json::object members_of(const CompleteTask& complete) {
  return {{"task_id", complete.task_id}, {"result", complete.result}};
}

}  // namespace

std::string cut_words(std::string_view text, size_t max_bytes) {
  return cut_with_ellipsis(text, max_bytes, " […]");
}

std::string_view action(const Decision& decision) { return actions[decision.index()]; }

json::object to_json(const Decision& decision) {
  json::object out{{"action", action(decision)}};
  for (auto& member : std::visit([](const auto& what) { return members_of(what); }, decision))
    out.emplace(member.key(), std::move(member.value()));
  return out;
}

Decision read_decision(std::string_view words) {
  auto decision = parse(words);
  if (decision) return std::move(*decision);
  return Wait{cut_words(decision.error().message, max_reason_bytes), true};
}

}  // namespace cru::autonomy
