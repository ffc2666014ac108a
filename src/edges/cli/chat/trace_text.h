#pragma once
/// A trace as a tree for people: who worked for whom, when, how long, at what cost, what failed.
/// Rules only.
#include <string>

#include "base/json.h"
#include "edges/cli/core/render.h"

namespace cru::cli {

/// The reply of `get_trace`, in lines.
std::string trace_text(const json::object& trace, const Style& style);

}  // namespace cru::cli
