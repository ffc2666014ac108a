#pragma once
/// Damaged records: a value of a kind that we never write, put there by a hand or by a broken disk. It is
/// read as missing, the record keeps its other values, and everything else goes on. What was met is counted
/// by table, logged at most once a minute for each, and told to `cru doctor`. Safe from any thread.
#include <string_view>

namespace cru {

/// `statement` is the SQL that was asked; `what` says what is wrong, without the value.
void note_damage(std::string_view statement, std::string_view what);

}  // namespace cru
