#pragma once
/// What somebody said, written so that it stays their words: it begins no line that names another speaker,
/// and makes no heading, list, table, link, image, comment or code of a markdown file. Rules only.
#include <string>
#include <string_view>

namespace cru::auto_mode {

/// As paragraphs of markdown: shown, it is what was said. White space at the beginning of a line becomes
/// no-break spaces, and each ending of a line a newline.
std::string as_paragraphs(std::string_view text);
/// The same in one line, for headings and lists.
std::string as_one_line(std::string_view text);
/// Each line but the first is indented, so that only the first can begin with a speaker's name.
std::string with_indented_lines(std::string_view text);

}  // namespace cru::auto_mode
