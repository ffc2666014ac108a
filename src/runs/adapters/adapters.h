#pragma once
/// What the adapters share among themselves. Rules only.
#include "base/json.h"
#include "runs/adapters/adapter.h"

namespace cru::runs {

const Adapter& claude_adapter();
/// More than this of one kind is nonsense, and sums of it stay sums.
inline constexpr int64_t max_tokens = 1'000'000'000'000;
/// The object in a line, if its `type` is this. Looks at the text first: most lines are of other types.
std::optional<json::object> object_of_type(std::string_view line, std::string_view type);
/// The question in a line of the line protocol, if it is one.
std::optional<Asked> read_ask_line(int64_t seq, std::string_view line);
/// The answer as the line protocol gives it: one line, whatever was typed.
std::string to_answer_line(std::string_view answer);

}  // namespace cru::runs
