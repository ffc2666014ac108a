#pragma once
/// Rules that add an entry to the text of a JSON file in the file's own style, and take it away again so that
/// the bytes are those from before. Pure.
#include <string>
#include <string_view>

#include "base/json.h"
#include "edges/hooks/json_text.h"

namespace cru::hooks {

/// How a file is laid out.
struct JsonStyle {
  bool lines = true;  ///< one member a line
  std::string newline = "\n";
  std::string unit = "  ";  ///< one level of indentation
  bool colon_space = true;  ///< `"a": 1`
  bool comma_space = true;  ///< `[1, 2]`
};
JsonStyle style_of(std::string_view text, const JsonPlace& root);

/// `value` as text; its lines after the first begin with `indent`.
std::string render(const json::value& value, const JsonStyle& style, const std::string& indent);

/// `text` with `value` as the last entry of `list`; with a `key` where `list` is an object.
std::string with_entry(std::string_view text, const JsonPlace& list, std::string_view key,
                       const json::value& value, const JsonStyle& style);
/// `text` without entry number `index` of `list`: the inverse of `with_entry`.
std::string without_entry(std::string_view text, const JsonPlace& list, size_t index);

}  // namespace cru::hooks
