#include "auto_mode/end_condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cru::auto_mode {
namespace {

using Kind = EndCondition::Kind;

constexpr std::array<std::string_view, 6> kind_names{"any", "all", "text", "turns", "tokens", "time_ms"};
constexpr std::string_view said_member = "said";

std::string_view name(Kind kind) { return kind_names[static_cast<size_t>(kind)]; }
bool is_group(Kind kind) { return kind == Kind::any || kind == Kind::all; }

std::unexpected<Error> refuse_condition(const std::string& place, std::string_view reason) {
  return fail(Code::invalid_argument, fmt::format("{} {}", place, reason), place,
              R"(for example {"any":[{"turns":20},{"text":"we agree"}]})");
}

/// Reads conditions, and counts them.
class ConditionReader {
 public:
  explicit ConditionReader(bool is_kept) : is_kept_(is_kept) {}

  Result<EndCondition> read(const json::value& value, const std::string& place, size_t depth) {
    if (depth > max_condition_depth)
      return refuse_condition(place, fmt::format("is nested more than {} deep", max_condition_depth));
    if (++parts_ > max_condition_parts)
      return refuse_condition(place, fmt::format("has more than {} parts in all", max_condition_parts));
    const auto* object = value.if_object();
    size_t members = object ? object->size() : 0;
    if (is_kept_ && object && object->contains(said_member)) --members;
    if (members != 1) return refuse_condition(place, "must be an object with exactly one member");
    for (const auto& member : *object) {
      if (is_kept_ && member.key() == said_member) continue;
      auto found = std::ranges::find(kind_names, std::string_view(member.key()));
      if (found == kind_names.end())
        return refuse_condition(place, fmt::format("has an unknown member \"{}\"; known: {}",
                                                   safe_for_terminal(truncate(member.key(), 40)),
                                                   "any, all, text, turns, tokens, time_ms"));
      EndCondition condition;
      condition.kind = static_cast<Kind>(found - kind_names.begin());
      condition.was_said = is_kept_ && bool_or(*object, said_member);
      if (auto taken = take(condition, member.value(), fmt::format("{}.{}", place, *found), depth); !taken)
        return fail(std::move(taken.error()));
      return condition;
    }
    return refuse_condition(place, "must be an object with exactly one member");
  }

 private:
  Result<> take(EndCondition& condition, const json::value& value, const std::string& place, size_t depth) {
    if (is_group(condition.kind)) {
      const auto* list = value.if_array();
      if (!list || list->empty()) return refuse_condition(place, "must be a list of conditions");
      for (const auto& part : *list) {
        auto read_part = read(part, fmt::format("{}[{}]", place, condition.parts.size()), depth + 1);
        if (!read_part) return fail(std::move(read_part.error()));
        condition.parts.push_back(*std::move(read_part));
      }
      return {};
    }
    if (condition.kind == Kind::text) {
      const auto* text = value.if_string();
      if (!text || trim(*text).empty() || text->size() > max_condition_text)
        return refuse_condition(place, fmt::format("must be a string of 1 to {} bytes", max_condition_text));
      condition.text = *text;
      return {};
    }
    json::error_code error;
    auto number = value.is_number() ? value.to_number<int64_t>(error) : 0;
    if (!value.is_number() || error || number < 1 || number > max_condition_number)
      return refuse_condition(place, fmt::format("must be an integer from 1 to {}", max_condition_number));
    condition.number = number;
    return {};
  }

  const bool is_kept_;
  size_t parts_ = 0;
};

json::object written(const EndCondition& condition, bool is_kept) {
  json::object out;
  if (is_group(condition.kind)) {
    json::array parts;
    for (const auto& part : condition.parts) parts.push_back(written(part, is_kept));
    out[name(condition.kind)] = std::move(parts);
  } else if (condition.kind == Kind::text) {
    out["text"] = condition.text;
    if (is_kept) out[said_member] = condition.was_said;
  } else {
    out[name(condition.kind)] = condition.number;
  }
  return out;
}

}  // namespace

bool is_met(const EndCondition& condition, const Progress& progress) {
  auto met = [&](const EndCondition& part) { return is_met(part, progress); };
  switch (condition.kind) {
    case Kind::any:
      return std::ranges::any_of(condition.parts, met);
    case Kind::all:
      return !condition.parts.empty() && std::ranges::all_of(condition.parts, met);
    case Kind::text:
      return condition.was_said;
    case Kind::turns:
      return progress.turns >= condition.number;
    case Kind::tokens:
      return progress.tokens >= condition.number;
    case Kind::time:
      return progress.elapsed >= Duration(condition.number);
  }
  return false;
}

void hear(EndCondition& condition, std::string_view words) {
  for (auto& part : condition.parts) hear(part, words);
  if (condition.kind == Kind::text && !condition.was_said)
    condition.was_said = to_lower(words).contains(to_lower(condition.text));
}

std::optional<Duration> next_time(const EndCondition& condition, Duration elapsed) {
  std::optional<Duration> next;
  for (const auto& part : condition.parts)
    if (auto time = next_time(part, elapsed); time && (!next || *time < *next)) next = time;
  if (condition.kind == Kind::time && Duration(condition.number) > elapsed) next = Duration(condition.number);
  return next;
}

std::string in_words(const EndCondition& condition) {
  switch (condition.kind) {
    case Kind::any:
    case Kind::all: {
      if (condition.parts.size() == 1) return in_words(condition.parts.front());
      std::string out = condition.kind == Kind::any ? "any of (" : "all of (";
      for (size_t i = 0; i < condition.parts.size(); ++i)
        out += (i ? "; " : "") + in_words(condition.parts[i]);
      return out + ")";
    }
    case Kind::text:
      return fmt::format("the text \"{}\"", condition.text);
    case Kind::turns:
      return condition.number == 1 ? std::string("1 turn") : fmt::format("{} turns", condition.number);
    case Kind::tokens:
      return condition.number == 1 ? std::string("1 token") : fmt::format("{} tokens", condition.number);
    case Kind::time:
      return format_duration(Duration(condition.number));
  }
  return {};
}

Result<EndCondition> condition_from(const json::value& value) {
  return ConditionReader(false).read(value, "until", 1);
}

json::object to_json(const EndCondition& condition) { return written(condition, false); }

json::object to_kept_json(const EndCondition& condition) { return written(condition, true); }

std::optional<EndCondition> condition_from_kept(const json::value& value) {
  auto condition = ConditionReader(true).read(value, "until", 1);
  if (!condition) return {};
  return *std::move(condition);
}

}  // namespace cru::auto_mode
