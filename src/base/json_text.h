#pragma once
/// ObjectText: a JSON object written as text at once, for what is made often and never looked into. Its
/// members stand in the order in which they are added; that no name comes twice is the caller's business.
#include <span>

#include "base/json.h"

namespace cru {

/// The name of a member as it stands in the text, made when the program is compiled: at most 32 characters
/// that need no escaping.
class MemberName {
 public:
  template <size_t size>
  consteval MemberName(const char (&name)[size]) : size_(size + 3) {  // NOLINT: a name is written as a text
    text_[0] = ',';
    text_[1] = '"';
    for (size_t i = 0; i + 1 < size; ++i) {
      if (name[i] < ' ' || name[i] == '"' || name[i] == '\\') throw "the name needs escaping";
      text_[i + 2] = name[i];
    }
    text_[size + 1] = '"';
    text_[size + 2] = ':';
  }
  std::string_view text() const { return {text_, size_}; }

 private:
  char text_[36] = {};
  size_t size_;
};

class ObjectText {
 public:
  explicit ObjectText(size_t expected) { out_.reserve(expected); }
  void null(const MemberName& name) {
    begin(name);
    out_ += "null";
  }
  void text(const MemberName& name, std::string_view value) {
    begin(name);
    append_json_string(out_, value);
  }
  /// null for an empty text.
  void text_or_null(const MemberName& name, std::string_view value) {
    value.empty() ? null(name) : text(name, value);
  }
  void boolean(const MemberName& name, bool value) {
    begin(name);
    out_ += value ? "true" : "false";
  }
  void number(const MemberName& name, int64_t value);
  void texts(const MemberName& name, std::span<const std::string> values);
  /// A member that is JSON text already.
  void json(const MemberName& name, std::string_view text) {
    begin(name);
    out_ += text;
  }
  std::string take() {
    if (out_.empty()) return "{}";
    out_.front() = '{';  // in place of the comma before its first member
    out_ += '}';
    return std::move(out_);
  }

 private:
  void begin(const MemberName& name) { out_ += name.text(); }
  std::string out_;
};

}  // namespace cru
