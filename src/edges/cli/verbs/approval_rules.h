#pragma once
/// What the verbs share that make rules about approvals.
#include "base/json.h"
#include "edges/cli/core/command.h"

namespace cru::cli {

Flag yes_to_rule_flag();
/// Shows what the rule would cover and asks; true if it may be made. `input` has id, verdict, for and covers.
/// Errors: the daemon's; invalid_argument where nobody can be asked and --yes was not given.
Result<bool> confirm_rule(Context& context, const Args& args, const json::object& input);
void tell_rule(const Context& context, const json::object& rule);

}  // namespace cru::cli
