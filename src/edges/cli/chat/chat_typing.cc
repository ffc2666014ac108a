// Rules.
#include "edges/cli/chat/chat_typing.h"

#include "base/text.h"
#include "edges/cli/terminal/markdown_inline.h"

namespace cru::cli {
namespace {

constexpr std::string_view paste_begins = "\x1b[200~", paste_ends = "\x1b[201~";

}  // namespace

bool Typing::take_paste_mark() {
  for (auto mark : {paste_begins, paste_ends})
    if (bytes_.starts_with(mark)) {
      pasting_ = mark == paste_begins;
      after_return_ = false;
      bytes_.erase(0, mark.size());
      return true;
    }
  return false;
}

bool Typing::may_be_paste_mark() const {
  return bytes_.size() < paste_begins.size() &&
         (paste_begins.starts_with(bytes_) || paste_ends.starts_with(bytes_));
}

std::optional<char32_t> Typing::next(bool settled) {
  for (;;) {
    if (!ready_.empty()) {
      auto c = ready_.front();
      ready_.pop_front();
      return c;
    }
    if (bytes_.empty()) return {};
    if (take_paste_mark()) continue;
    bool may_grow = may_be_paste_mark() || incomplete_tail(bytes_) == bytes_.size();
    if (may_grow && !settled) return {};
    auto c = first_code_point(bytes_);
    bytes_.erase(0, c.length);
    if (!c.valid) continue;
    bool is_return = c.value == '\r', second_of_two = c.value == '\n' && after_return_;
    after_return_ = is_return;
    if (!pasting_) {
      ready_.push_back(c.value);
    } else if (is_return || c.value == '\n') {
      if (second_of_two) continue;
      if (!verbatim) ready_.push_back('\\');
      ready_.push_back('\n');
    } else if (c.value >= ' ' || c.value == '\t') {
      if (c.value != 0x7f) ready_.push_back(c.value);
    }
  }
}

}  // namespace cru::cli
