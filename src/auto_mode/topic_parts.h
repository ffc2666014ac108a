#pragma once
/// The parts of a topic: which of its sentences asks, which of its words tell what it is about, and what it
/// offers to choose. Rules only.
#include "auto_mode/english.h"

namespace cru::auto_mode::english {

inline constexpr size_t max_quoted = 160, max_named = 40;  ///< bytes of a quotation, and of words in one

bool is_word(WordSpan words, size_t at, std::string_view wanted);
/// A verb, and no name that looks like one.
bool is_verb_to_do(const Word& word);
bool has_letters(WordSpan words);

/// The sentence that asks, else the first one, and of a situation the one that tells it; of the others the
/// longest that is not too long is `more`.
Words sentence_that_asks(const Words& all, std::string& more);
/// Whether the words at the front are these; then how many they are.
size_t leads(WordSpan words, std::string_view phrase);
/// Without "Let us talk about", and such.
WordSpan without_lead(WordSpan words);

/// Words that say what it is about, from the front or from the back, in quotation marks. What is done says
/// less than what it is done to.
std::string telling_words(WordSpan words, bool from_front);
/// Without the quotation marks that `quoted` gives.
std::string_view trim_quotes(std::string_view text);

/// Without quotation marks where it can stand in a sentence as it is.
std::string as_phrase(WordSpan words);

/// The place of "or" or "versus"; the end if there is none.
size_t find_or(WordSpan words, size_t from = 0);
/// Whether one of them is something to do: then the other one is, too.
bool are_deeds(WordSpan a, WordSpan b);
/// A thing to choose, as a noun: "renting" for "rent" and "to rent".
std::string option(WordSpan words, bool is_verbal = false);

}  // namespace cru::auto_mode::english
