#pragma once
/// Rules that find one's way in the text of a TOML file, so that it can be changed in one place and stay byte
/// for byte the same everywhere else. Pure: text in, places out. Writes no TOML.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cru::hooks {

/// One value and where it stands.
struct TomlPlace {
  enum class Kind { table, array, text, other };
  Kind kind = Kind::other;
  bool is_inline =
      true;  ///< written as one value; false for tables and arrays made by headers or dotted keys
  size_t begin = 0, end = 0;  ///< of a value: its brackets and quotes included. One that is not inline has
                              ///< only its begin: the header or key that made it
  std::string key = {};       ///< of a member, decoded
  size_t key_begin = 0;       ///< of a member: where the last part of its key begins
  std::string text = {};      ///< of a text, decoded; of a number, bool or time, as it is written
  std::vector<TomlPlace> children = {};  ///< of a table in the order of their keys

  /// Where the member or element begins.
  size_t start() const { return key.empty() ? begin : key_begin; }
  /// Null if there is none.
  const TomlPlace* member(std::string_view name) const;
  /// The text of a member; empty if it has none.
  std::string_view text_of(std::string_view name) const;
};

/// Reads one complete TOML text. Outcomes: the root table; invalid_argument "line 3, column 7: …".
Result<TomlPlace> find_toml_places(std::string_view text);

/// Both say the same, wherever it stands.
bool say_the_same(const TomlPlace& a, const TomlPlace& b);

}  // namespace cru::hooks
