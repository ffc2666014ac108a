#pragma once
/// WordWrap: breaks lines between words as the text comes. Its input is safe for a terminal, with whole
/// escape sequences; however it is cut, the whole output is the same. Rules only.
#include <string>
#include <string_view>

namespace cru::cli {

class WordWrap {
 public:
  /// 0 breaks nothing.
  explicit WordWrap(size_t width) : width_(width) {}
  size_t width() const { return width_; }

  /// What the further lines of this one begin with; until the line ends.
  void hang(std::string indent);
  /// Appends what is certain of `text`: the last word waits until it is whole.
  void take(std::string& out, std::string_view text);
  /// Appends all of `text` as it is: code, a table.
  void pass(std::string& out, std::string_view text);
  /// Appends the word that waits.
  void flush(std::string& out);

 private:
  void place(std::string& out);
  void end_line(std::string& out);

  size_t width_;
  std::string hang_;
  size_t hang_width_ = 0;
  size_t column_ = 0;   ///< where the next word would begin, without `spaces_`
  std::string spaces_;  ///< before the word that waits
  std::string word_;    ///< with its escape sequences
  size_t word_width_ = 0;
  bool is_overlong_ =
      false;  ///< the word does not fit on any line: it goes as it comes, for the terminal to break
};

/// All of a text, with further lines of each line beginning with `hang`.
std::string wrap_words(std::string_view text, size_t width, std::string_view hang = {});

}  // namespace cru::cli
