#pragma once
/// Deciding: what a person types at a terminal where an approval waits, as the words of `cru approvals`.
/// Pure: it says which command is meant; that command decides.
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace cru::cli {

struct TypedDecision {
  std::string verb = {};                   ///< "approve", …; empty: no command
  std::vector<std::string> words = {};     ///< what follows `cru approvals VERB`
  std::vector<std::string> verbatim = {};  ///< and behind `--`: a reason or a question as it was typed
  std::string say = {};                    ///< to a line that is no decision
  bool is_later = false;                   ///< the person decides elsewhere, or not now
};

/// What `line` means for this approval: `approve` (with its id where it cannot be undone), `deny REASON`,
/// `ask QUESTION`, `hold`, `hold --release`, `show`, with the flags of these commands, or `later`. The id may
/// be named as in the whole command. `needs_id`: it must be named to be approved, because the line may have
/// been meant for another one.
TypedDecision read_decision(const json::object& approval, std::string_view line, bool needs_id = false);
/// "approve, deny REASON, …", as far as this one takes them.
std::string decisions_for(const json::object& approval);

/// A line's words; quotes hold several together.
std::vector<std::string> split_words(std::string_view line);

}  // namespace cru::cli
