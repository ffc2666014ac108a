#include "definitions/frontmatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace cru::definitions {
namespace {

std::string with_plain_newlines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

int line_at(std::string_view text, size_t position) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, position), '\n'));
}

std::optional<Flaw> bad_bytes(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto character = first_code_point(text.substr(i));
    if (!character.valid)
      return Flaw{line_at(text, i), fmt::format("is not UTF-8 (byte {})", i + 1), "save the file as UTF-8"};
    if (character.value == 0) return Flaw{line_at(text, i), "contains a NUL byte", {}};
    i += character.length;
  }
  return {};
}

std::string_view line_of(std::string_view text, size_t start) {
  return text.substr(start, text.find('\n', start) - start);
}

bool is_fence(std::string_view line) {
  return line.starts_with("---") && line.find_first_not_of(" \t", 3) == std::string_view::npos;
}

std::string trimmed_body(std::string_view text) {
  // Empty lines go, the indentation of the first line stays.
  auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  auto newline = text.substr(0, first).rfind('\n');
  text.remove_prefix(newline == std::string_view::npos ? 0 : newline + 1);
  return std::string(text.substr(0, text.find_last_not_of(" \t\n") + 1));
}

void shift(YamlNode& node, int by) {
  node.line += by;
  for (auto& item : node.items) shift(item, by);
  for (auto& member : node.members) {
    member.line += by;
    shift(member.value, by);
  }
}

Flaw to_flaw(const Error& error) {
  std::string_view message = error.message;
  int line = 1;
  auto [end, problem] = std::from_chars(message.data(), message.data() + message.size(), line);
  if (problem == std::errc()) message.remove_prefix(static_cast<size_t>(end - message.data()));
  while (message.starts_with(':') || message.starts_with(' ')) message.remove_prefix(1);
  return {line + 1, fmt::format("is not valid YAML: {}", message),
          "check the indentation and the brackets; quote values that contain a colon, # or *"};
}

bool is_key(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; });
}

/// `key: some: text` as `key: "some: text"`; everything else as it is.
std::string quoted_if_plain(std::string_view line) {
  auto colon = line.find(": ");
  if (colon == std::string_view::npos || !is_key(line.substr(0, colon))) return std::string(line);
  auto value = trim(line.substr(colon + 2), " \t");
  if (value.empty()) return std::string(line);
  bool structured = std::string_view("\"'[{|>&!%@`").find(value.front()) != std::string_view::npos;
  if (structured || (value.find(": ") == std::string_view::npos && !value.ends_with(':')))
    return std::string(line);
  return fmt::format("{}: {}", line.substr(0, colon), to_text(json::value(value)));
}

}  // namespace

std::expected<Document, Flaw> split_document(std::string_view text) {
  if (text.size() > max_file_bytes)
    return std::unexpected(
        Flaw{1, fmt::format("is larger than {} KiB", max_file_bytes / 1024), "shorten the prompt"});
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (auto flaw = bad_bytes(text)) return std::unexpected(*std::move(flaw));
  auto plain = with_plain_newlines(text);
  if (!is_fence(line_of(plain, 0)))
    return std::unexpected(Flaw{1, "does not start with frontmatter",
                                "start with a line ---, then name, description and permissions, then ---"});
  size_t begin = std::min(plain.find('\n'), plain.size() - 1) + 1, end = begin;
  while (end < plain.size() && !is_fence(line_of(plain, end)))
    end = std::min(plain.find('\n', end), plain.size() - 1) + 1;
  if (end >= plain.size())
    return std::unexpected(
        Flaw{1, "the frontmatter has no end", "add a line --- between the fields and the prompt"});
  auto behind = std::min(plain.find('\n', end), plain.size() - 1) + 1;
  return Document{plain.substr(begin, end - begin), trimmed_body(std::string_view(plain).substr(behind)),
                  line_at(plain, end) + 1};
}

std::expected<Fields, Flaw> read_fields(const std::string& frontmatter) {
  auto tree = parse_yaml(frontmatter);
  int lenient_line = 0;
  if (!tree) {
    std::string quoted;
    int line = 1;
    for (size_t start = 0; start < frontmatter.size(); ++line) {
      auto was = line_of(frontmatter, start);
      auto now = quoted_if_plain(was);
      if (now != was && lenient_line == 0) lenient_line = line + 1;
      quoted += now + "\n";
      start += was.size() + 1;
    }
    auto again = lenient_line != 0 ? parse_yaml(quoted) : tree;
    if (!again) return std::unexpected(to_flaw(tree.error()));
    tree = std::move(again);
  }
  shift(*tree, 1);
  return Fields{*std::move(tree), lenient_line};
}

}  // namespace cru::definitions
