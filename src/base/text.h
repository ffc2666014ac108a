#pragma once
/// Text for a terminal: made safe, measured, cut, and compared for "did you
/// mean". Works on UTF-8; never fails, whatever the bytes.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cru {

/// One decoded character. An invalid byte is `valid == false` with length 1 and the byte as its value.
struct CodePoint {
  char32_t value = 0;
  size_t length = 0;
  bool valid = true;
};
/// The character at the front of `text`, which must not be empty. Overlong forms, surrogates and
/// anything beyond U+10FFFF are invalid.
CodePoint first_code_point(std::string_view text);

enum class Newlines { keep, escape };

/// `text` with everything that could act on a terminal, or mislead its reader, made visible: control
/// characters other than tab (`\x1b`, `\r`), C1 (`<U+009B>`), bidirectional and zero-width characters
/// (`<U+202E>`), and bytes that are not UTF-8 (`\xff`).
std::string safe_for_terminal(std::string_view text, Newlines newlines = Newlines::escape);

/// JSON text with the same characters as `\u` escapes: still the same JSON, and safe to show.
std::string json_safe_for_terminal(std::string_view json_text);

/// Columns that `text` takes on a terminal: 0 for combining marks, 2 for wide characters.
size_t display_width(std::string_view text);
/// `text` if it fits, else cut and ended by an ellipsis, at most `width` columns.
std::string truncate(std::string_view text, size_t width);

/// The candidate that `word` most likely meant, or empty if none is near.
std::string closest(std::string_view word, std::span<const std::string> candidates);

}  // namespace cru
