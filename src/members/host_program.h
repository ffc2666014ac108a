#pragma once
/// Rules of host programs: which processes are agent programs. A table per vendor; never a shell, a terminal
/// multiplexer, an editor or an interpreter by itself.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cru::members {

/// "claude", "codex" or "gemini", if a process with this executable (its path), title and command line is
/// that program.
std::optional<std::string> recognise_host(std::string_view program, std::string_view title,
                                          const std::vector<std::string>& words);

}  // namespace cru::members
