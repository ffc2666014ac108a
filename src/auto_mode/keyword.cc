#include "auto_mode/keyword.h"

#include <algorithm>

#include "base/text.h"

namespace cru::auto_mode {

bool KeywordScanner::add(std::string_view more) {
  if (has_keyword()) return true;
  if (keyword_.empty()) {
    text_ += more;
    return false;
  }
  auto overlap = std::min(text_.size(), keyword_.size() - 1);
  auto from = text_.size() - overlap;
  text_ += more;
  found_ = text_.find(keyword_, from);
  if (has_keyword()) text_.resize(found_);
  return has_keyword();
}

std::string KeywordScanner::text() const { return std::string(trim(text_)); }

void KeywordScanner::clear() {
  text_.clear();
  found_ = std::string::npos;
}

}  // namespace cru::auto_mode
