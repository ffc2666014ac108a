#pragma once
/// Bounded text: what a model gets of something long or of unknown bytes. Rules only.
#include <cstdint>
#include <string>
#include <string_view>

namespace cru::crew {

/// At most `limit` bytes of `text`, and then `[… N more bytes]`.
std::string cut_to(std::string text, size_t limit);

/// The first and the last of a stream of any length.
class KeptOutput {
 public:
  explicit KeptOutput(size_t limit) : half_(limit / 2) {}
  void add(std::string_view bytes);
  int64_t total() const { return total_; }
  /// With a marker in the middle where something was left out; always UTF-8.
  std::string text() const;

 private:
  size_t half_;
  int64_t total_ = 0;
  std::string head_, tail_;
};

}  // namespace cru::crew
