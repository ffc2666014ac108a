// Codex' configuration, written by Codex and by people: ours is added to it and taken away, and the bytes are
// those from before; or nothing is done, and the error says why.
#include "edges/hooks/codex_found.h"
#include "edges/hooks/entries.h"
#include "fuzz.h"

namespace cru::fuzz {

using namespace hooks;

namespace {

void require_places(std::string_view text, const TomlPlace& place) {
  require(place.begin <= text.size() && place.end <= text.size() && place.key_begin <= text.size(),
          "a place is in the text");
  for (const auto& child : place.children) require_places(text, child);
}

}  // namespace

void check(std::string_view input) {
  auto root = find_toml_places(input);
  if (!root) return require_readable(root.error());
  require_places(input, *root);
  std::string before(input);
  auto less = take_from_codex(before);
  if (!less) return require_readable(less.error());
  auto without = less->value_or("");
  require(find_toml_places(without).has_value(), "without ours it is still TOML");
  auto more = add_to_codex(before, {});
  if (!more) return require_readable(more.error());
  require(*in_codex(*more) == Installed::yes, "ours is there");
  require(**add_to_codex(*more, {}) == **more, "twice is once");
  // What was ours before may have stood among others.
  auto again = take_from_codex(*more);
  require(again.has_value(), "what was added can be taken away");
  if (without == before) require(again->value_or("") == before, "the bytes are as before");
}

}  // namespace cru::fuzz
