#pragma once
/// Proposing: what a tool call would do, for a person who is to approve it: the change as a diff, the command
/// with its program, whether it can be undone. Nothing is changed here. What reads files blocks: call it on a
/// pool thread.
#include <initializer_list>
#include <map>
#include <span>

#include "approvals/command_parts.h"
#include "approvals/proposal.h"
#include "base/result.h"
#include "crew/file_tools.h"

namespace cru::crew {

using approvals::Proposal;

/// Of write_file and edit_file.
Proposal propose_change(std::string_view tool, const json::object& input, const FileChange& change,
                        const std::string& root);

/// What stands for the bytes of a file. One that is too large to be read is known by its size and its time.
std::string hash_of(const std::string& path);
/// Adds the files that these words name, each once, also those behind the `=` of an option: whatever a
/// command is given or is. Without a folder nobody knows what a relative path names. Returns lines for the
/// preview that say what is beyond the bounds and so not covered; what has such files is never reversible.
std::string add_named_files(Proposal& proposal, std::span<const std::string> words,
                            const std::string& folder);

/// Of all that a command may run.
std::vector<std::string> words_of(const approvals::CommandParts& parts);

/// The program that would run, by its real path; empty: there is none. `path` is a PATH.
std::string find_program(const std::string& word, const std::string& folder, const std::string& path);
/// By its real path.
bool is_of_system(std::string_view program);

struct CommandProposal {
  std::string root;
  std::map<std::string, std::string> environment;
  bool may_write = false, may_use_network = false;
};
/// Of run_command: the program is looked up as it would be, and files of the project that the command is
/// given are covered too: a script that was shown is the script that runs. Errors: cannot_execute if there is
/// no such program; those of its folder.
Result<Proposal> propose_command(const json::object& input, const CommandProposal& how);

/// Of any other tool: its input, as it is. `writes_data`: it changes the daemon's own records. Whatever its
/// fields are called, nobody knows how to undo it; a statement in any of them may say that nothing can.
Proposal propose_call(std::string_view tool, const json::object& input, const std::string& root,
                      bool writes_data);

/// The fields that a preview does not show by itself, one on each line; those that are only advice are left
/// out. What has such fields is not known to be reversible any more: call it when that has been judged.
std::string rest_of_input(Proposal& proposal, std::initializer_list<std::string_view> shown);
/// What counted as reversible is unknown, and why; what is irreversible stays so.
void never_reversible(Proposal& proposal, std::string why);

/// Of request_approval: what the agent says that it will do.
Proposal propose_request(const json::object& input, const std::string& root);

/// Errors: conflict, if this is not what was approved.
Result<> check_approved(const Proposal& now, const std::string& digest);

}  // namespace cru::crew
