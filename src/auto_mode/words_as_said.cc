#include "auto_mode/words_as_said.h"

#include <algorithm>

#include "base/text.h"

namespace cru::auto_mode {
namespace {

constexpr std::string_view no_break_space = "\u00A0";
constexpr size_t longest_entity = 32;

/// `text` with a newline for everything that some reader takes for the end of a line, and without other
/// control characters.
std::string with_newlines(std::string_view text) {
  std::string out;
  for (; !text.empty(); text.remove_prefix(first_code_point(text).length)) {
    auto c = first_code_point(text);
    bool is_separator = c.valid && (c.value == 0x85 || c.value == 0x2028 || c.value == 0x2029);
    if (text.starts_with("\r\n")) continue;
    if (c.value == '\r' || c.value == '\v' || c.value == '\f' || is_separator)
      out += '\n';
    else if (!c.valid || (c.value < 0x20 && c.value != '\n' && c.value != '\t') || c.value == 0x7f)
      out += "\uFFFD";
    else
      out += text.substr(0, c.length);
  }
  return out;
}

/// "&amp;" and "&#35;", which would be shown as another character.
bool begins_entity(std::string_view text) {
  auto name = text.substr(1, longest_entity);
  auto end = std::ranges::find_if_not(name, [](char c) { return is_letter_or_digit(c) || c == '#'; });
  return end != name.begin() && end != name.end() && *end == ';';
}

/// Whether markdown takes the character at the beginning of `rest` for more than itself, anywhere in a line.
bool is_mark(std::string_view rest, char before) {
  char c = rest[0];
  bool is_double = before == c || rest.substr(1).starts_with(c);
  return c == '\\' || c == '`' || c == '[' || c == '<' || (c == '&' && begins_entity(rest)) ||
         ((c == '%' || c == '$') && is_double);
}

/// The same at the beginning of a line.
bool begins_block(char c) { return std::string_view("#-+*>=~_|:").contains(c); }

void append_line(std::string& out, std::string_view line) {
  auto first = std::min(line.find_first_not_of(" \t"), line.size());
  for (char blank : line.substr(0, first))
    for (int i = 0; i < (blank == '\t' ? 4 : 1); ++i) out += no_break_space;
  line.remove_prefix(first);
  while (line.ends_with(' ') || line.ends_with('\t')) line.remove_suffix(1);
  auto digits = static_cast<size_t>(std::ranges::find_if_not(line, is_digit) - line.begin());
  for (size_t i = 0; i < line.size(); ++i) {
    bool is_number = i > 0 && i == digits && (line[i] == '.' || line[i] == ')');
    if ((i == 0 && begins_block(line[0])) || is_number || is_mark(line.substr(i), i > 0 ? line[i - 1] : '\0'))
      out += '\\';
    out += line[i];
  }
}

}  // namespace

std::string as_paragraphs(std::string_view text) {
  auto lines = with_newlines(text);
  std::string out;
  for (std::string_view rest = lines;;) {
    auto end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    if (!trim(line).empty()) append_line(out, line);
    if (end == rest.size()) return out;
    out += '\n';
    rest.remove_prefix(end + 1);
  }
}

std::string as_one_line(std::string_view text) {
  auto line = with_newlines(text);
  std::ranges::replace(line, '\n', ' ');
  std::ranges::replace(line, '\t', ' ');
  std::string out;
  append_line(out, trim(line));
  // "# Topic ##" is shown without the marks at its end.
  auto marks = out.find_last_not_of('#') + 1;
  if (marks < out.size() && marks > 0 && out[marks - 1] != '\\') out.insert(marks, "\\");
  return out;
}

std::string with_indented_lines(std::string_view text) {
  std::string out;
  for (char c : with_newlines(text)) {
    out += c;
    if (c == '\n') out += "    ";
  }
  return out;
}

}  // namespace cru::auto_mode
