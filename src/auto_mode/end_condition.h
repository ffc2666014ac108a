#pragma once
/// EndCondition: when a conversation is to end besides the endings that always hold: after so many turns,
/// tokens or so much time, once certain words were said, or any or all of such conditions. Rules only.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace cru::auto_mode {

inline constexpr size_t max_condition_depth = 4, max_condition_parts = 16, max_condition_text = 200;
inline constexpr int64_t max_condition_number = 1'000'000'000;

/// Each of them stays met once it is met.
struct EndCondition {
  enum class Kind : uint8_t { any, all, text, turns, tokens, time };
  Kind kind = Kind::any;
  std::vector<EndCondition> parts = {};  ///< of any and all
  std::string text = {};
  int64_t number = 0;     ///< turns, tokens, or milliseconds
  bool was_said = false;  ///< of a text
  bool operator==(const EndCondition&) const = default;
};

/// How far a conversation has come.
struct Progress {
  int64_t turns = 0, tokens = 0;
  Duration elapsed{0};
};

bool is_met(const EndCondition& condition, const Progress& progress);
/// An agent said this: texts in it count as said, whatever their case.
void hear(EndCondition& condition, std::string_view words);
/// The next time, from the start of the conversation, at which a condition may be met by time alone.
std::optional<Duration> next_time(const EndCondition& condition, Duration elapsed);
/// "any of: 20 turns; the words "we agree"".
std::string in_words(const EndCondition& condition);

/// {"turns":20}, {"tokens":5000}, {"time_ms":60000}, {"text":"we agree"}, {"any":[…]}, {"all":[…]}: exactly
/// one member each. Errors: invalid_argument with the place, "until.any[1].turns".
Result<EndCondition> condition_from(const json::value& value);
json::object to_json(const EndCondition& condition);

/// As it is kept: also which texts were said. Nothing if it cannot be read.
json::object to_kept_json(const EndCondition& condition);
std::optional<EndCondition> condition_from_kept(const json::value& value);

}  // namespace cru::auto_mode
