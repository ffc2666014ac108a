#pragma once
/// KeywordScanner: reads a reply while it comes and finds the termination keyword in it, wherever the pieces
/// are cut. Rules only.
#include <string>
#include <string_view>

namespace cru::auto_mode {

inline constexpr std::string_view default_keyword = "[CONVERSATION_END]";

class KeywordScanner {
 public:
  explicit KeywordScanner(std::string keyword) : keyword_(std::move(keyword)) {}
  /// True once the keyword is there. What comes after it is not kept.
  bool add(std::string_view more);
  bool has_keyword() const { return found_ != std::string::npos; }
  /// The words before the keyword, or all of them, without blanks around.
  std::string text() const;
  /// The reply begins again.
  void clear();

 private:
  const std::string keyword_;
  std::string text_;
  size_t found_ = std::string::npos;
};

}  // namespace cru::auto_mode
