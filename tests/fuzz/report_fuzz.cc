// An agent's report and other long texts: cut within bounds, never within a character, never lost.
#include <algorithm>

#include "base/text.h"
#include "crew/bounded_text.h"
#include "crew/conversation.h"
#include "crew/text_edit.h"
#include "fuzz.h"

namespace cru::fuzz {
namespace {

size_t characters(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(first_code_point(text).length);
  return count;
}

void check_edit(std::string_view input) {
  auto parts = pieces(input, '\x1f', 3);
  if (parts.size() < 3) return;
  auto edited = crew::edit_text(parts[2], parts[0], parts[1], true);
  if (!edited) return require_readable(edited.error());
  require(edited->replaced >= 1 && edited->line >= 1, "an edit is somewhere");
  require(edited->text != parts[2], "an edit changes something");
}

}  // namespace

void check(std::string_view input) {
  bool is_text = is_utf8(input);
  auto report = crew::read_report(input);
  bool is_blank = input.find_first_not_of(" \t\r\n") == std::string_view::npos;
  require(report.summary.size() <= input.size() && report.findings.size() <= input.size() + 2,
          "a report is no longer than what was said");
  require(!is_text || (is_utf8(report.summary) && is_utf8(report.findings)), "a report is text");
  require(!is_blank || report.summary.empty(), "of nothing there is nothing to report");
  auto line = crew::summary_line(input);
  require(characters(line) <= 100 && line.find_first_of("\r\n\t") == std::string::npos,
          "a summary is a line");
  require(!is_text || is_utf8(line), "a summary is text");

  auto limit = input.size() / 2;
  auto cut = crew::cut_to(std::string(input), limit);
  require(cut.size() <= limit + 64 && (!is_text || is_utf8(cut)), "a cut text is short, and text");
  require(is_utf8(valid_utf8(input)), "what is made valid is valid");
  crew::KeptOutput kept(64);
  for (auto piece : pieces(input, '\n', 100)) kept.add(piece);
  require(is_utf8(kept.text()) && kept.text().size() <= 64 * 3 + 100, "what is kept is bounded text");
  require(is_utf8(safe_for_terminal(input)), "what is shown is text");
  for (size_t width : {1u, 20u}) require(display_width(truncate(input, width)) <= width, "it fits");
  check_edit(input);
}

}  // namespace cru::fuzz
