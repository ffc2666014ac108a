// A settings file of someone else's: an entry that is added and taken away leaves the bytes from before, and
// in between the file is JSON with one entry more.
#include "edges/hooks/json_edit.h"

#include "fuzz.h"

namespace cru::fuzz {
namespace {

using namespace hooks;

/// The place that is reached by the same way in another tree.
const JsonPlace* at_offset(const JsonPlace& root, size_t begin) {
  if (root.begin == begin && root.kind != JsonPlace::Kind::text) return &root;
  for (const auto& child : root.children)
    if (child.begin <= begin && begin < child.end) return at_offset(child, begin);
  return nullptr;
}

void add_and_remove(std::string_view text, const JsonPlace& list, const JsonStyle& style) {
  bool is_object = list.kind == JsonPlace::Kind::object;
  auto added = with_entry(text, list, is_object ? "cru-added" : "",
                          json::value{{"command", "cru hook"}, {"list", {1, "two"}}}, style);
  auto places = find_places(added);
  require(places.has_value(), "with an entry it is still JSON");
  const auto* now = at_offset(*places, list.begin);
  require(now && now->children.size() == list.children.size() + 1, "there is one entry more");
  require(without_entry(added, *now, list.children.size()) == text, "without it the bytes are as before");
}

void visit(std::string_view text, const JsonPlace& place, const JsonStyle& style, int& budget) {
  require(place.begin < place.end && place.end <= text.size(), "a value is in the text");
  if (place.kind != JsonPlace::Kind::object && place.kind != JsonPlace::Kind::array) return;
  if (budget-- > 0) add_and_remove(text, place, style);
  for (const auto& child : place.children) visit(text, child, style, budget);
}

}  // namespace

void check(std::string_view input) {
  auto root = find_places(input);
  auto parsed = parse_json(input);
  require(root || !parsed, "what is JSON is found one's way in");
  if (!root) return require_readable(root.error());
  int budget = 16;
  visit(input, *root, style_of(input, *root), budget);
}

}  // namespace cru::fuzz
