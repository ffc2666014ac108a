#pragma once
/// What the person said last in a chat: what its turn is about.
#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace cru::crew {

/// Without blanks around it; none if nobody has spoken.
std::optional<std::string> last_word_of(Reader& reader, std::string_view thread);

}  // namespace cru::crew
