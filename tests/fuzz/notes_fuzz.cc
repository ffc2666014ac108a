// A note's pieces are bounded, in order, and whole characters; its sections lie within each other.
#include "notes/note_text.h"

#include <algorithm>

#include "base/text.h"
#include "fuzz.h"

namespace cru::fuzz {
namespace {

constexpr std::string_view replaced = "\xEF\xBF\xBD";

void check_pieces(std::string_view input, bool is_text) {
  auto lines = 1 + std::ranges::count(input, '\n');
  int before = 1;
  for (size_t most : {size_t(3), size_t(4096)}) {
    auto found = notes::split(input, most);
    require(found.size() <= most, "there are at most as many pieces as asked for");
    before = 1;
    for (const auto& piece : found) {
      require(piece.text.size() <= 3100 && piece.heading.size() <= 600, "a piece is bounded");
      require(piece.line >= before && piece.line <= lines, "pieces are in order, on lines of the note");
      require(!is_text || (is_utf8(piece.text) && is_utf8(piece.heading)), "a piece is whole characters");
      require(!is_text || piece.heading.find(replaced) == std::string::npos, "nothing was cut in two");
      before = piece.line;
    }
  }
}

void check_sections(std::string_view input) {
  size_t before = 0;
  for (const auto& section : notes::sections_of(input)) {
    require(section.begin < section.end && section.end <= input.size(), "a section is in the text");
    require(section.begin >= before && input[section.begin] == '#', "it begins with its heading");
    require(section.level >= 1 && section.level <= 6, "a heading is of six levels");
    before = section.begin;
  }
}

}  // namespace

void check(std::string_view input) {
  bool is_text = is_utf8(input) && input.find(replaced) == std::string_view::npos;
  check_pieces(input, is_text);
  check_sections(input);
  auto title = notes::title_of(input, "a/b.md");
  require(!title.empty() && is_utf8(title) && title.find('\n') == std::string::npos, "a note has a title");
  require(!is_text || title.find(replaced) == std::string::npos, "no title is cut in two");
  auto words = notes::words_of(input);
  for (const auto& word : words) require(!word.empty() && word.size() <= 64, "a word is short");
  auto query = notes::any_of(words);
  require(std::ranges::count(query, '"') % 2 == 0 && query.size() <= 32 * 80, "a query is quoted, and short");
  auto whole = character_start(input, input.size() / 2);
  require(whole <= input.size() / 2, "a cut is not behind what was asked for");
  require(!is_utf8(input) || is_utf8(input.substr(0, whole)), "a cut splits no character");
  require(valid_utf8(input) == valid_utf8(valid_utf8(input)), "valid text stays");
  notes::may_be_note(input);
}

}  // namespace cru::fuzz
