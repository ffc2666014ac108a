#pragma once
/// Colours: what of a run's escape sequences reaches our own streams. Sequences that choose colours and
/// styles (SGR, `\x1b[…m`) pass to a terminal and act on nothing but the text; all others are made visible
/// there.
#include <string>
#include <string_view>

namespace cru::cli {

/// Where text goes.
enum class Colours {
  shown,    ///< a terminal: SGR passes, the rest is made safe
  dropped,  ///< a terminal without colours: SGR is left out, the rest is made safe
  plain,    ///< a file or a pipe: SGR is left out, the rest stays byte for byte
};

/// One stream's text, piece by piece: a sequence may begin in one piece and end in the next.
class ColourFilter {
 public:
  explicit ColourFilter(Colours colours) : colours_(colours) {}

  /// The piece as it is to be written. What may be the beginning of a sequence waits for the next piece,
  /// unless this one `ends` a line.
  std::string take(std::string_view text, bool ends);
  /// What was held back, and what brings the colours back to the usual ones.
  std::string finish();

 private:
  std::string safe(std::string_view text) const;
  const Colours colours_;
  std::string held_;
  bool is_coloured_ = false;
};

}  // namespace cru::cli
