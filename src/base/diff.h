#pragma once
/// Rules of a unified diff. Pure.
#include <string>
#include <string_view>

namespace cru {

/// What makes `after` of `before`, with three lines around each change; empty if they are the same.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view before_name,
                         std::string_view after_name);

}  // namespace cru
