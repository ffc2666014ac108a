#pragma once
/// Texts of statements that are made while compiling. Each has a place of its own for good, so that the store
/// may find a prepared statement by it.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace cru {

/// A text as an argument of a template.
template <size_t size>
struct Literal {
  char chars[size];
  // NOLINTNEXTLINE: a literal becomes one without a word
  consteval Literal(const char (&text)[size]) { std::copy_n(text, size, chars); }
  constexpr std::string_view view() const { return {chars, size - 1}; }
};

/// A text under construction. (The library's own string cannot yet be used while compiling.)
struct TextMaker {
  std::array<char, 4096> chars = {};
  size_t size = 0;

  constexpr TextMaker& operator<<(std::string_view text) {
    if (text.size() > chars.size() - size) throw "the statement is too long";
    std::ranges::copy(text, chars.data() + size);
    size += text.size();
    return *this;
  }
};

/// The text that `Maker::make()` gives, for as long as the program runs.
template <class Maker>
struct StaticText {
  static constexpr auto chars = [] {
    constexpr TextMaker made = Maker::make();
    std::array<char, made.size> out = {};
    std::copy_n(made.chars.begin(), made.size, out.begin());
    return out;
  }();
  static constexpr std::string_view view{chars.data(), chars.size()};
};

/// "a, b", of an alias "t.a, t.b"; `ending` comes behind each.
constexpr void list_columns(TextMaker& text, std::span<const std::string_view> names,
                            std::string_view alias = {}, std::string_view ending = {}) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text << ", ";
    if (!alias.empty()) text << alias << ".";
    text << names[i] << ending;
  }
}

/// `text` with the columns in place of each "{}", and in place of "{t}" with the alias `t`.
constexpr TextMaker with_columns(std::string_view text, std::span<const std::string_view> names,
                                 std::string_view ending = {}) {
  TextMaker made;
  size_t at = 0;
  for (auto open = text.find('{'); open != text.npos; open = text.find('{', at)) {
    auto close = text.find('}', open);
    if (close == text.npos) throw "a brace of the statement is not closed";
    made << text.substr(at, open - at);
    list_columns(made, names, text.substr(open + 1, close - open - 1), ending);
    at = close + 1;
  }
  if (at == 0) throw "a statement without {} does not name the columns of the list";
  return made << text.substr(at);
}

}  // namespace cru
