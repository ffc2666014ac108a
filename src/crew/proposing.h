#pragma once
/// Proposing: what a tool call would do, for a person who is to approve it: the change as a diff, the command
/// with its program, whether it can be undone. Nothing is changed here. What reads files blocks: call it on a
/// pool thread.
#include <map>

#include "approvals/proposal.h"
#include "base/result.h"
#include "crew/file_tools.h"

namespace cru::crew {

using approvals::Proposal;

/// Of write_file and edit_file.
Proposal propose_change(std::string_view tool, const json::object& input, const FileChange& change,
                        const std::string& root);

struct CommandProposal {
  std::string root;
  std::map<std::string, std::string> environment;
  bool may_write = false, may_use_network = false;
};
/// Of run_command: the program is looked up as it would be, and files of the project that the command is
/// given are covered too: a script that was shown is the script that runs. Errors: cannot_execute if there is
/// no such program; those of its folder.
Result<Proposal> propose_command(const json::object& input, const CommandProposal& how);

/// Of any other tool: its input, as it is. `writes_data`: it changes the daemon's own records.
Proposal propose_call(std::string_view tool, const json::object& input, const std::string& root,
                      bool writes_data);

/// Of request_approval: what the agent says that it will do.
Proposal propose_request(const json::object& input, const std::string& root);

/// Errors: conflict, if this is not what was approved.
Result<> check_approved(const Proposal& now, const std::string& digest);

}  // namespace cru::crew
