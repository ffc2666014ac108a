// Rules.
#include "edges/cli/terminal/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "edges/cli/terminal/ansi.h"
#include "edges/cli/terminal/markdown_inline.h"

namespace cru::cli {
namespace {

constexpr std::string_view marks = " \t#>-*+_=`~0123456789.)|";
/// A line's beginning longer than this is no mark, whatever it is.
constexpr size_t max_mark_bytes = 64, max_fence_bytes = 200, deepest_fence = 60;

size_t spaces_before(std::string_view line) { return std::min(line.find_first_not_of(" \t"), line.size()); }

/// The characters that open a fenced block, or might: "```", "~~~~". Empty if the line opens none.
std::string_view fence_of(std::string_view line) {
  auto body = line.substr(spaces_before(line));
  if (body.empty() || (body[0] != '`' && body[0] != '~')) return {};
  auto run = body.substr(0, std::min(body.find_first_not_of(body[0]), body.size()));
  bool closed_again = body[0] == '`' && body.substr(run.size()).contains('`');
  return run.size() < 3 || closed_again ? std::string_view() : run;
}

/// True while the line may still become a fence.
bool may_be_fence(std::string_view line) {
  auto body = line.substr(spaces_before(line));
  bool begins = !body.empty() && (body[0] == '`' || body[0] == '~');
  if (!begins || spaces_before(line) >= deepest_fence) return false;
  auto run = std::min(body.find_first_not_of(body[0]), body.size());
  return run >= 3 || run == body.size();
}

/// How long the mark of a numbered list is: "12. ". 0 if there is none.
size_t number_before(std::string_view body) {
  auto digits = std::min(body.find_first_not_of("0123456789"), body.size());
  bool is_mark = digits > 0 && digits + 1 < body.size() && (body[digits] == '.' || body[digits] == ')') &&
                 body[digits + 1] == ' ';
  return is_mark ? digits + 2 : 0;
}

bool is_rule(std::string_view line) {
  char mark = 0;
  size_t count = 0;
  for (char c : line) {
    if (c == ' ') continue;
    if ((c != '-' && c != '*' && c != '_') || (mark && c != mark)) return false;
    mark = c;
    ++count;
  }
  return count >= 3;
}

}  // namespace

std::string Markdown::feed(std::string_view piece) {
  for (char c : piece)
    if (c != '\r') held_ += c;  // of CRLF
  std::string out;
  step(out, false);
  return out;
}

std::string Markdown::finish() {
  std::string out;
  step(out, true);
  wrap_.flush(out);
  if (!base_.empty()) out += ansi::off;
  *this = Markdown(styled_, wrap_.width());
  return out;
}

void Markdown::step(std::string& out, bool at_end) {
  if (!styled_) {
    auto sure = held_.size() - (at_end ? 0 : incomplete_tail(held_));
    out += safe_for_terminal(std::string_view(held_).substr(0, sure), Newlines::keep);
    held_.erase(0, sure);
    return;
  }
  while (!held_.empty()) {
    std::string shown;
    if (line_ == Line::unknown && !begin_line(shown, at_end)) return;
    auto kind = line_;
    bool ended = go_on(shown, at_end);
    if (kind == Line::prose)
      wrap_.take(out, shown);
    else
      wrap_.pass(out, shown);
    if (!ended) return;
  }
}

/// Says what the line is. False if that is not certain yet.
bool Markdown::begin_line(std::string& out, bool at_end) {
  if (!fence_.empty()) return begin_code_line(out, at_end);
  auto eol = held_.find('\n');
  bool whole = eol != std::string::npos || at_end;
  auto line = std::string_view(held_).substr(0, eol);
  if (may_be_fence(line.substr(0, max_fence_bytes))) {
    if (!whole && line.size() <= max_fence_bytes) return false;
    if (auto fence = fence_of(line); !fence.empty() && line.size() <= max_fence_bytes) {
      fence_ = fence;
      base_ = ansi::dim;
      out += base_;
      line_ = Line::verbatim;
      return true;
    }
  }
  auto head = line.substr(0, max_mark_bytes);
  bool only_marks = head.find_first_not_of(marks) == std::string_view::npos;
  if (only_marks && !whole && line.size() < max_mark_bytes) return false;
  line_ = Line::prose;
  if (!only_marks || line.size() < max_mark_bytes) begin_block(out, head);
  return true;
}

bool Markdown::begin_code_line(std::string& out, bool at_end) {
  auto eol = held_.find('\n');
  bool whole = eol != std::string::npos || at_end;
  auto line = std::string_view(held_).substr(0, eol);
  const char only[] = {' ', fence_[0], 0};
  bool may_close = line.find_first_not_of(only) == std::string_view::npos && line.size() <= max_mark_bytes;
  if (may_close && !whole) return false;
  auto body = line.substr(spaces_before(line));
  body = body.substr(0, body.find_last_not_of(' ') + 1);
  bool closes = may_close && body.starts_with(fence_) && !body.contains(' ');
  if (closes) fence_.clear();
  base_ = ansi::dim;
  out += base_;
  line_ = Line::verbatim;
  return true;
}

/// Shows the mark that the line begins with: headings, lists, quotes, rules; tables stay as they are.
void Markdown::begin_block(std::string& out, std::string_view line) {
  auto indent = spaces_before(line);
  auto body = line.substr(indent);
  auto hashes = std::min(body.find_first_not_of('#'), body.size());
  bool is_list = body.size() > 1 && (body[0] == '-' || body[0] == '*' || body[0] == '+') && body[1] == ' ';
  size_t taken = 0;
  if (is_rule(line)) {
    out += fmt::format("{}────────{}", ansi::dim, ansi::off);
    taken = line.size();
  } else if (hashes >= 1 && hashes <= 6 && hashes < body.size() && body[hashes] == ' ') {
    taken = indent + hashes + 1;
    base_ = ansi::bold;
    out += base_;
  } else if (is_list) {
    out += fmt::format("{}• ", line.substr(0, indent));
    taken = indent + 2;
    wrap_.hang(std::string(indent + 2, ' '));
  } else if (body.starts_with('>')) {
    out += fmt::format("{}│{} ", ansi::dim, ansi::off);
    taken = indent + (body.starts_with("> ") ? 2 : 1);
    wrap_.hang("│ ");
  } else if (body.starts_with('|')) {
    line_ = Line::verbatim;
  } else {
    wrap_.hang(std::string(indent + number_before(body), ' '));
  }
  held_.erase(0, taken);
}

/// Shows what is certain of the line. False if more must come first.
bool Markdown::go_on(std::string& out, bool at_end) {
  auto eol = held_.find('\n');
  bool whole = eol != std::string::npos;
  auto line = std::string_view(held_).substr(0, eol);
  size_t taken = 0;
  if (line_ == Line::verbatim) {
    taken = line.size() - (whole || at_end ? 0 : incomplete_tail(line));
    out += safe_for_terminal(line.substr(0, taken));
  } else {
    taken = show_inline(out, line, {.outer = base_, .before = before_, .whole = whole || at_end});
  }
  if (taken > 0) before_ = held_[taken - 1];
  bool ended = whole && taken == line.size();
  held_.erase(0, taken);
  if (ended) end_line(out);
  return ended;
}

void Markdown::end_line(std::string& out) {
  if (!base_.empty()) out += ansi::off;
  out += '\n';
  held_.erase(0, 1);
  base_.clear();
  before_ = ' ';
  line_ = Line::unknown;
}

std::string rendered_markdown(std::string_view text, bool styled, size_t width) {
  Markdown markdown(styled, width);
  auto out = markdown.feed(text);
  return out + markdown.finish();
}

std::string markdown_prose(std::string_view text, bool styled, size_t width) {
  return styled ? rendered_markdown(text, true, width) : wrap_words(rendered_markdown(text, false), width);
}

}  // namespace cru::cli
