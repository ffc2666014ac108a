#include "edges/hooks/json_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace cru::hooks {
namespace {

constexpr int deepest = 64;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<JsonPlace> read() {
    JsonPlace root;
    skip_space();
    if (!read_value(root, 0)) return failed();
    skip_space();
    if (at_ != text_.size()) {
      reason_ = "unexpected text after the value";
      return failed();
    }
    return root;
  }

 private:
  std::unexpected<Error> failed() {
    return fail(Code::invalid_argument, line_and_column(text_, at_) + ": " + reason_);
  }
  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  bool read_value(JsonPlace& place, int depth) {
    if (depth > deepest) return refuse("nested too deeply");
    place.begin = at_;
    bool read = false;
    switch (peek()) {
      case '{':
      case '[':
        read = read_list(place, depth);
        break;
      case '"':
        place.kind = JsonPlace::Kind::text;
        read = read_text(place.text);
        break;
      default:
        read = read_word();
    }
    place.end = at_;
    return read;
  }

  bool read_list(JsonPlace& place, int depth) {
    bool is_object = peek() == '{';
    char close = is_object ? '}' : ']';
    place.kind = is_object ? JsonPlace::Kind::object : JsonPlace::Kind::array;
    ++at_;
    skip_space();
    if (peek() == close) {
      ++at_;
      return true;
    }
    for (;;) {
      JsonPlace child;
      if (is_object) {
        child.key_begin = at_;
        if (peek() != '"') return refuse("expected a key in quotes");
        if (!read_text(child.key)) return false;
        skip_space();
        if (peek() != ':') return refuse("expected a colon");
        ++at_;
        skip_space();
      }
      if (!read_value(child, depth + 1)) return false;
      place.children.push_back(std::move(child));
      skip_space();
      if (peek() == close) {
        ++at_;
        return true;
      }
      if (peek() != ',') return refuse(fmt::format("expected a comma or \"{}\"", close));
      ++at_;
      skip_space();
    }
  }

  /// The end of the quoted text is found here; what it says is left to the one JSON parser.
  bool read_text(std::string& into) {
    size_t from = at_++;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return refuse("a control character in a string");
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (at_ >= text_.size()) {
      at_ = from;
      return refuse("unterminated string");
    }
    ++at_;
    return decode(from, [&](const json::value& value) { into = std::string(value.as_string()); });
  }

  bool read_word() {
    size_t from = at_;
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n,]}:[{\"").find(text_[at_]) == std::string_view::npos)
      ++at_;
    if (at_ == from) return refuse(at_ == text_.size() ? "unexpected end of file" : "expected a value");
    return decode(from, [](const json::value&) {});
  }

  template <class Take>
  bool decode(size_t from, Take take) {
    auto value = parse_json(text_.substr(from, at_ - from));
    if (!value) {
      at_ = from;
      return refuse("not a JSON value");
    }
    take(*value);
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string reason_;
};

}  // namespace

const JsonPlace* JsonPlace::member(std::string_view name) const {
  const JsonPlace* found = nullptr;
  if (kind == Kind::object)
    for (const auto& child : children)
      if (child.key == name) found = &child;
  return found;
}

std::string_view JsonPlace::text_of(std::string_view name) const {
  const auto* found = member(name);
  return found && found->kind == Kind::text ? std::string_view(found->text) : std::string_view();
}

std::string line_and_column(std::string_view text, size_t offset) {
  auto before = text.substr(0, std::min(offset, text.size()));
  auto line = std::ranges::count(before, '\n') + 1;
  auto last = before.rfind('\n');
  auto column = last == std::string_view::npos ? before.size() + 1 : before.size() - last;
  return fmt::format("line {}, column {}", line, column);
}

Result<JsonPlace> find_places(std::string_view text) { return Reader(text).read(); }

}  // namespace cru::hooks
