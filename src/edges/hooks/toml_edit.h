#pragma once
/// Rules that change the text of a TOML file in one place and leave every other byte, comments too. Each of
/// them takes places of exactly this text. Pure.
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edges/hooks/toml_text.h"

namespace cru::hooks {

/// `added` with the line breaks that `text` has, by its first one.
std::string in_breaks_of(std::string_view text, std::string_view added);

struct TomlEdit {
  size_t begin = 0, end = 0;
  std::string with = {};
};
/// Edits that do not overlap, in any order.
std::string with_edits(std::string_view text, std::vector<TomlEdit> edits);

/// `value` behind the last element of an array in brackets, on a line of its own where that one is.
TomlEdit element_added(std::string_view text, const TomlPlace& array, const std::string& value);
/// `line` (`key = value`) as a member of the table `parent`, behind its member `sibling`.
TomlEdit member_added(std::string_view text, const TomlPlace& parent, const TomlPlace& sibling,
                      const std::string& line);
/// Takes `child` out of a `parent` in brackets or braces, with one comma. Undoes `element_added`. What is
/// left may be empty: it stays.
std::string without_entry(std::string_view text, const TomlPlace& parent, const TomlPlace& child);

/// From the begin of a line to the begin of another.
using Lines = std::pair<size_t, size_t>;
/// The lines that make up `place`, which is not within brackets or braces.
void add_lines_of(std::string_view text, const TomlPlace& place, std::vector<Lines>& lines);
/// The comments that say exactly one of `wanted`, each on a line of its own.
void add_comments(std::string_view text, const TomlPlace& root, std::span<const std::string_view> wanted,
                  std::vector<Lines>& lines);
/// Without these lines and the blank ones between them.
std::vector<TomlEdit> lines_cut(std::string_view text, std::vector<Lines> lines);

}  // namespace cru::hooks
