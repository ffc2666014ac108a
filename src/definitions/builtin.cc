#include <map>

#include "definitions/registry.h"

namespace cru::definitions {

/// Made from builtin/*.md at build time (cmake/embed.cmake): file name to text.
std::map<std::string_view, std::string_view> builtin_texts();

std::vector<Definition> builtin_definitions() {
  static const auto all = [] {
    std::vector<Definition> out;
    for (auto [file, text] : builtin_texts()) {
      auto stem = file.substr(0, file.size() - 3);
      auto parsed = parse_definition(text, "builtin:" + std::string(file), stem, Source::builtin);
      CRU_ASSERT(parsed.definition.has_value());
      out.push_back(*std::move(parsed.definition));
    }
    return out;
  }();
  return all;
}

}  // namespace cru::definitions
