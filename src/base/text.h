#pragma once
/// Text: trimmed, lower-cased, cut, compared for "did you mean", and made safe and
/// measured for a terminal. Works on UTF-8; never fails, whatever the bytes.
#include <algorithm>
#include <cstddef>
#include <initializer_list>
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

bool is_utf8(std::string_view text);
/// `text` with every byte that is not UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);
/// The largest place at or before `at` where a character begins: cutting there splits none.
size_t character_start(std::string_view text, size_t at);
/// At most `bytes` bytes of `text`, not ending within a character.
inline std::string_view cut_at_character(std::string_view text, size_t bytes) {
  return text.substr(0, character_start(text, bytes));
}
/// `text` without what is left of a character at its front, after it was cut there.
std::string_view skip_partial_character(std::string_view text);

/// `text` without any of `blanks` at its two ends.
std::string_view trim(std::string_view text, std::string_view blanks = " \t\r\n");
inline bool is_blank(std::string_view text) { return trim(text).empty(); }
/// Without its line break.
inline std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find_first_of("\r\n"));
}
inline bool is_one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, text) != list.end();
}

/// Lower case of the letters of ASCII; everything else stays.
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string to_lower(std::string_view text);

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

/// How many edits make one word of the other; a swap of neighbours is one edit.
size_t edit_distance(std::string_view a, std::string_view b);
/// The candidate that `word` most likely meant, or empty if none is near.
std::string closest(std::string_view word, std::span<const std::string> candidates);

}  // namespace cru
