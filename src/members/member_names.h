#pragma once
/// The names of members: unique among those that have not ended, and `member_numbers` for those that are made
/// up.
#include "store/store.h"

namespace cru::members {

/// "claude-3". A number is never given twice, so that a name in an old log is not somebody else's today.
std::string next_name(Tx& tx, std::string stem);
/// `wanted`, or with a number behind it that makes it unique: one up to `most_tries` if there is one. The
/// name of `except` itself is free.
std::string free_name(Tx& tx, const std::string& wanted, std::string_view except, int most_tries = 10);
/// Whether `name` is one that was made up and numbered ("claude-3"): whoever comes next gets another.
bool is_numbered_name(Reader& reader, std::string_view name);

}  // namespace cru::members
