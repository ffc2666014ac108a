#include "base/json_text.h"

#include <charconv>

namespace cru {

void ObjectText::number(const MemberName& name, int64_t value) {
  begin(name);
  char digits[24];
  auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  out_.append(digits, end);
}

void ObjectText::texts(const MemberName& name, std::span<const std::string> values) {
  begin(name);
  out_ += '[';
  for (const auto& value : values) {
    if (&value != values.data()) out_ += ',';
    append_json_string(out_, value);
  }
  out_ += ']';
}

}  // namespace cru
