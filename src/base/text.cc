#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cru {
namespace {

struct Range {
  char32_t first, last;
};

template <size_t N>
bool in_ranges(char32_t c, const std::array<Range, N>& ranges) {
  return std::ranges::any_of(ranges, [c](Range range) { return c >= range.first && c <= range.last; });
}

// Characters that move, hide or reorder what is around them.
constexpr std::array misleading = {Range{0x00AD, 0x00AD}, Range{0x034F, 0x034F},  Range{0x061C, 0x061C},
                                   Range{0x115F, 0x1160}, Range{0x17B4, 0x17B5},  Range{0x180B, 0x180F},
                                   Range{0x200B, 0x200F}, Range{0x2028, 0x202E},  Range{0x2060, 0x206F},
                                   Range{0x3164, 0x3164}, Range{0xFEFF, 0xFEFF},  Range{0xFFA0, 0xFFA0},
                                   Range{0xFFF9, 0xFFFB}, Range{0xE0000, 0xE0FFF}};
constexpr std::array combining = {Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD},
                                  Range{0x0610, 0x061A}, Range{0x064B, 0x065F}, Range{0x0900, 0x0902},
                                  Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF}, Range{0x20D0, 0x20FF},
                                  Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}};
constexpr std::array wide = {Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x23E9, 0x23EC},
                             Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},
                             Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},   Range{0xAC00, 0xD7A3},
                             Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},
                             Range{0xFFE0, 0xFFE6},   Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF},
                             Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}, Range{0x1FA70, 0x1FAFF}};

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

/// A tab counts as many columns as it can take: what is cut to a width must not be wider on any terminal.
size_t width_of(CodePoint c) {
  constexpr size_t most_of_tab = 8;
  if (c.value == '\t') return most_of_tab;
  if (c.valid && (is_control(c.value) || in_ranges(c.value, combining))) return 0;
  return c.valid && in_ranges(c.value, wide) ? 2 : 1;
}

void append_visible(std::string& out, CodePoint c) {
  auto value = static_cast<uint32_t>(c.value);
  if (!c.valid || value < 0x80)
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", value);
  else
    fmt::format_to(std::back_inserter(out), "<U+{:04X}>", value);
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  CodePoint invalid{lead, 1, false};
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return invalid;
  char32_t value = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return invalid;
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return invalid;
  return {value, length, true};
}

std::string safe_for_terminal(std::string_view text, Newlines newlines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto c = first_code_point(text);
    bool kept_newline = c.value == '\n' && newlines == Newlines::keep;
    if (c.value == '\t' || kept_newline)
      out += text[0];
    else if (c.value == '\n' || c.value == '\r')
      out += c.value == '\n' ? "\\n" : "\\r";
    else if (!c.valid || is_control(c.value) || in_ranges(c.value, misleading))
      append_visible(out, c);
    else
      out += text.substr(0, c.length);
    text.remove_prefix(c.length);
  }
  return out;
}

std::string json_safe_for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto c = first_code_point(text);
    auto value = static_cast<uint32_t>(c.value);
    if (c.value >= 0x7F && (!c.valid || is_control(c.value) || in_ranges(c.value, misleading))) {
      if (!c.valid) value = 0xFFFD;
      if (value > 0xFFFF)
        fmt::format_to(std::back_inserter(out), "\\u{:04x}\\u{:04x}", 0xD800 + ((value - 0x10000) >> 10),
                       0xDC00 + ((value - 0x10000) & 0x3FF));
      else
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", value);
    } else {
      out += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
  return out;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    auto c = first_code_point(text);
    width += width_of(c);
    text.remove_prefix(c.length);
  }
  return width;
}

std::string truncate(std::string_view text, size_t width) {
  // Marks without a width would let a text of any length through: far more bytes than columns are cut, too.
  const size_t most_bytes = 8 * width;
  if (text.size() <= most_bytes && display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::string out;
  size_t used = 0;
  while (!text.empty()) {
    auto c = first_code_point(text);
    used += width_of(c);
    if (used > width - 1 || out.size() + c.length > most_bytes) break;
    out += text.substr(0, c.length);
    text.remove_prefix(c.length);
  }
  return out + "…";
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::string closest(std::string_view word, std::span<const std::string> candidates) {
  if (word.empty() || word.size() > 64) return {};
  std::string best;
  size_t best_distance = std::max<size_t>(1, (word.size() + 1) / 3) + 1;
  for (const auto& candidate : candidates) {
    if (candidate.size() > 64) continue;
    bool begins = word.size() >= 2 && candidate.starts_with(word);
    size_t found = begins ? 1 : edit_distance(word, candidate);
    if (found < best_distance) {
      best = candidate;
      best_distance = found;
    }
  }
  return best;
}

size_t utf8_prefix(std::string_view text) {
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    // Nearly all text is ASCII.
    for (std::array<uint64_t, 4> bytes; end - at >= 32; at += 32) {
      std::memcpy(&bytes, at, sizeof bytes);
      if (((bytes[0] | bytes[1] | bytes[2] | bytes[3]) & 0x8080808080808080) != 0) break;
    }
    while (at < end && static_cast<unsigned char>(*at) < 0x80) ++at;
    auto size = at == end ? 0 : utf8_size(at, end);
    if (size <= 0) return static_cast<size_t>(at - text.data());
    at += size;
  }
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto point = first_code_point(text);
    out += point.valid ? text.substr(0, point.length) : replacement_character;
    text.remove_prefix(point.length);
  }
  return out;
}

size_t character_start(std::string_view text, size_t at) {
  if (at >= text.size()) return text.size();
  auto start = at;
  // A character has at most three bytes after its first; more of them are not UTF-8 and may be cut anywhere.
  for (int steps = 0; start > 0 && steps < 3 && (text[start] & 0xC0) == 0x80; ++steps) --start;
  return (text[start] & 0xC0) == 0x80 ? at : start;
}

std::string_view skip_partial_character(std::string_view text) {
  size_t rest = 0;
  while (rest < text.size() && rest < 3 && (text[rest] & 0xC0) == 0x80) ++rest;
  return text.substr(rest);
}

std::string cut_with_ellipsis(std::string_view text, size_t max_bytes, std::string_view ellipsis) {
  if (text.size() <= max_bytes) return std::string(text);
  std::string out(cut_at_character(text, max_bytes - std::min(max_bytes, ellipsis.size())));
  return out += ellipsis;
}

int utf8_size(const char* at, const char* end) {
  auto byte = [&](int i) { return static_cast<unsigned char>(at[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  int size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  auto have = static_cast<int>(std::min<ptrdiff_t>(size, end - at));
  for (int i = 1; i < have; ++i) {
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1) {  // no overlong forms, no surrogates, nothing over U+10FFFF
      if (first == 0xE0) low = 0xA0;
      if (first == 0xED) high = 0x9F;
      if (first == 0xF0) low = 0x90;
      if (first == 0xF4) high = 0x8F;
    }
    if (byte(i) < low || byte(i) > high) return 0;
  }
  return have == size ? size : -1;
}

size_t incomplete_tail(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const char* at = text.data() + text.size() - back;
    if (static_cast<unsigned char>(*at) >= 0xC0)
      return utf8_size(at, text.data() + text.size()) < 0 ? back : 0;
  }
  return 0;
}

std::string_view trim(std::string_view text, std::string_view blanks) {
  auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = to_lower(c);
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = to_upper(c);
  return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return to_lower(x) == to_lower(y); });
}

}  // namespace cru
