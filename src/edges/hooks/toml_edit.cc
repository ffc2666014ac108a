#include "edges/hooks/toml_edit.h"

#include <algorithm>

#include "base/text.h"

namespace cru::hooks {
namespace {

size_t line_begin(std::string_view text, size_t offset) {
  return offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
}
size_t line_end(std::string_view text, size_t offset) {
  return std::min(text.find('\n', offset), text.size() - 1) + 1;
}

/// The place of the next character that is neither blank nor in a comment.
size_t next_token(std::string_view text, size_t at) {
  while (at < text.size()) {
    if (text[at] == '#')
      at = std::min(text.find('\n', at), text.size());
    else if (is_blank(text.substr(at, 1)))
      ++at;
    else
      break;
  }
  return at;
}

/// What stands between the commas of `parent`, in the order of the text: a dotted key makes a table that is
/// not written as one.
void add_entries(const TomlPlace& parent, std::vector<const TomlPlace*>& entries) {
  for (const auto& child : parent.children) {
    if (child.kind == TomlPlace::Kind::table && !child.is_inline)
      add_entries(child, entries);
    else
      entries.push_back(&child);
  }
}

bool is_in_value(const TomlPlace& place, size_t offset) {
  bool is_value = place.is_inline && place.begin <= offset && offset < place.end;
  if (is_value && place.kind != TomlPlace::Kind::table) return true;
  return std::ranges::any_of(place.children,
                             [&](const TomlPlace& child) { return is_in_value(child, offset); });
}

}  // namespace

std::string in_breaks_of(std::string_view text, std::string_view added) {
  auto first = text.find('\n');
  if (first == std::string_view::npos || first == 0 || text[first - 1] != '\r') return std::string(added);
  std::string out;
  for (char c : added) out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return out;
}

std::string with_edits(std::string_view text, std::vector<TomlEdit> edits) {
  std::ranges::sort(edits, {}, [](const TomlEdit& edit) { return std::pair(edit.begin, edit.end); });
  std::string out;
  size_t at = 0;
  for (const auto& edit : edits) {
    out += text.substr(at, edit.begin - at);
    out += edit.with;
    at = edit.end;
  }
  return out += text.substr(at);
}

TomlEdit element_added(std::string_view text, const TomlPlace& array, const std::string& value) {
  if (array.children.empty()) return {array.begin + 1, array.begin + 1, value};
  const auto& last = array.children.back();
  auto indent = text.substr(line_begin(text, last.begin), last.begin - line_begin(text, last.begin));
  auto separator = is_blank(indent) ? in_breaks_of(text, ",\n") + std::string(indent) : ", ";
  return {last.end, last.end, separator + value};
}

TomlEdit member_added(std::string_view text, const TomlPlace& parent, const TomlPlace& sibling,
                      const std::string& line) {
  if (parent.is_inline) return {sibling.end, sibling.end, ", " + line};
  // A dotted key's first parts are said again.
  size_t begin = line_begin(text, sibling.key_begin), end = line_end(text, sibling.end - 1);
  auto prefix = std::string(text.substr(begin, sibling.key_begin - begin));
  if (end > 0 && text[end - 1] == '\n') return {end, end, prefix + line + in_breaks_of(text, "\n")};
  return {end, end, in_breaks_of(text, "\n") + prefix + line};
}

std::string without_entry(std::string_view text, const TomlPlace& parent, const TomlPlace& child) {
  std::vector<const TomlPlace*> entries;
  add_entries(parent, entries);
  std::ranges::sort(entries, {}, &TomlPlace::begin);
  auto found = std::ranges::find(entries, &child);
  if (found == entries.end()) return std::string(text);
  size_t before = found == entries.begin() ? parent.begin : next_token(text, (*std::prev(found))->end);
  size_t begin = next_token(text, before + 1), end = child.end;  // `before` is a comma or the opening bracket
  size_t after = next_token(text, end);
  bool has_comma = after < text.size() && text[after] == ',';
  if (found == entries.begin()) {
    // The comma behind it goes, and the blanks up to the next one that takes its place.
    if (has_comma) end = after + 1;
    if (entries.size() > 1 && has_comma) {
      size_t next = next_token(text, end);
      if (is_blank(text.substr(end, next - end))) end = next;
    }
    return with_edits(text, {{begin, end}});
  }
  if (is_blank(text.substr(before + 1, begin - before - 1))) return with_edits(text, {{before, end}});
  // A comment between them stays, and a comma behind it goes rather than the one before the comment.
  if (has_comma) return with_edits(text, {{begin, after + 1}});
  return with_edits(text, {{before, before + 1}, {begin, end}});
}

void add_lines_of(std::string_view text, const TomlPlace& place, std::vector<Lines>& lines) {
  bool is_made =
      !place.is_inline && (place.kind == TomlPlace::Kind::table || place.kind == TomlPlace::Kind::array);
  if (!is_made) {
    lines.emplace_back(line_begin(text, place.start()), line_end(text, place.end - 1));
    return;
  }
  if (text[place.begin] == '[')
    lines.emplace_back(line_begin(text, place.begin), line_end(text, place.begin));
  for (const auto& child : place.children) add_lines_of(text, child, lines);
}

void add_comments(std::string_view text, const TomlPlace& root, std::span<const std::string_view> wanted,
                  std::vector<Lines>& lines) {
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = line_end(text, begin);
    auto line = trim(text.substr(begin, end - begin));
    if (std::ranges::find(wanted, line) != wanted.end() && !is_in_value(root, begin))
      lines.emplace_back(begin, end);
  }
}

std::vector<TomlEdit> lines_cut(std::string_view text, std::vector<Lines> lines) {
  std::ranges::sort(lines);
  std::vector<TomlEdit> edits;
  for (auto [begin, end] : lines) {
    bool joins = !edits.empty() && (begin < edits.back().end ||
                                    is_blank(text.substr(edits.back().end, begin - edits.back().end)));
    if (joins)
      edits.back().end = std::max(edits.back().end, end);
    else
      edits.push_back({begin, end});
  }
  return edits;
}

}  // namespace cru::hooks
