#pragma once
/// YAML, bounded: a small tree with line marks, made from yaml-cpp's events.
/// Refuses aliases, anchors, tags, duplicate keys, a second document, more than
/// 32 levels, 10,000 nodes or 1 MiB: what people write by hand needs none of these.
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cru {

struct YamlMember;

struct YamlNode {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  int line = 0;  ///< from 1
  std::string text;
  bool quoted = false;
  std::vector<YamlNode> items;      ///< of a list
  std::vector<YamlMember> members;  ///< of a map, in order

  /// Null if there is no such member.
  const YamlNode* find(std::string_view key) const;
};

struct YamlMember {
  std::string key;
  YamlNode value;
  int line = 0;  ///< the key's own; a nested value begins further down
};

/// Outcomes: the tree (null for an empty text); invalid_argument "LINE: reason".
Result<YamlNode> parse_yaml(std::string_view text);

}  // namespace cru
