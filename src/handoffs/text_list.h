#pragma once
/// A list of texts in one column, as JSON.
#include <string>
#include <vector>

#include "base/json.h"

namespace cru::coordination {

inline std::string to_text_list(const std::vector<std::string>& texts) {
  return to_text(json::value_from(texts));
}

inline std::vector<std::string> from_text_list(const std::string& text) {
  std::vector<std::string> texts;
  if (auto list = parse_json(text); list && list->is_array())
    for (const auto& item : list->get_array()) texts.emplace_back(item.as_string());
  return texts;
}

}  // namespace cru::coordination
