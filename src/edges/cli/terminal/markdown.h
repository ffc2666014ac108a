#pragma once
/// Markdown for a terminal, as it comes: text goes in by pieces and comes out with escape sequences, each
/// part as soon as it is certain what it is. However the text is cut into pieces, the whole output is the
/// same. Everything shown is made safe for a terminal. Rules only.
#include <string>
#include <string_view>

#include "edges/cli/terminal/word_wrap.h"

namespace cru::cli {

class Markdown {
 public:
  /// Without `styled` the text stays as it is. Prose is broken between words before it is `width` columns
  /// wide, and then a word is shown once it is whole; 0 leaves that to the terminal.
  explicit Markdown(bool styled, size_t width = 0) : styled_(styled), wrap_(width) {}
  /// What can be shown now.
  std::string feed(std::string_view piece);
  /// What was held back, with every style closed; then it is ready for another text.
  std::string finish();

 private:
  enum class Line { unknown, prose, verbatim };
  void step(std::string& out, bool at_end);
  bool begin_line(std::string& out, bool at_end);
  bool begin_code_line(std::string& out, bool at_end);
  void begin_block(std::string& out, std::string_view line);
  bool go_on(std::string& out, bool at_end);
  void end_line(std::string& out);

  bool styled_;
  WordWrap wrap_;
  Line line_ = Line::unknown;
  std::string held_;   ///< of this line, not yet shown
  std::string base_;   ///< the line's own style
  std::string fence_;  ///< inside a fenced block: what opened it
  char before_ = ' ';  ///< the last byte that was shown of this line
};

/// The whole of a text.
std::string rendered_markdown(std::string_view text, bool styled, size_t width = 0);
/// The same, broken between words also where it is not styled.
std::string markdown_prose(std::string_view text, bool styled, size_t width);

}  // namespace cru::cli
