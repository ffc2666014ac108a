#include "base/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace cru {
namespace {

constexpr size_t around = 3;
/// Beyond this the middle is shown as replaced: the table below grows with the square.
constexpr size_t max_lines = 2000;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Line {
  char sign;
  std::string_view text;
};

/// The shortest way from `a` to `b`, by the longest common subsequence.
void compare(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b,
             std::vector<Line>& out) {
  size_t rows = a.size(), columns = b.size();
  std::vector<std::vector<uint32_t>> longest;
  bool small = rows <= max_lines && columns <= max_lines;
  if (small) {
    longest.assign(rows + 1, std::vector<uint32_t>(columns + 1));
    for (size_t i = rows; i-- > 0;)
      for (size_t j = columns; j-- > 0;)
        longest[i][j] =
            a[i] == b[j] ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
  }
  size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    if (small && i < rows && j < columns && a[i] == b[j]) {
      out.push_back({' ', a[i++]});
      ++j;
    } else if (i < rows && (!small || j == columns || longest[i + 1][j] >= longest[i][j + 1])) {
      out.push_back({'-', a[i++]});
    } else {
      out.push_back({'+', b[j++]});
    }
  }
}

std::string range(size_t start, size_t count) {
  // An empty range names the line before it.
  if (count == 0) return fmt::format("{},0", start);
  return count == 1 ? fmt::format("{}", start + 1) : fmt::format("{},{}", start + 1, count);
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view before_name,
                         std::string_view after_name) {
  if (before == after) return {};
  auto a = lines_of(before), b = lines_of(after);
  size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  std::vector<Line> lines;
  for (size_t i = 0; i < head; ++i) lines.push_back({' ', a[i]});
  auto middle = [&](const std::vector<std::string_view>& all) {
    return std::vector(all.begin() + static_cast<std::ptrdiff_t>(head),
                       all.end() - static_cast<std::ptrdiff_t>(tail));
  };
  compare(middle(a), middle(b), lines);
  for (size_t i = a.size() - tail; i < a.size(); ++i) lines.push_back({' ', a[i]});

  auto out = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  size_t at = 0, old_line = 0, new_line = 0;
  while (at < lines.size()) {
    size_t change = at;
    while (change < lines.size() && lines[change].sign == ' ') ++change;
    if (change == lines.size()) break;
    size_t begin = change - std::min(change - at, around), end = change;
    for (size_t i = change; i < lines.size() && i < end + 2 * around + 1; ++i)
      if (lines[i].sign != ' ') end = i;
    end = std::min(end + 1 + around, lines.size());
    old_line += begin - at;
    new_line += begin - at;
    size_t old_count = 0, new_count = 0;
    std::string hunk;
    for (size_t i = begin; i < end; ++i) {
      old_count += lines[i].sign != '+';
      new_count += lines[i].sign != '-';
      hunk += fmt::format("{}{}", lines[i].sign, lines[i].text);
      if (!lines[i].text.ends_with('\n')) hunk += "\n\\ No newline at end of file\n";
    }
    out += fmt::format("@@ -{} +{} @@\n{}", range(old_line, old_count), range(new_line, new_count), hunk);
    old_line += old_count;
    new_line += new_count;
    at = end;
  }
  return out;
}

}  // namespace cru
