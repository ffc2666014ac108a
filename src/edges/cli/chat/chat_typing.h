#pragma once
/// Typing: bytes of a terminal as characters, with pastes recognised: the newlines of a paste come as
/// "\\\n", its control characters not at all. Rules only.
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace cru::cli {

class Typing {
 public:
  bool verbatim = false;  ///< newlines of a paste come as they are
  void add(std::string_view bytes) { bytes_ += bytes; }
  /// The next character; none if more bytes must come first, or `settled` says that none will come soon.
  std::optional<char32_t> next(bool settled);
  /// Something is held back that may be the beginning of a longer sequence.
  bool is_waiting() const { return !bytes_.empty(); }

 private:
  bool take_paste_mark();
  bool may_be_paste_mark() const;
  std::string bytes_;
  std::deque<char32_t> ready_;
  bool pasting_ = false, after_return_ = false;
};

}  // namespace cru::cli
