#pragma once
/// Telling: whether a statement tells of a situation that people are in ("our landlord wants to sell the
/// house"), which asks for something to be done, and not to be found true or false. Word lists and endings,
/// no dictionary: what is not recognised counts as a claim. Rules only.
#include "auto_mode/english.h"

namespace cru::auto_mode::english {

bool tells_situation(WordSpan words);
/// Whether it is the matter of the one who asks alone: "my boss ignores me".
bool is_about_asker(WordSpan words);
/// "What should we do about it?"
bool asks_what_to_do(WordSpan words);
/// "The roof leaks, what now?" without its question; empty if there is none at its end.
WordSpan told_before_question(WordSpan words);

/// Of a situation: who or what it begins with ("our landlord"), and what it ends with ("the house"); empty
/// where that cannot stand in a sentence.
WordSpan who_acts(WordSpan words);
WordSpan what_at_end(WordSpan words);

}  // namespace cru::auto_mode::english
