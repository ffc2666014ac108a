#pragma once
/// Help: the command table as text.
#include <span>
#include <string>

namespace cru::cli {

struct Command;

/// `cru --help`: every verb on one screen, by what it is for.
std::string help_overview(std::span<const Command> commands);
/// `cru` alone: how to begin.
std::string help_short();
/// `cru VERB --help`; for a noun also what can be done with it.
std::string help_for(std::span<const Command> commands, const Command& command);
/// The verbs that begin with `word` ("daemon").
std::string help_for_group(std::span<const Command> commands, const std::string& word);

}  // namespace cru::cli
