// YAML is bounded, its marks are lines of the text, its keys stand once; a text that is quoted for YAML is
// read back as it was.
#include "base/yaml.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "crew/bounded_text.h"
#include "crew/chat_files.h"
#include "fuzz.h"

namespace cru::fuzz {
namespace {

struct Bounds {
  int lines = 0;
  size_t nodes = 0;
};

void walk(const YamlNode& node, Bounds& bounds, size_t depth) {
  require(++bounds.nodes <= 10'000 && depth <= 32, "a tree is bounded");
  require(node.line >= 1 && node.line <= bounds.lines, "a value is on a line of the text");
  for (const auto& item : node.items) walk(item, bounds, depth + 1);
  std::set<std::string_view> keys;
  for (const auto& member : node.members) {
    require(keys.insert(member.key).second, "a key stands once");
    require(node.find(member.key) == &member.value, "a member is found by its key");
    require(member.line >= 1 && member.line <= bounds.lines, "a key is on a line of the text");
    walk(member.value, bounds, depth + 1);
  }
}

}  // namespace

void check(std::string_view input) {
  // yaml-cpp counts a \r as a line's end too.
  Bounds bounds{static_cast<int>(std::ranges::count(input, '\n') + std::ranges::count(input, '\r')) + 2};
  auto tree = parse_yaml(input);
  if (tree) {
    if (tree->line > 0) walk(*tree, bounds, 0);
  } else {
    require(std::atoi(tree.error().message.c_str()) >= 1, "an error begins with its line");
    require(tree.error().message.find(": ") != std::string::npos, "an error has a reason");
  }

  auto quoted = parse_yaml("key: " + crew::yaml_text(input) + "\nlast: 1\n");
  require(quoted && quoted->members.size() == 2, "a quoted text is one value");
  require(quoted->members[0].value.text == valid_utf8(input), "a quoted text is read back");
}

}  // namespace cru::fuzz
