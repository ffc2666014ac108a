#pragma once
/// Rules of full-text search: a person's words as a query that FTS5 can always read.
#include <string>
#include <string_view>

namespace cru::coordination {

enum class Words { all, any };

/// The words of `text`, each quoted, so that nothing in them is syntax; the last one also matches what begins
/// with it. At most 32 words count. Empty if there is no word.
std::string full_text_query(std::string_view text, Words words);

}  // namespace cru::coordination
