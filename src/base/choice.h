#pragma once
/// Choice: which of the offered texts somebody means. Rules only.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cru {

/// The option that `text` names: by its own text (in any case), else by its number from 1.
std::optional<std::string> choose_one(const std::vector<std::string>& options, std::string_view text);
/// The same for several, separated by commas; they are joined by ", ". None if one of them was not offered.
std::optional<std::string> choose_several(const std::vector<std::string>& options, std::string_view text);
/// "1) SQLite, 2) Postgres".
std::string numbered(const std::vector<std::string>& options);

}  // namespace cru
