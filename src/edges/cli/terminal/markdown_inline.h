#pragma once
/// The inside of a line of markdown: emphasis, code, links. Rules only.
#include <string>
#include <string_view>

namespace cru::cli {

/// Where a piece of a line stands.
struct Around {
  std::string_view outer;  ///< the style it stands in, to go back to
  char before = ' ';
  bool whole = false;  ///< the line ends with this piece
};

/// Appends what is certain of `text`, with escape sequences, and tells how many bytes of it that was. What
/// may still become emphasis, code or a link is held back, for at most 1000 bytes.
size_t show_inline(std::string& out, std::string_view text, Around around);

}  // namespace cru::cli
