#pragma once
/// Plain words: text as one would type it, in a shell or on a keyboard without accents.
#include <string>
#include <string_view>

namespace cru {

/// `word` as one would type it for a shell: in quotes if it is not plain.
std::string as_shell_word(std::string_view word);
/// The letters with accents of Latin scripts as those of ASCII ("Ünïcödé" → "Unicode"); all else stays.
std::string without_accents(std::string_view text);

}  // namespace cru
