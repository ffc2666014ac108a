#pragma once
/// Help: the command table as text.
#include <string>

namespace cru::cli {

struct Command;

/// `cru --help`: every verb, by group.
std::string help_overview();
/// `cru` alone: how to begin.
std::string help_short();
/// `cru VERB --help`.
std::string help_for(const Command& command);
/// The verbs that begin with `word` ("daemon").
std::string help_for_group(const std::string& word);

}  // namespace cru::cli
