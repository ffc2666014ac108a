#pragma once
/// What the verbs of questions, approvals and rules have in common.
#include "base/json.h"
#include "edges/cli/core/command.h"

namespace cru::cli {

/// The list as a verb, and the noun alone, which lists what waits for the person.
struct InboxList {
  std::string operation, noun, summary;
  std::vector<std::string> examples, bare_examples;
};
void add_inbox_list(std::vector<Command>& table, const InboxList& list);

/// The row's command without the flags that are only for programs.
Command command_for_people(const std::string& operation, std::initializer_list<std::string_view> not_flags);

/// The reply as an object. Errors: the daemon's; internal, if it is not `what` ("a question").
Result<json::object> object_in(const Result<std::string>& reply, std::string_view what);

}  // namespace cru::cli
