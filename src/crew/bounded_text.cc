#include "crew/bounded_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace cru::crew {

std::string cut_to(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  auto keep = character_start(text, limit);
  auto marker = fmt::format("\n[… {} more bytes]", text.size() - keep);
  text.resize(keep);
  return text + marker;
}

void KeptOutput::add(std::string_view bytes) {
  total_ += static_cast<int64_t>(bytes.size());
  auto taken = std::min(bytes.size(), half_ - head_.size());
  head_ += bytes.substr(0, taken);
  bytes.remove_prefix(taken);
  if (bytes.size() > half_) bytes.remove_prefix(bytes.size() - half_);
  tail_ += bytes;
  if (tail_.size() > 2 * half_ + 4096) tail_.erase(0, tail_.size() - half_);
}

std::string KeptOutput::text() const {
  auto left_out = total_ - static_cast<int64_t>(head_.size() + std::min(tail_.size(), half_));
  if (left_out <= 0) return valid_utf8(head_ + tail_);
  std::string_view last = tail_;
  last.remove_prefix(tail_.size() - std::min(tail_.size(), half_));
  last = skip_partial_character(last);
  auto first = std::string_view(head_).substr(0, head_.size());
  auto whole = character_start(head_, head_.size() - std::min<size_t>(head_.size(), 1));
  if (!head_.empty() && !first_code_point(first.substr(whole)).valid) first = first.substr(0, whole);
  left_out = total_ - static_cast<int64_t>(first.size() + last.size());
  return fmt::format("{}\n[… {} bytes omitted …]\n{}", valid_utf8(first), left_out, valid_utf8(last));
}

}  // namespace cru::crew
