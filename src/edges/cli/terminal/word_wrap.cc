// Rules.
#include "edges/cli/terminal/word_wrap.h"

#include <algorithm>

#include "base/text.h"

namespace cru::cli {
namespace {

constexpr size_t tab = 8;
constexpr size_t narrowest = 20;  ///< on less, breaking words makes nothing better

/// The unit at the front: a character, or a whole escape sequence.
std::string_view first_unit(std::string_view text) {
  if (text[0] != '\x1b') return text.substr(0, first_code_point(text).length);
  return text.substr(0, std::min(text.find('m'), text.size() - 1) + 1);
}

}  // namespace

void WordWrap::hang(std::string indent) {
  hang_width_ = display_width(indent);
  hang_ = std::move(indent);
  if (hang_width_ + narrowest <= width_) return;
  hang_.clear();
  hang_width_ = 0;
}

void WordWrap::take(std::string& out, std::string_view text) {
  if (width_ < narrowest) {
    out += text;
    return;
  }
  while (!text.empty()) {
    auto unit = first_unit(text);
    text.remove_prefix(unit.size());
    if (unit == "\n") {
      end_line(out);
    } else if (unit == " " || unit == "\t") {
      place(out);
      spaces_ += unit;
    } else {
      auto width = unit[0] == '\x1b' ? 0 : display_width(unit);
      word_ += unit;
      word_width_ += width;
      // Between wide characters a line may be broken anywhere.
      bool may_break_after = width == 2 && !is_overlong_;
      if (may_break_after || word_width_ + hang_width_ > width_ || is_overlong_) {
        bool goes_on = !may_break_after;
        place(out);
        is_overlong_ = goes_on;
      }
    }
  }
}

void WordWrap::pass(std::string& out, std::string_view text) {
  flush(out);
  out += text;
  if (text.ends_with('\n')) hang({});
  column_ = 0;
}

void WordWrap::flush(std::string& out) {
  if (width_ > 0) place(out);
  out += spaces_;
  spaces_.clear();
}

/// Puts the word where it belongs: behind what there is, or on a new line.
void WordWrap::place(std::string& out) {
  size_t gap = 0;
  for (char c : spaces_) gap += c == '\t' ? tab - (column_ + gap) % tab : 1;
  bool is_word = word_width_ > 0;
  bool fits = column_ + gap + word_width_ <= width_;
  if (is_word && !fits && !is_overlong_ && column_ > hang_width_) {
    out += '\n';
    out += hang_;
    column_ = hang_width_;
  } else if (!word_.empty()) {
    out += spaces_;
    column_ += gap;
  }
  if (!word_.empty()) spaces_.clear();
  out += word_;
  column_ += word_width_;
  if (column_ > width_) column_ = (column_ - 1) % width_ + 1;  // the terminal has broken it
  word_.clear();
  word_width_ = 0;
  is_overlong_ = false;
}

void WordWrap::end_line(std::string& out) {
  flush(out);
  out += '\n';
  column_ = 0;
  hang({});
}

std::string wrap_words(std::string_view text, size_t width, std::string_view hang) {
  WordWrap wrap(width);
  std::string out;
  while (!text.empty()) {
    auto line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    wrap.hang(std::string(hang));
    wrap.take(out, line);
    text.remove_prefix(line.size());
  }
  wrap.flush(out);
  return out;
}

}  // namespace cru::cli
