// The only file that includes toml++, which takes long to read. It stands alone (src/CMakeLists.txt).
#include "edges/hooks/toml_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

// toml++ 3.3 asserts that a header's key begins like one before it looks ("[[[" ends the program), and tells
// the compiler so where assertions are off. Without either it finds the error itself.
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_UNRELEASED_FEATURES 1  // TOML 1.1, as Codex reads it
#include <toml++/toml.h>

namespace cru::hooks {
namespace {

/// From toml++'s lines and columns, which count characters, to offsets.
class Offsets {
 public:
  explicit Offsets(std::string_view text) : text_(text) {
    lines_.push_back(text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
    for (size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') lines_.push_back(i + 1);
  }
  size_t at(const toml::source_position& position) const {
    if (position.line == 0 || position.line > lines_.size()) return text_.size();
    size_t offset = lines_[position.line - 1];
    for (toml::source_index column = 1; column < position.column && offset < text_.size(); ++column)
      offset += first_code_point(text_.substr(offset)).length;
    return offset;
  }

 private:
  std::string_view text_;
  std::vector<size_t> lines_;
};

TomlPlace place_of(const toml::node& node, std::string_view text, const Offsets& offsets) {
  TomlPlace place;
  place.begin = offsets.at(node.source().begin);
  place.end = offsets.at(node.source().end);
  if (const auto* table = node.as_table()) {
    place.kind = TomlPlace::Kind::table;
    place.is_inline = table->is_inline();
    for (const auto& [key, value] : *table) {
      auto& child = place.children.emplace_back(place_of(value, text, offsets));
      child.key = std::string(key.str());
      child.key_begin = offsets.at(key.source().begin);
    }
  } else if (const auto* array = node.as_array()) {
    place.kind = TomlPlace::Kind::array;
    for (const auto& value : *array) place.children.push_back(place_of(value, text, offsets));
    // Made by headers if its elements are: `[[a]]` also begins with a bracket.
    place.is_inline = place.children.empty() || place.children[0].is_inline;
  } else if (const auto* value = node.as_string()) {
    place.kind = TomlPlace::Kind::text;
    place.text = value->get();
  } else {
    place.text = text.substr(place.begin, place.end - place.begin);
  }
  return place;
}

/// "Error while parsing key-value pair: expected '=', saw 'x'" without its first half.
std::string reason_of(std::string_view description) {
  constexpr std::string_view opening = "Error while parsing ";
  auto colon = description.find(": ");
  if (description.starts_with(opening) && colon != description.npos) description.remove_prefix(colon + 2);
  return safe_for_terminal(description);
}

}  // namespace

const TomlPlace* TomlPlace::member(std::string_view name) const {
  if (kind != Kind::table) return nullptr;
  auto found = std::ranges::find(children, name, &TomlPlace::key);
  return found == children.end() ? nullptr : &*found;
}

std::string_view TomlPlace::text_of(std::string_view name) const {
  const auto* found = member(name);
  return found && found->kind == Kind::text ? std::string_view(found->text) : std::string_view();
}

Result<TomlPlace> find_toml_places(std::string_view text) {
  auto parsed = toml::parse(text);
  if (!parsed) {
    const auto& error = parsed.error();
    return fail(Code::invalid_argument,
                fmt::format("line {}, column {}: {}", error.source().begin.line, error.source().begin.column,
                            reason_of(error.description())));
  }
  return place_of(parsed.table(), text, Offsets(text));
}

bool say_the_same(const TomlPlace& a, const TomlPlace& b) {
  return a.kind == b.kind && a.key == b.key && a.text == b.text &&
         std::ranges::equal(a.children, b.children, say_the_same);
}

}  // namespace cru::hooks
