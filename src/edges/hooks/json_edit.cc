#include "edges/hooks/json_edit.h"

#include <algorithm>

namespace cru::hooks {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// The white space that ends at `end`.
std::string_view space_before(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && is_space(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

/// What follows the last line break of some white space.
std::string last_line(std::string_view space) {
  return std::string(space.substr(std::min(space.size(), space.rfind('\n') + 1)));
}

/// The indentation of the line that `offset` is on.
std::string indent_at(std::string_view text, size_t offset) {
  size_t begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
  size_t end = begin;
  while (end < offset && (text[end] == ' ' || text[end] == '\t')) ++end;
  return std::string(text.substr(begin, end - begin));
}

}  // namespace

JsonStyle style_of(std::string_view text, const JsonPlace& root) {
  JsonStyle style;
  if (text.find("\r\n") != std::string_view::npos) style.newline = "\r\n";
  if (root.children.empty()) return style;
  const auto& first = root.children.front();
  auto space = space_before(text, first.start());
  style.lines = space.find('\n') != std::string_view::npos;
  if (style.lines)
    if (auto unit = last_line(space); !unit.empty() && unit.size() <= 16) style.unit = unit;
  if (first.key_begin) style.colon_space = is_space(text[first.begin - 1]);
  if (root.children.size() > 1 && !style.lines)
    style.comma_space = is_space(text[root.children[1].start() - 1]);
  else
    style.comma_space = style.lines || style.colon_space;
  return style;
}

std::string render(const json::value& value, const JsonStyle& style, const std::string& indent) {
  bool is_object = value.is_object();
  if (!is_object && !value.is_array()) return to_text(value);
  size_t count = is_object ? value.get_object().size() : value.get_array().size();
  if (count == 0) return is_object ? "{}" : "[]";
  // A list of plain values reads best on one line.
  bool plain = !is_object && std::ranges::all_of(value.get_array(), [](const json::value& item) {
    return !item.is_object() && !item.is_array();
  });
  bool lines = style.lines && !plain;
  auto inner = indent + style.unit;
  std::string out = is_object ? "{" : "[";
  bool first = true;
  auto separate = [&] {
    if (!first) out += lines || !style.comma_space ? "," : ", ";
    if (lines) out += style.newline + inner;
    first = false;
  };
  if (is_object) {
    for (const auto& [key, item] : value.get_object()) {
      separate();
      out += to_text(json::value(key)) + (style.colon_space ? ": " : ":") + render(item, style, inner);
    }
  } else {
    for (const auto& item : value.get_array()) {
      separate();
      out += render(item, style, inner);
    }
  }
  if (lines) out += style.newline + indent;
  return out + (is_object ? "}" : "]");
}

std::string with_entry(std::string_view text, const JsonPlace& list, std::string_view key,
                       const json::value& value, const JsonStyle& style) {
  auto entry = [&](const JsonStyle& chosen, const std::string& indent) {
    auto name = key.empty() ? "" : to_text(json::value(key)) + (chosen.colon_space ? ": " : ":");
    return name + render(value, chosen, indent);
  };
  std::string out(text);
  if (list.children.empty()) {
    // What stood between the brackets stays, behind what is ours.
    auto inside = text.substr(list.begin + 1, list.end - list.begin - 2);
    auto chosen = style;
    chosen.lines = style.lines || inside.find('\n') != std::string_view::npos;
    auto base = indent_at(text, list.begin), indent = base + style.unit;
    auto added = chosen.lines ? style.newline + indent + entry(chosen, indent) + style.newline + base
                              : entry(chosen, "");
    return out.insert(list.begin + 1, added);
  }
  const auto& last = list.children.back();
  auto space = space_before(text, last.start());
  auto chosen = style;
  chosen.lines = space.find('\n') != std::string_view::npos;
  auto indent = last_line(space);
  auto added = chosen.lines ? "," + style.newline + indent + entry(chosen, indent)
                            : (style.comma_space ? ", " : ",") + entry(chosen, "");
  return out.insert(last.end, added);
}

std::string without_entry(std::string_view text, const JsonPlace& list, size_t index) {
  const auto& entry = list.children[index];
  std::string out(text);
  if (index > 0) {
    // From the comma on: with_entry put it right behind the entry before.
    size_t comma = text.find(',', list.children[index - 1].end);
    return out.erase(comma, entry.end - comma);
  }
  size_t end = entry.end;
  if (list.children.size() > 1) {
    end = text.find(',', end) + 1;
  } else {
    // The only one: the line break and the indentation before the closing bracket are ours too.
    auto rest = text.substr(end, list.end - 1 - end);
    size_t skip = rest.starts_with("\r\n") ? 2 : rest.starts_with("\n") ? 1 : 0;
    auto base = indent_at(text, list.begin);
    if (skip && rest.substr(skip).starts_with(base)) end += skip + base.size();
  }
  return out.erase(list.begin + 1, end - list.begin - 1);
}

}  // namespace cru::hooks
