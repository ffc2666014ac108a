#include "base/choice.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace cru {

std::optional<std::string> choose_one(const std::vector<std::string>& options, std::string_view text) {
  for (const auto& option : options)
    if (equal_ignoring_case(option, text)) return option;
  size_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= options.size())
    return options[number - 1];
  return {};
}

std::optional<std::string> choose_several(const std::vector<std::string>& options, std::string_view text) {
  if (auto whole = choose_one(options, trim(text))) return whole;  // its own text may have a comma
  std::string out;
  for (;;) {
    auto comma = text.find(',');
    auto chosen = choose_one(options, trim(text.substr(0, comma)));
    if (!chosen) return {};
    out += (out.empty() ? "" : ", ") + *chosen;
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

std::string numbered(const std::vector<std::string>& options) {
  std::string out;
  for (size_t i = 0; i < options.size(); ++i)
    out += fmt::format("{}{}) {}", i ? ", " : "", i + 1, options[i]);
  return out;
}

}  // namespace cru
