#pragma once
/// The terminal's codes for text that is marked.
#include <string_view>

namespace cru::cli::ansi {

inline constexpr std::string_view bold = "\x1b[1m", dim = "\x1b[2m", italic = "\x1b[3m",
                                  underlined = "\x1b[4m", cyan = "\x1b[36m", off = "\x1b[0m";

}  // namespace cru::cli::ansi
