#pragma once
/// Clause: a question that is answered by yes or no, said as what each side holds. Rules only.
#include <optional>

#include "auto_mode/english.h"

namespace cru::auto_mode::english {

/// As agents say it among themselves: who asks is "our friend" and after that "they", and "you" is all of us.
std::string said(WordSpan words, bool is_friend_known = false);

/// "Should" without its "not".
std::string without_nt(std::string_view auxiliary);

/// "cats should vote" and "cats should not vote".
struct Clause {
  std::string yes, no;
};
/// Of a question that begins with `auxiliary`.
Clause with_auxiliary(const std::string& auxiliary, WordSpan subject, WordSpan predicate);
/// Where the subject ends in what follows the auxiliary; none if that is not clear.
std::optional<size_t> split_after(const std::string& auxiliary, WordSpan words);

}  // namespace cru::auto_mode::english
