#pragma once
/// An approval as a person reads it in a terminal: who wants what, why, whether it can be undone, the time
/// that is left, and the preview. Pure: text in, text out; everything shown is made safe for a terminal.
#include <string>

#include "base/json.h"
#include "edges/cli/core/render.h"

namespace cru::cli {

/// Pending, held or asking.
bool is_undecided(const json::object& approval);
/// Line by line, so that nothing in it can look like ours; beyond `most_lines` only how many there are.
std::string approval_preview(const json::object& approval, const Style& style,
                             size_t most_lines = std::string::npos);
std::string approval_changes(const json::object& approval);
/// "approved by a person"; of one that waits its status.
std::string outcome_in_words(const json::object& approval);
/// All of it, with the commands that decide it.
std::string approval_page(const json::object& approval, const Style& style);
/// The same where it begins to wait and can be decided: without the commands.
std::string approval_notice(const json::object& approval, const Style& style);

}  // namespace cru::cli
