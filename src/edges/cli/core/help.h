#pragma once
/// Help: the command table as text.
#include <span>
#include <string>

namespace cru::cli {

struct Command;

/// `cru --help`: every verb, by group.
std::string help_overview(std::span<const Command> commands);
/// `cru` alone: how to begin.
std::string help_short();
/// `cru VERB --help`.
std::string help_for(const Command& command);
/// The verbs that begin with `word` ("daemon").
std::string help_for_group(std::span<const Command> commands, const std::string& word);

}  // namespace cru::cli
