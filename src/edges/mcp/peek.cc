#include "edges/mcp/peek.h"

namespace cru::mcp {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Walks over the members of one object, skipping the values.
class Members {
 public:
  explicit Members(std::string_view text) : text_(text) {
    skip_space();
    inside_ = take('{');
  }

  /// The next key, whose value follows; false at the end, or where it is no object.
  bool next(std::string_view& key) {
    if (!inside_) return false;
    skip_space();
    auto quoted = string();
    key = unquoted(quoted);
    skip_space();
    inside_ = !quoted.empty() && take(':');
    skip_space();
    return inside_;
  }
  /// The value of the key just read.
  std::string_view value() {
    auto begin = at_;
    int depth = 0;
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '"') {
        string();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (depth < 0 || (depth == 0 && c == ',')) break;
      ++at_;
    }
    auto end = at_;
    while (end > begin && is_space(text_[end - 1])) --end;
    inside_ = take(',');
    return text_.substr(begin, end - begin);
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// With its quotation marks; empty if it does not end.
  std::string_view string() {
    auto begin = at_;
    if (!take('"')) return {};
    while (at_ < text_.size()) {
      at_ = text_.find_first_of("\"\\", at_);
      if (at_ == std::string_view::npos) break;
      if (text_[at_] == '"') return text_.substr(begin, ++at_ - begin);
      at_ += 2;
    }
    at_ = text_.size();
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  bool inside_ = false;
};

}  // namespace

std::string_view unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return {};
  return text.substr(1, text.size() - 2);
}

Peeked peek(std::string_view line) {
  Peeked found;
  while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
  found.is_batch = line.starts_with('[');
  Members members(line);
  std::string_view key;
  while (members.next(key)) {
    if (key == "result" || key == "error") {
      found.is_response = true;
      if (!found.id.empty()) break;
    }
    auto value = members.value();
    if (key == "id" && value != "null") found.id = value;
    if (key == "method") found.method = unquoted(value);
    if (key == "params") found.params = value;
  }
  return found;
}

std::string_view member_text(std::string_view object, std::string_view wanted) {
  Members members(object);
  std::string_view key;
  while (members.next(key)) {
    auto value = members.value();
    if (key == wanted) return value;
  }
  return {};
}

std::string with_id(std::string_view line, std::string_view id, std::string_view other) {
  auto begin = static_cast<size_t>(id.data() - line.data());
  std::string out(line.substr(0, begin));
  out += other;
  out += line.substr(begin + id.size());
  return out;
}

}  // namespace cru::mcp
