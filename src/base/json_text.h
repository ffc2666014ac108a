#pragma once
/// ObjectText: a JSON object written as text at once, for what is made often and never looked into. Its
/// members stand in the order in which they are added; that no name comes twice is the caller's business.
#include <span>

#include "base/json.h"

namespace cru {

class ObjectText {
 public:
  explicit ObjectText(size_t expected) { out_.reserve(expected); }
  void null(std::string_view name) {
    begin(name);
    out_ += "null";
  }
  void text(std::string_view name, std::string_view value) {
    begin(name);
    append_json_string(out_, value);
  }
  /// null for an empty text.
  void text_or_null(std::string_view name, std::string_view value) {
    value.empty() ? null(name) : text(name, value);
  }
  void number(std::string_view name, int64_t value);
  void texts(std::string_view name, std::span<const std::string> values);
  /// A member that is JSON text already.
  void json(std::string_view name, std::string_view text) {
    begin(name);
    out_ += text;
  }
  std::string take() {
    out_ += out_.empty() ? "{}" : "}";
    return std::move(out_);
  }

 private:
  /// Names are constants that need no escaping.
  void begin(std::string_view name);
  std::string out_;
};

}  // namespace cru
