#pragma once
/// English: as much of its grammar as is needed to speak about a topic that somebody brought along. Word
/// lists and endings, no dictionary: what it does not know it says so, and callers quote the topic instead.
/// Rules only; never fails, whatever the bytes.
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cru::auto_mode::english {

/// A word as it was written, with what stands around it; something in quotation marks is one word.
struct Word {
  std::string text;
  std::string plain;  ///< in lower case, without the punctuation around it; empty for what is no word
};
using Words = std::vector<Word>;
using WordSpan = std::span<const Word>;

/// The words of a text, whatever blanks are between them.
Words words_of(std::string_view text);
/// Without punctuation, brackets and quotation marks at its two ends, and with those at its end only taken
/// off if they close something.
std::string_view without_marks(std::string_view text);
std::string_view without_closing_marks(std::string_view text);
/// As one would write them, without the punctuation at their end.
std::string joined(WordSpan words);

bool is_be(std::string_view word);
/// What a question that is answered by yes or no may begin with: "should", "can", "is", "do", …
bool is_auxiliary(std::string_view word);
bool is_question_word(std::string_view word);
bool is_determiner(std::string_view word);
bool is_preposition(std::string_view word);
/// Says little about what a topic is about.
bool is_function_word(std::string_view word);
/// The base form of a verb that is seldom anything else, or of one that may be a noun as well.
bool is_verb(std::string_view word);
bool is_verb_or_noun(std::string_view word);
/// A verb in its third person: "makes".
bool is_verb_with_s(std::string_view word);
/// Its base form; empty if it is none.
std::string base_of(std::string_view word);
bool is_pronoun(std::string_view word);
bool is_adjective(std::string_view word);
bool is_adverb(std::string_view word);
bool is_plural(std::string_view word);
/// Goes without an article in the singular: "love", "education".
bool is_mass_noun(std::string_view word);
/// A name, which keeps its capital.
bool is_name(std::string_view written);
/// Nothing but signs and pictures: "🤔".
bool is_picture(std::string_view text);
/// Whether its words are of another language.
bool is_foreign(WordSpan words);

/// "make" → "makes", "making".
std::string third_person(std::string_view verb);
std::string gerund(std::string_view verb);

std::string capitalised(std::string text);
/// For the middle of a sentence: the capital of a first word that is no name is taken back.
std::string uncapitalised(std::string text);
/// In quotation marks, at most so many bytes of it.
std::string quoted(std::string_view text, size_t max_bytes);

}  // namespace cru::auto_mode::english
