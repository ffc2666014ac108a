#include "crew/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cru::crew {

std::string chain_of(const Subagent& subagent) {
  return fmt::format("{}", fmt::join(subagent.parent_chain, " → "));
}

std::string attribution(const Subagent& subagent) {
  auto text = fmt::format("{}, trace {}", chain_of(subagent), subagent.trace_id);
  const auto& chain = subagent.parent_chain;
  if (!subagent.attempting.empty())
    text += fmt::format(", while {} was attempting: {}", chain.size() > 1 ? chain[chain.size() - 2] : "user",
                        subagent.attempting);
  return text;
}

}  // namespace cru::crew
