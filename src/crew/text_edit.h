#pragma once
/// Text edit: one piece of a text replaced by another, exactly. Rules only.
#include <string>
#include <string_view>

#include "base/result.h"

namespace cru::crew {

struct Edited {
  std::string text;
  size_t replaced = 0;
  size_t line = 0;  ///< where the first one begins, from 1
};

/// In a text whose lines end in CRLF, `old_text` and `new_text` may be written with LF; CRLF stays.
/// Errors: not_found telling the nearest line; conflict with the number of matches if there are several and
/// not `all` are meant; invalid_argument if nothing would change.
Result<Edited> edit_text(std::string_view text, std::string_view old_text, std::string_view new_text,
                         bool all);

}  // namespace cru::crew
