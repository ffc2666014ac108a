#include "approvals/policy.h"

namespace cru::approvals {

Request on_terms(const Policy& policy, Request request, const std::string& action) {
  std::optional<Timeout> timeout;
  std::optional<OnTimeout> on_timeout;
  bool can_be_undone = false;
  // Whoever is of no chat may have said any name: what a rule gives to a name is not given to it.
  bool is_known = !request.chat_id.empty() || request.via == Via::tool;
  bool is_timeout_said = false;
  for (const auto& rule : policy.rules) {
    bool is_agent = rule.agent.empty() || rule.agent == request.agent;
    bool is_action = rule.action.empty() || rule.action == request.proposal.tool ||
                     (!action.empty() && !rule.is_tool && rule.action == action);
    if (!is_agent || !is_action) continue;
    bool is_said = !rule.agent.empty() && !is_known;
    if (!timeout && rule.timeout) timeout = rule.timeout, is_timeout_said = is_said;
    if (is_said) continue;
    if (!on_timeout) on_timeout = rule.on_timeout;
    can_be_undone = can_be_undone || rule.can_be_undone;
  }
  // How long it waits is harmless only where nothing is approved by that.
  if (is_timeout_said && on_timeout.value_or(policy.on_timeout) == OnTimeout::approve) timeout.reset();
  request.timeout = timeout.value_or(policy.timeout).after;
  request.on_timeout = on_timeout.value_or(policy.on_timeout);
  if (can_be_undone && request.proposal.undo == Undo::unknown) {
    request.proposal.undo = Undo::reversible;
    request.proposal.undo_why = "your own configuration says so";
  }
  return request;
}

}  // namespace cru::approvals
