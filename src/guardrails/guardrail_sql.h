#pragma once
/// Rules that recognise SQL that destroys data.
#include <functional>
#include <string_view>

namespace cru::coordination {

enum class SqlDanger { drop, drop_part, truncate, delete_all, update_all };

/// Calls `found` for each dangerous statement of `text`. In prose (`is_prose`) single English words count as
/// SQL only at the beginning of a sentence or in capitals. Returns the characters looked at.
size_t scan_sql(std::string_view text, bool is_prose,
                const std::function<void(SqlDanger, std::string_view statement)>& found);

}  // namespace cru::coordination
