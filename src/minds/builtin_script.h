#pragma once
/// The built-in script: an agent without a model. As a primary it hands work to the agents that the user's
/// words name, and tells what they found; as a subagent it searches the notes, reads the best and reports.
/// Rules only.
#include "minds/script.h"

namespace cru::minds {

ScriptedReply builtin_reply(const Request& request);

/// The text below the heading "## Summary" up to the next heading; empty if there is none.
std::string summary_of(std::string_view markdown);

}  // namespace cru::minds
