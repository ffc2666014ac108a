#pragma once
/// Agent ids: which names an agent may give itself.
#include <string_view>

namespace cru {

/// `[A-Za-z0-9._:@-]{1,128}` with at least one letter or digit: a name that an agent may give itself.
bool is_agent_id(std::string_view text);
/// That rule, for people: "1 to 128 characters of …".
extern const std::string_view agent_id_rule;

}  // namespace cru
