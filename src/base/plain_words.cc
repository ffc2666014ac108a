#include "base/plain_words.h"

#include "base/text.h"

namespace cru {

std::string as_shell_word(std::string_view word) {
  bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`&|;<>()*?[]#~!{}") == std::string_view::npos;
  if (plain) return std::string(word);
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string without_accents(std::string_view text) {
  // From U+00C0 on.
  constexpr std::string_view plain =
      "AAAAAAACEEEEIIIIDNOOOOO OUUUUYTsaaaaaaaceeeeiiiidnooooo ouuuuyty"
      "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlL"
      "lLlNnNnNnnNnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs";
  std::string out;
  while (!text.empty()) {
    auto next = first_code_point(text);
    auto place = static_cast<size_t>(next.value) - 0xC0;
    bool is_combining = next.valid && next.value >= 0x300 && next.value < 0x370;
    if (next.valid && next.value >= 0xC0 && place < plain.size() && plain[place] != ' ')
      out += plain[place];
    else if (!is_combining)
      out += text.substr(0, next.length);
    text.remove_prefix(next.length);
  }
  return out;
}

}  // namespace cru
