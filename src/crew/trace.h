#pragma once
/// Where the work of a subagent, and its failure, belongs. Rules only.
#include "crew/chat.h"

namespace cru::crew {

/// "user → lead → tester".
std::string chain_of(const Subagent& subagent);
/// "user → lead → tester, trace ID, while lead was attempting: WORDS": where a failure belongs.
std::string attribution(const Subagent& subagent);

}  // namespace cru::crew
