#pragma once
/// Render: JSON replies as tables and records for people. Pure: text in, text
/// out; everything shown is made safe for a terminal.
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"

namespace cru::cli {

enum class Colour { none, bold, dim, red, green, yellow, cyan };

/// How a stream looks.
struct Style {
  bool tty = false;     ///< relative times, truncation
  bool colour = false;  ///< escape sequences
  size_t width = 80;
  Time now = {};
  bool is_ascii = false;  ///< a terminal whose locale does not say UTF-8: signs beyond ASCII may not be there

  std::string paint(std::string_view text, Colour colour) const;
  /// Where prose is broken between words; 0: nowhere, it is not for a terminal.
  size_t prose_width() const { return tty ? width : 0; }
};

/// With spaces at its end, up to so many columns of a terminal.
std::string padded(const std::string& text, size_t width);
/// `text` with every line broken before the terminal would break it, and continued behind a mark: text of an
/// agent must not begin a line, where it could pass for one of ours. Tabs become spaces. Not a terminal:
/// unchanged.
std::string hanging(std::string_view text, const Style& style);
/// "3m ago", "in 5s"; for people.
std::string relative_time(Time time, Time now);
/// A field's value in one line: times by the style, lists joined, null as "-".
std::string cell(std::string_view field, const json::value& value, const Style& style);
/// `rows` under a header line; a column is a field, or "field TITLE". On a terminal, columns give way until
/// the others fit (columns.h).
std::string table(std::span<const std::string_view> columns, const json::array& rows, const Style& style);
/// One record, a field a line; null fields are left out.
std::string record(const json::object& object, const Style& style);
/// The command of a run as one would type it, or its backend and task.
std::string command_of(const json::object& run);
Colour status_colour(std::string_view status);

}  // namespace cru::cli
