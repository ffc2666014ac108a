#include "crew/text_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/text.h"
#include "crew/bounded_text.h"

namespace cru::crew {
namespace {

constexpr size_t max_compared_bytes = 200;
constexpr size_t max_compared = 50'000;

bool has_crlf_lines(std::string_view text) {
  auto first = text.find('\n');
  return first != std::string_view::npos && first > 0 && text[first - 1] == '\r';
}

std::string with_crlf(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r')) out += '\r';
    out += text[i];
  }
  return out;
}

std::vector<size_t> places(std::string_view text, std::string_view piece) {
  std::vector<size_t> out;
  for (auto at = text.find(piece); at != std::string_view::npos; at = text.find(piece, at + piece.size()))
    out.push_back(at);
  return out;
}

size_t line_of(std::string_view text, size_t at) {
  return 1 + static_cast<size_t>(std::ranges::count(text.substr(0, at), '\n'));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty() && out.size() < max_compared) {
    auto end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

std::set<std::pair<char, char>> pairs_of(std::string_view line) {
  std::set<std::pair<char, char>> out;
  line = line.substr(0, max_compared_bytes);
  for (size_t i = 1; i < line.size(); ++i) out.emplace(line[i - 1], line[i]);
  return out;
}

/// The share of letter pairs that two lines have in common, 0 to 1.
double likeness(const std::set<std::pair<char, char>>& wanted, std::string_view line) {
  auto have = pairs_of(line);
  if (have.empty() || wanted.empty()) return 0;
  auto common = std::ranges::count_if(wanted, [&](const auto& pair) { return have.contains(pair); });
  return 2.0 * static_cast<double>(common) / static_cast<double>(have.size() + wanted.size());
}

/// Where the writer of `old_text` probably meant to be; empty if nothing is like it.
std::string nearest_line(std::string_view text, std::string_view old_text) {
  std::string_view wanted;
  for (auto line : lines_of(old_text))
    if (wanted = trim(line); !wanted.empty()) break;
  auto wanted_pairs = pairs_of(wanted);
  double best = 0.4;
  std::string answer;
  size_t number = 0;
  for (auto line : lines_of(text)) {
    ++number;
    auto found = trim(line);
    if (!wanted.empty() && found == wanted)
      return fmt::format("line {} matches the first line; white space or a later line differs", number);
    if (auto like = likeness(wanted_pairs, found); like > best) {
      best = like;
      auto shown = found.substr(0, character_start(found, max_compared_bytes));
      answer = fmt::format("the nearest is line {}: {}", number, valid_utf8(shown));
    }
  }
  return answer;
}

}  // namespace

Result<Edited> edit_text(std::string_view text, std::string_view old_text, std::string_view new_text,
                         bool all) {
  std::string old_lines(old_text), new_lines(new_text);
  if (has_crlf_lines(text)) {
    old_lines = with_crlf(old_text);
    new_lines = with_crlf(new_text);
  }
  if (old_lines.empty()) return fail(Code::invalid_argument, "old is empty", "old");
  if (old_lines == new_lines) return fail(Code::invalid_argument, "old and new are the same", "new");
  auto found = places(text, old_lines);
  if (found.empty())
    return fail(Code::not_found, "old does not occur in the file", "old", nearest_line(text, old_text));
  if (found.size() > 1 && !all)
    return fail(Code::conflict,
                fmt::format("old occurs {} times, first in lines {} and {}", found.size(),
                            line_of(text, found[0]), line_of(text, found[1])),
                "old", "include more of the surrounding text, or set all");
  Edited edited{.text = {}, .replaced = found.size(), .line = line_of(text, found[0])};
  size_t from = 0;
  for (auto at : found) {
    edited.text += text.substr(from, at - from);
    edited.text += new_lines;
    from = at + old_lines.size();
  }
  edited.text += text.substr(from);
  return edited;
}

}  // namespace cru::crew
