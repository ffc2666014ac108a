#pragma once
/// Policy: how long an approval waits and what happens then, as the user's own configuration says it. Rules
/// only.
#include <optional>
#include <string>
#include <vector>

#include "approvals/approval.h"

namespace cru::approvals {

/// A timeout, or none at all.
struct Timeout {
  std::optional<Duration> after = std::chrono::seconds(300);
  bool operator==(const Timeout&) const = default;
};

struct PolicyRule {
  std::string agent = {};   ///< empty: every agent
  std::string action = {};  ///< a tool, or the action that request_approval names; empty: everything
  bool is_tool = false;     ///< the action is the name of a tool: a request_approval that uses it is none
  std::optional<Timeout> timeout = {};
  std::optional<OnTimeout> on_timeout = {};
  /// The user says that this can be undone, where nobody else knows. What is known not to be stays so.
  bool can_be_undone = false;
};

struct Policy {
  Timeout timeout = {};
  OnTimeout on_timeout = OnTimeout::abort;
  std::vector<PolicyRule> rules = {};  ///< of those that fit, the first that says something counts
};

/// The request on the terms that the policy sets for it. A rule for an agent by its name approves nothing of
/// runs and sessions, which can call themselves anything: of them, it says only how long they wait. `action`
/// is the word of a request_approval, which the agent chooses: it never has the terms of a tool.
Request on_terms(const Policy& policy, Request request, const std::string& action = {});

}  // namespace cru::approvals
