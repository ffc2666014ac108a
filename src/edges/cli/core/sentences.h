#pragma once
/// Sentences: what a reply says to a person: what was done, and what comes next. The rest is in `--json`.
/// Pure: text in, text out; everything shown is made safe for a terminal.
#include <string>
#include <string_view>

#include "base/json.h"
#include "edges/cli/core/render.h"

namespace cru::cli {

/// The reply of an operation in words, with its newlines; empty for one that has none: its record is shown.
std::string sentence_of(std::string_view operation, const json::object& reply, const Style& style);

/// "nightly failed 3m ago: exited with code 2", and below it what a person looks for.
std::string run_page(const json::object& run, const Style& style);

}  // namespace cru::cli
