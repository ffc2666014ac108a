#pragma once
/// What the adapters share among themselves. Rules only.
#include "runs/adapters/adapter.h"

namespace cru::runs {

const Adapter& claude_adapter();
/// The question in a line of the line protocol, if it is one.
std::optional<Asked> read_ask_line(int64_t seq, std::string_view line);
/// The answer as the line protocol gives it: one line, whatever was typed.
std::string to_answer_line(std::string_view answer);

}  // namespace cru::runs
