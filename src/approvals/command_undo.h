#pragma once
/// Whether what a command does can be undone, as far as its words tell. Rules only: a short list of programs
/// that read whatever they are given, and one of those that destroy or publish. Everything else is not known.
#include <functional>

#include "approvals/command_parts.h"
#include "approvals/proposal.h"

namespace cru::approvals {

struct UndoVerdict {
  Undo undo = Undo::unknown;
  std::string why = {};
};

/// Irreversible, if anything that may run is known to destroy or to publish. Reversible, if it is certain
/// what is run and all of it only reads; `is_system` says of a part's first word whether it is the program of
/// the system that it is called after. Unknown in all other cases.
UndoVerdict judge_undo(const CommandParts& command,
                       const std::function<bool(std::string_view word)>& is_system);

/// By its name alone, where nobody can look the program up: `ls`, or one of /usr/bin.
bool is_named_as_system(std::string_view word);

/// What a statement of a database is known to destroy; empty: nothing is known.
std::string destroyed_by_statement(std::string_view statement);

}  // namespace cru::approvals
