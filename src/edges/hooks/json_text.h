#pragma once
/// Rules that find one's way in the text of a JSON file, so that it can be changed in one place and stay
/// byte for byte the same everywhere else. Pure: text in, places out.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cru::hooks {

/// One value and where it stands.
struct JsonPlace {
  enum class Kind { object, array, text, other };
  Kind kind = Kind::other;
  size_t begin = 0, end = 0;  ///< of the value: its brackets and quotes included
  std::string key = {};       ///< of a member, decoded
  size_t key_begin = 0;       ///< of a member, where its key's quote stands
  std::string text = {};      ///< of a text, decoded
  std::vector<JsonPlace> children = {};

  /// Where the member or element begins.
  size_t start() const { return key_begin ? key_begin : begin; }
  /// The member that counts, which is the last of that name; null if there is none.
  const JsonPlace* member(std::string_view name) const;
  /// The text of a member; empty if it has none.
  std::string_view text_of(std::string_view name) const;
};

/// Reads one complete, strict JSON text of at most 64 levels.
/// Outcomes: the root; invalid_argument "line 3, column 7: …".
Result<JsonPlace> find_places(std::string_view text);

/// "line 3, column 7" of an offset.
std::string line_and_column(std::string_view text, size_t offset);

}  // namespace cru::hooks
