#include "base/agent_id.h"

#include "base/text.h"

namespace cru {

bool is_agent_id(std::string_view text) {
  if (text.size() > 128 || std::ranges::none_of(text, is_letter_or_digit)) return false;
  return std::ranges::all_of(
      text, [](char c) { return is_letter_or_digit(c) || is_one_of({&c, 1}, {".", "_", ":", "@", "-"}); });
}
const std::string_view agent_id_rule =
    "1 to 128 characters of A-Z a-z 0-9 . _ : @ -, at least one of them a letter or a digit";

}  // namespace cru
