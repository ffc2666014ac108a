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

/// What stands for a byte that is not UTF-8: U+FFFD.
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";
/// How many bytes at the front of `text` are UTF-8.
size_t utf8_prefix(std::string_view text);
inline bool is_utf8(std::string_view text) { return utf8_prefix(text) == text.size(); }
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
/// `text` if it has at most `max_bytes` bytes, else cut at a character and ended by `ellipsis`, which counts
/// too.
std::string cut_with_ellipsis(std::string_view text, size_t max_bytes, std::string_view ellipsis = "…");
/// How many bytes the UTF-8 character at `at` takes: 1 to 4; 0 if it is not UTF-8; -1 if `end` comes before
/// it is decided.
int utf8_size(const char* at, const char* end);
/// How many bytes at the end of `text` may be the beginning of a character.
size_t incomplete_tail(std::string_view text);

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

constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Of ASCII only.
constexpr bool is_letter_or_digit(char c) { return is_upper(c) || is_lower(c) || is_digit(c); }
/// A letter, a digit, or a byte of any character beyond ASCII.
constexpr bool is_word_char(char c) { return is_letter_or_digit(c) || static_cast<unsigned char>(c) >= 0x80; }

/// Lower and upper case of the letters of ASCII; everything else stays.
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
/// Whether the two differ at most in the case of letters of ASCII.
bool equal_ignoring_case(std::string_view a, std::string_view b);

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
